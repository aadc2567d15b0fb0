import { useEffect, useState } from "react";
import { perform } from "../connection";
import type { ComparedColumn, Comparison } from "../protocol";
import { useRunning } from "../stores/running";
import { ComparedPanel } from "./ComparedPanel";

/** The records that were saved; those that are chosen stand in the same charts. */
export function Records() {
  const { records } = useRunning((state) => state.records);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [comparison, setComparison] = useState<Comparison | null>(null);
  const there = chosen.filter((name) => records.some((record) => record.name === name));
  const wanted = there.join("\n");

  useEffect(() => {
    let isWanted = true;
    if (!wanted) setComparison(null);
    else {
      void perform({ do: "compare", records: wanted.split("\n") }).then(
        (answer) => isWanted && setComparison(answer),
      );
    }
    return () => {
      isWanted = false;
    };
  }, [wanted]);

  if (!records.length) {
    return <p className="empty">No record has been made. “● Record” keeps what a running network shows.</p>;
  }
  const toggle = (name: string) =>
    setChosen(there.includes(name) ? there.filter((one) => one !== name) : [...there, name]);
  const panels = Object.entries(comparison?.panels ?? {});
  return (
    <div className="records">
      <table className="record-list">
        <tbody>
          {records.map((record) => (
            <tr key={record.name}>
              <td>
                <label>
                  <input type="checkbox" checked={there.includes(record.name)} onChange={() => toggle(record.name)} /> {record.name}
                </label>
                <small>
                  {record.seconds.toFixed(1)} s · {record.topology} · {new Date(record.made_at_s * 1000).toLocaleString()}
                </small>
              </td>
              <td>
                <Drop name={record.name} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {panels.length ? (
        <div className="chart-panels" data-count={panels.length}>
          {panels.map(([title, columns]) => (
            <ComparedPanel key={title} title={title} columns={columns as readonly ComparedColumn[]} />
          ))}
        </div>
      ) : (
        <p className="empty">{there.length ? "Loading…" : "Choose one record to see it, several to compare them."}</p>
      )}
    </div>
  );
}

/** Asks once more before a record goes. */
function Drop({ name }: { name: string }) {
  const [isAsking, setIsAsking] = useState(false);
  if (!isAsking) {
    return (
      <button type="button" className="icon-button" aria-label={`Delete ${name}`} onClick={() => setIsAsking(true)}>
        ✕
      </button>
    );
  }
  return (
    <button type="button" className="icon-button recording" autoFocus onBlur={() => setIsAsking(false)} onClick={() => void perform({ do: "drop_record", name })}>
      Delete?
    </button>
  );
}

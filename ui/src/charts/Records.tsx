import { useEffect, useState } from "react";
import { perform } from "../connection";
import type { ComparedColumn, Comparison } from "../protocol";
import { useRunning } from "../stores/running";
import { ComparedPanel } from "./ComparedPanel";

/** The saved records; the chosen ones are compared in shared charts. */
export function Records() {
  const { records } = useRunning((state) => state.records);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [comparison, setComparison] = useState<Comparison | null>(null);
  const existing = chosen.filter((name) => records.some((record) => record.name === name));
  const names = existing.join("\n");

  useEffect(() => {
    let isWanted = true;
    if (!names) setComparison(null);
    else {
      void perform({ do: "compare", records: names.split("\n") }).then((reply) => isWanted && setComparison(reply));
    }
    return () => {
      isWanted = false;
    };
  }, [names]);

  if (!records.length) {
    return <p className="empty">There are no records. Press “● Record” while a network is running.</p>;
  }
  const toggle = (name: string) =>
    setChosen(existing.includes(name) ? existing.filter((one) => one !== name) : [...existing, name]);
  const panels = Object.entries(comparison?.panels ?? {});
  return (
    <div className="records">
      <table className="record-list">
        <tbody>
          {records.map((record) => (
            <tr key={record.name}>
              <td>
                <label>
                  <input
                    type="checkbox"
                    checked={existing.includes(record.name)}
                    onChange={() => toggle(record.name)}
                  />{" "}
                  {record.name}
                </label>
                <small>
                  {record.seconds.toFixed(1)} s · {record.topology} ·{" "}
                  {new Date(record.made_at_s * 1000).toLocaleString()}
                </small>
              </td>
              <td>
                <DeleteButton name={record.name} />
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
        <p className="empty">
          {existing.length ? "Loading…" : "Choose a record to view it, or several to compare them."}
        </p>
      )}
    </div>
  );
}

/** Deletes a record, after asking. */
function DeleteButton({ name }: { name: string }) {
  const [isAsking, setIsAsking] = useState(false);
  if (!isAsking) {
    return (
      <button type="button" className="icon-button" aria-label={`Delete ${name}`} onClick={() => setIsAsking(true)}>
        ✕
      </button>
    );
  }
  return (
    <button
      type="button"
      className="icon-button recording"
      autoFocus
      onBlur={() => setIsAsking(false)}
      onClick={() => void perform({ do: "drop_record", name })}
    >
      Delete?
    </button>
  );
}

import { useEffect, useState } from "react";
import { send } from "../connection";
import type { BranchNumbers } from "../protocol";
import { branchInView, branchOf, endOf, useBranches } from "../stores/branches";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { flowTitles } from "./paths";
import { numberRows } from "./numbers";

const REFRESH_NS = 1e9;

/** Means and highest values of the branch in view and of the one that it is compared with. */
export function ComparedNumbers() {
  const inView = useBranches(branchInView);
  const compared = useBranches((state) => state.compared);
  const known = useBranches((state) => state.branches);
  const live = useBranches((state) => state.live);
  const now_ns = useRunning((state) => state.clock.now_ns);
  const ports = useRunning((state) => state.run.ports);
  const nodes = useDocument((state) => state.nodes);
  const [numbers, setNumbers] = useState<readonly BranchNumbers[]>([]);
  const chosen = [branchOf(inView), branchOf(compared)].filter((one) => one !== undefined);
  const from_ns = Math.max(
    ...chosen.map(({ id, parent, left_ns }) => (chosen.some((it) => it.id === parent && it.id !== id) ? left_ns : 0)),
    0,
  );
  const ends = chosen.map((branch) => endOf(branch, live, now_ns));
  const until_ns = Math.min(...ends);
  // A running branch is asked about once a second.
  const asked_ns =
    chosen.length < 2 ? 0 : until_ns === now_ns ? Math.ceil(until_ns / REFRESH_NS) * REFRESH_NS : until_ns;
  const pair = chosen.map(({ id }) => id).join(" ");
  useEffect(() => {
    if (!pair.includes(" ") || !(asked_ns > from_ns)) return undefined;
    let isOver = false;
    void send({ do: "numbers", branches: pair.split(" "), from_ns, until_ns: Math.round(asked_ns) }).then(
      (found) => isOver || setNumbers(found),
      () => undefined, // a branch was removed meanwhile
    );
    return () => {
      isOver = true;
    };
  }, [pair, from_ns, asked_ns, known]);
  if (chosen.length < 2) return null;
  const titles = flowTitles(
    numbers.map(({ flow }) => flow),
    ports,
    (node) => nodes[node]?.name ?? node,
  );
  const rows = numberRows(numbers, (index) => titles[index]!);
  return (
    <figure className="chart-panel" aria-label="Numbers of both">
      <figcaption>
        <span>Numbers of both</span>
      </figcaption>
      <div className="compared-numbers" tabIndex={0} role="region" aria-label="Numbers of both branches">
        <table>
          <thead>
            <tr>
              <th scope="col">Quantity</th>
              {chosen.map(({ id, name }) => (
                <th key={id} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ title, values }) => (
              <tr key={title}>
                <th scope="row">{title}</th>
                {values.map((value, index) => (
                  <td key={index}>{value}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {rows.length === 0 && <p className="empty">Nothing has been sent since they parted.</p>}
      </div>
    </figure>
  );
}

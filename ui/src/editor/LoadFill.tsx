import "./loadFill.css";
import { useLoads } from "../stores/loads";

const BUSY = 90;

/** The load of a node's processor: its tile is filled from below as far as its busiest core works. */
export function LoadFill({ node }: { node: string }) {
  const load = useLoads(({ loads }) => loads[node]);
  if (load === undefined) return null;
  const percent = Math.round(load);
  return (
    <span
      className={`load-fill ${load >= BUSY ? "is-busy" : ""}`}
      role="meter"
      aria-label={`Busiest core of ${node}`}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      title={`Busiest core of ${node}: ${percent} %`}
      style={{ height: `${percent}%` }}
    />
  );
}

import { useShallow } from "zustand/react/shallow";
import { perform } from "../connection";
import { useRunning } from "../stores/running";

/** Settings that `ip`, `ethtool`, `sysctl` and the like have made in terminals at a node or one of its
 *  ports, and a button that copies them into the drawing. */
export function SetInTerminals({ node, port }: { node: string; port?: string }) {
  const settings = useRunning(
    useShallow((state) =>
      state.settings.filter((one) => one.node === node && (port === undefined || one.line.split(" ").includes(port))),
    ),
  );
  const nowhere = useRunning(
    useShallow((state) => (port === undefined ? state.settings.filter((one) => one.node === "") : [])),
  );
  if (settings.length === 0) return null;
  return (
    <div
      className="tc-note"
      role="group"
      aria-label={port === undefined ? "Set in terminals" : `Set in terminals at ${port}`}
    >
      <p>Set in terminals of the running network:</p>
      <ul>
        {settings.map(({ line, drawn_as }) => (
          <li key={line}>
            <code>{line}</code> <span className="hint">→ {drawn_as || "cannot be copied"}</span>
          </li>
        ))}
        {nowhere.map(({ line }) => (
          <li key={line}>
            <code>{line}</code> <span className="hint">→ belongs to no node: cannot be copied</span>
          </li>
        ))}
      </ul>
      <button type="button" className="button" onClick={() => void perform({ do: "take_settings", node })}>
        Copy into the drawing
      </button>
    </div>
  );
}

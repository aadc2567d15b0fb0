import { Dialog } from "../layout/Dialog";
import { closeDialog, useDialogs } from "../layout/dialogs";
import { useDocument } from "../stores/document";

/** The parts of another program's topology that have no counterpart. */
export function ImportDialog() {
  const imported = useDialogs((state) => state.imported);
  const count = useDocument(({ nodes }) => Object.keys(nodes).length);
  if (imported === null) return null;
  const text = imported.notes
    .map(({ place, what, hint }) => `${place === "" ? "" : `${place}: `}${what}${hint === "" ? "" : ` (${hint})`}`)
    .join("\n");
  return (
    <Dialog
      title={`Imported from ${imported.program}`}
      onClose={closeDialog}
      buttons={
        <>
          <button
            type="button"
            className="button dialog-left"
            onClick={() => void navigator.clipboard?.writeText(text)}
          >
            Copy the list
          </button>
          <button type="button" className="button button-first" onClick={closeDialog}>
            Done
          </button>
        </>
      }
    >
      <p className="dialog-text">
        {count === 1 ? "1 node was" : `${count} nodes were`} drawn.{" "}
        {imported.notes.length === 1 ? "One setting differs" : `${imported.notes.length} settings differ`} from the
        file:
      </p>
      <ul className="import-notes">
        {imported.notes.map(({ place, what, hint }, index) => (
          <li key={index}>
            {place !== "" && <strong>{place}</strong>}
            <span>{what}</span>
            {hint !== "" && <span className="hint">{hint}</span>}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

import { useEffect, useState, type FormEvent } from "react";
import { Icon } from "../editor/icons";
import { Dialog } from "../layout/Dialog";
import { closeDialog } from "../layout/dialogs";
import type { FileInfo } from "../protocol";
import { useDocument } from "../stores/document";
import { list, size, useChanges } from "./folder";
import { chooseUpload, openPath, savePath } from "./topologies";

const TOPOLOGY = /\.(mn|ya?ml)$/i;

/** Open a topology of the working folder, or of the user's disk. */
export function OpenDialog() {
  const [chosen, setChosen] = useState<string | null>(null);
  const open = async (path: string | null) => {
    if (path !== null && (await openPath(path))) closeDialog();
  };
  return (
    <Dialog
      title="Open"
      onClose={closeDialog}
      buttons={
        <>
          <button type="button" className="button dialog-left" onClick={chooseUpload}>
            <Icon name="upload" size={16} /> From this computer…
          </button>
          <button type="button" className="button" onClick={closeDialog}>
            Cancel
          </button>
          <button
            type="button"
            className="button button-first"
            disabled={chosen === null}
            onClick={() => void open(chosen)}
          >
            Open
          </button>
        </>
      }
    >
      <Browser onChoose={setChosen} onOpen={(path) => void open(path)} />
      <p className="hint">A file can also be dropped onto the canvas.</p>
    </Dialog>
  );
}

/** Save under a name, in the working folder. */
export function SaveDialog() {
  const { path, fileName } = useDocument();
  const [under, setUnder] = useState(path?.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "");
  const [name, setName] = useState(fileName === "" ? "network.mn" : fileName);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const full = [under, TOPOLOGY.test(name) ? name : `${name}.mn`].filter(Boolean).join("/");
    if (await savePath(full)) closeDialog();
  };
  return (
    <Dialog
      title="Save as"
      onClose={closeDialog}
      buttons={
        <>
          <button type="button" className="button" onClick={closeDialog}>
            Cancel
          </button>
          <button type="submit" form="save-form" className="button button-first" disabled={name.trim() === ""}>
            Save
          </button>
        </>
      }
    >
      <form id="save-form" onSubmit={(event) => void save(event)}>
        <label className="field">
          <span className="field-title">Name</span>
          <input
            className="input"
            autoFocus
            value={name}
            spellCheck={false}
            onChange={(event) => setName(event.target.value)}
            onFocus={(event) => event.target.setSelectionRange(0, event.target.value.lastIndexOf("."))}
          />
        </label>
        <p className="hint">.mn as MiniEdit has it, or .yaml</p>
      </form>
      <Browser onChoose={(file) => setName(file.slice(file.lastIndexOf("/") + 1))} onFolder={setUnder} />
    </Dialog>
  );
}

interface BrowserProps {
  onChoose: (path: string) => void;
  onOpen?: (path: string) => void;
  onFolder?: (path: string) => void;
}

/** Folders and topologies of the working folder. */
function Browser({ onChoose, onOpen, onFolder }: BrowserProps) {
  const [under, setUnder] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const [files, setFiles] = useState<readonly FileInfo[] | string>([]);
  const changes = useChanges((state) => state.count);
  useEffect(() => {
    let isWanted = true;
    list(under).then(
      (found) => isWanted && setFiles(found),
      (error: unknown) => isWanted && setFiles(String(error)),
    );
    return () => {
      isWanted = false;
    };
  }, [under, changes]);
  const go = (folder: string) => {
    setUnder(folder);
    onFolder?.(folder);
  };
  const shown = typeof files === "string" ? [] : files.filter((file) => file.is_folder || TOPOLOGY.test(file.name));
  return (
    <div className="browser">
      <Path under={under} onGo={go} />
      <ul className="entries" aria-label="Files">
        {shown.map((file) => (
          <li key={file.path}>
            <button
              type="button"
              className="entry"
              aria-current={file.path === chosen}
              onClick={() => {
                if (file.is_folder) go(file.path);
                else {
                  setChosen(file.path);
                  onChoose(file.path);
                }
              }}
              onDoubleClick={() => !file.is_folder && onOpen?.(file.path)}
            >
              <Icon name={file.is_folder ? "folder" : "topology"} size={16} />
              <span className="entry-name">{file.name}</span>
              <span className="entry-size">{file.is_folder ? "" : size(file.bytes)}</span>
              <span className="entry-time">{when(file.changed_at_s)}</span>
            </button>
          </li>
        ))}
        {typeof files === "string" && <li className="empty">{files}</li>}
        {typeof files !== "string" && shown.length === 0 && <li className="empty">No topologies here.</li>}
      </ul>
    </div>
  );
}

export function Path({ under, onGo }: { under: string; onGo: (folder: string) => void }) {
  const parts = under === "" ? [] : under.split("/");
  return (
    <nav className="path" aria-label="Folder">
      <button type="button" className="link-button" onClick={() => onGo("")}>
        working folder
      </button>
      {parts.map((part, index) => (
        <span key={index}>
          {" / "}
          <button type="button" className="link-button" onClick={() => onGo(parts.slice(0, index + 1).join("/"))}>
            {part}
          </button>
        </span>
      ))}
    </nav>
  );
}

export function when(seconds: number): string {
  return new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });
}

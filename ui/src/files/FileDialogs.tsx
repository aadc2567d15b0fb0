import { useState, type FormEvent } from "react";
import { Icon } from "../editor/icons";
import { Dialog } from "../layout/Dialog";
import { closeDialog, closeIfShown } from "../layout/dialogs";
import type { FileInfo } from "../protocol";
import { useDocument } from "../stores/document";
import { useLessons } from "../stores/lessons";
import { Entry, Path } from "./Entries";
import { isForeign, isTopology, useFolder } from "./folder";
import { chooseUpload, openPath, savePath } from "./topologies";

/** Open a topology from the working folder, or from the user's computer. */
export function OpenDialog() {
  const lessonFolder = useLessons((state) => state.folder);
  const [under, setUnder] = useState(lessonFolder);
  const [chosen, setChosen] = useState<string | null>(null);
  const open = async (path: string | null) => {
    if (path !== null && (await openPath(path))) closeIfShown("open");
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
      <Browser under={under} onFolder={setUnder} onChoose={setChosen} onOpen={(path) => void open(path)} />
      <p className="hint">
        You can also drop a file onto the canvas. Topologies of containerlab (.clab.yml) and GNS3 (.gns3) are imported.
      </p>
    </Dialog>
  );
}

/** Save the document under a name in the working folder. */
export function SaveDialog() {
  const { path, fileName } = useDocument();
  const lessonFolder = useLessons((state) => state.folder);
  const [under, setUnder] = useState(
    path?.includes("/") ? path.slice(0, path.lastIndexOf("/")) : path === null ? lessonFolder : "",
  );
  const [name, setName] = useState(fileName === "" ? "network.mn" : fileName);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const full = [under, isTopology(name) && !isForeign(name) ? name : `${name}.mn`].filter(Boolean).join("/");
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
        <p className="hint">.mn (MiniEdit's format) or .yaml</p>
      </form>
      <Browser under={under} onFolder={setUnder} onChoose={(file) => setName(file.slice(file.lastIndexOf("/") + 1))} />
    </Dialog>
  );
}

interface BrowserProps {
  under: string;
  onFolder: (path: string) => void;
  onChoose: (path: string) => void;
  onOpen?: (path: string) => void;
}

/** Lists the folders and topologies of a folder. */
function Browser({ under, onFolder, onChoose, onOpen }: BrowserProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  const { files, error } = useFolder(under);
  const shown = files.filter((file) => file.is_folder || isTopology(file.name));
  const choose = (file: FileInfo) => {
    if (file.is_folder) onFolder(file.path);
    else {
      setChosen(file.path);
      onChoose(file.path);
    }
  };
  return (
    <div className="browser">
      <Path under={under} onGo={onFolder} />
      <ul className="entries" aria-label="Files">
        {shown.map((file) => (
          <li key={file.path}>
            <Entry
              file={file}
              isChosen={file.path === chosen}
              onClick={() => choose(file)}
              onDoubleClick={() => !file.is_folder && onOpen?.(file.path)}
            />
          </li>
        ))}
        {error !== "" && <li className="empty">{error}</li>}
        {error === "" && shown.length === 0 && <li className="empty">This folder has no topologies.</li>}
      </ul>
    </div>
  );
}

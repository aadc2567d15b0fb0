import { useState } from "react";
import { request, showError } from "../connection";
import { Icon } from "../editor/icons";
import type { FileInfo } from "../protocol";
import { toast } from "../stores/toasts";
import { openFile } from "../terminals/tabs";
import { chooseFiles } from "./disk";
import { Entry, Path } from "./Entries";
import { address, askToReplace, isTopology, list, useFolder } from "./folder";
import { openPath } from "./topologies";

/** The working folder. Files open in a tab, topologies on the canvas; dropped files are uploaded. */
export function Files() {
  const [under, setUnder] = useState("");
  const { files, error, refresh } = useFolder(under);
  const [isOver, setIsOver] = useState(false);

  const onFiles = (dropped: readonly File[]) => void uploadAll(under, dropped);
  return (
    <div
      className={`files ${isOver ? "is-over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        event.stopPropagation();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        event.stopPropagation();
        setIsOver(false);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      <div className="files-bar">
        <Path under={under} onGo={setUnder} />
        <span className="bar-end">
          <button
            type="button"
            className="icon-button"
            title="Upload"
            aria-label="Upload"
            onClick={() => chooseFiles({ isMany: true }, onFiles)}
          >
            <Icon name="upload" size={16} />
          </button>
          <button type="button" className="icon-button" title="Refresh" aria-label="Refresh" onClick={refresh}>
            <Icon name="refresh" size={16} />
          </button>
        </span>
      </div>
      <ul className="entries" aria-label="Files of the working folder">
        {files.map((file) => (
          <Row key={file.path} file={file} onGo={setUnder} />
        ))}
        {error === "" && files.length === 0 && (
          <li className="empty">This folder is empty. Drop files here to upload them.</li>
        )}
        {error !== "" && <li className="empty">{error}</li>}
      </ul>
    </div>
  );
}

function Row({ file, onGo }: { file: FileInfo; onGo: (path: string) => void }) {
  const open = () => {
    if (file.is_folder) onGo(file.path);
    else if (isTopology(file.name)) void openPath(file.path);
    else openFile(file.path);
  };
  return (
    <li className="entry-line">
      <Entry file={file} onClick={open} />
      {!file.is_folder && (
        <a
          className="icon-button"
          href={`${address(file.path)}?download`}
          download={file.name}
          title={`Download ${file.name}`}
          aria-label={`Download ${file.name}`}
        >
          <Icon name="download" size={16} />
        </a>
      )}
    </li>
  );
}

/** Upload files to a folder; ask once if some of them exist already. */
async function uploadAll(under: string, files: readonly File[]): Promise<void> {
  const pathOf = ({ name }: File) => [under, name].filter(Boolean).join("/");
  try {
    const existing = new Set((await list(under)).map(({ path }) => path));
    const clashes = files.map(pathOf).filter((path) => existing.has(path));
    if (clashes.length > 0 && !(await askToReplace(clashes))) return;
  } catch (error) {
    showError(error);
    return;
  }
  for (const file of files) await upload(pathOf(file), file);
}

async function upload(path: string, file: File): Promise<void> {
  try {
    await request(address(path), { method: "PUT", body: file });
    toast("good", `Uploaded ${path}`);
  } catch (error) {
    showError(error);
  }
}

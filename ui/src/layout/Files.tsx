import { useCallback, useEffect, useState } from "react";
import { CommandError, showError } from "../connection";
import { Icon, type IconName } from "../editor/icons";
import { Path, when } from "../files/FileDialogs";
import { address, list, size, useChanges } from "../files/folder";
import { openPath } from "../files/topologies";
import type { FileInfo } from "../protocol";
import { toast } from "../stores/toasts";
import { openFile } from "../terminals/tabs";

const TOPOLOGY = /\.(mn|ya?ml)$/i;
const PICTURE = /\.(png|jpe?g|gif|svg|webp|pdf)$/i;

/** The working folder: files open in a tab, topologies on the canvas; files that are dropped are kept. */
export function Files() {
  const [under, setUnder] = useState("");
  const [files, setFiles] = useState<readonly FileInfo[] | string>([]);
  const [isOver, setIsOver] = useState(false);
  const changes = useChanges((state) => state.count);
  const look = useCallback(() => {
    list(under).then(setFiles, (error: unknown) => setFiles(String(error)));
  }, [under]);
  useEffect(look, [look, changes]);

  const keep = async (dropped: Iterable<File>) => {
    for (const file of dropped) await upload([under, file.name].filter(Boolean).join("/"), file);
    look();
  };
  const choose = () => {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = true;
    input.onchange = () => void keep(input.files ?? []);
    input.click();
  };
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
        void keep(event.dataTransfer.files);
      }}
    >
      <div className="files-bar">
        <Path under={under} onGo={setUnder} />
        <span className="bar-end">
          <button type="button" className="icon-button" title="Upload" aria-label="Upload" onClick={choose}>
            <Icon name="upload" size={16} />
          </button>
          <button type="button" className="icon-button" title="Look again" aria-label="Look again" onClick={look}>
            <Icon name="refresh" size={16} />
          </button>
        </span>
      </div>
      <ul className="entries" aria-label="Files of the working folder">
        {typeof files !== "string" &&
          files.map((file) => <Row key={file.path} file={file} onGo={setUnder} />)}
        {files.length === 0 && <li className="empty">Nothing here yet: files can be dropped onto this list.</li>}
        {typeof files === "string" && <li className="empty">{files}</li>}
      </ul>
    </div>
  );
}

function Row({ file, onGo }: { file: FileInfo; onGo: (path: string) => void }) {
  const isTopology = TOPOLOGY.test(file.name);
  const open = () => {
    if (file.is_folder) onGo(file.path);
    else if (isTopology) void openPath(file.path);
    else openFile(file.path);
  };
  return (
    <li className="entry-line">
      <button type="button" className="entry" onClick={open}>
        <Icon name={iconOf(file)} size={16} />
        <span className="entry-name">{file.name}</span>
        <span className="entry-size">{file.is_folder ? "" : size(file.bytes)}</span>
        <span className="entry-time">{when(file.changed_at_s)}</span>
      </button>
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

function iconOf(file: FileInfo): IconName {
  if (file.is_folder) return "folder";
  if (TOPOLOGY.test(file.name)) return "topology";
  return PICTURE.test(file.name) ? "picture" : "file";
}

async function upload(path: string, file: File): Promise<void> {
  try {
    const answer = await fetch(address(path), { method: "PUT", body: file });
    if (!answer.ok) throw new CommandError((await answer.json()) as { what: string });
    toast("good", `Kept ${path}`);
  } catch (error) {
    showError(error);
  }
}

import "../files/files.css";
import { useEffect, useState, type ChangeEvent } from "react";
import { perform, useConnection } from "../connection";
import { address, list, size, useChanges } from "../files/folder";
import type { FileInfo } from "../protocol";
import { toast } from "../stores/toasts";
import { openFile } from "../terminals/tabs";

const TOPOLOGIES = /\.(mn|ya?ml)$/i;

/** The working folder: what can be opened in the editor or looked at, and what is brought in. */
export function Files() {
  const [under, setUnder] = useState("");
  const [files, setFiles] = useState<readonly FileInfo[] | null>(null);
  const changes = useChanges((state) => state.count);
  const status = useConnection((state) => state.status);
  const folder = useConnection((state) => state.folder);

  useEffect(() => {
    let isWanted = true;
    list(under)
      .then((found) => isWanted && setFiles(found))
      .catch(() => isWanted && setUnder(""));
    return () => {
      isWanted = false;
    };
  }, [under, changes, status]);

  const upload = async (event: ChangeEvent<HTMLInputElement>) => {
    const chosen = [...(event.target.files ?? [])];
    event.target.value = "";
    for (const file of chosen) {
      const path = under ? `${under}/${file.name}` : file.name;
      const answer = await fetch(address(path), { method: "PUT", body: file });
      if (answer.ok) toast("good", `${file.name} is in the working folder`);
      else toast("error", ((await answer.json()) as { what: string }).what);
    }
  };
  const choose = (file: FileInfo) => {
    if (file.is_folder) setUnder(file.path);
    else openFile(file.path);
  };
  if (files === null) return <p className="empty">Loading…</p>;
  return (
    <>
      <nav className="file-crumbs" aria-label="Folder">
        <button type="button" title={folder} onClick={() => setUnder("")}>
          {folder.split("/").at(-1) || "/"}
        </button>
        {under
          .split("/")
          .filter(Boolean)
          .map((part, index, parts) => (
            <span key={index}>
              /{" "}
              <button type="button" onClick={() => setUnder(parts.slice(0, index + 1).join("/"))}>
                {part}
              </button>
            </span>
          ))}
        <label className="bar-end">
          Bring in files…
          <input type="file" multiple hidden onChange={(event) => void upload(event)} />
        </label>
      </nav>
      {files.length === 0 && <p className="empty">Nothing is in this folder.</p>}
      <table className="file-list">
        <tbody>
          {files.map((file) => (
            <tr key={file.path}>
              <td>
                <button type="button" onClick={() => choose(file)}>
                  {file.is_folder ? `${file.name}/` : file.name}
                </button>
              </td>
              <td>
                {TOPOLOGIES.test(file.name) && !file.is_folder && (
                  <button type="button" onClick={() => void perform({ do: "open", path: file.path })}>
                    Open in the editor
                  </button>
                )}
              </td>
              <td className="number">{file.is_folder ? "" : size(file.bytes)}</td>
              <td className="number">{new Date(file.changed_at_s * 1000).toLocaleString()}</td>
              <td>
                {!file.is_folder && (
                  <a href={`${address(file.path)}?download`} download aria-label={`Download ${file.name}`}>
                    Download
                  </a>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

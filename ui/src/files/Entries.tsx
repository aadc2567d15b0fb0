import { Icon, type IconName } from "../editor/icons";
import type { FileInfo } from "../protocol";
import { isTopology, size, when } from "./folder";

const PICTURE = /\.(png|jpe?g|gif|svg|webp|pdf)$/i;

/** The path of the current folder; each part is a link to that folder. */
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

interface EntryProps {
  file: FileInfo;
  isChosen?: boolean;
  onClick: () => void;
  onDoubleClick?: () => void;
}

/** A folder or a file, with its size and age. */
export function Entry({ file, isChosen, onClick, onDoubleClick }: EntryProps) {
  return (
    <button type="button" className="entry" aria-current={isChosen} onClick={onClick} onDoubleClick={onDoubleClick}>
      <Icon name={iconOf(file)} size={16} />
      <span className="entry-name">{file.name}</span>
      <span className="entry-size">{file.is_folder ? "" : size(file.bytes)}</span>
      <span className="entry-time">{when(file.changed_at_s)}</span>
    </button>
  );
}

function iconOf(file: FileInfo): IconName {
  if (file.is_folder) return "folder";
  if (isTopology(file.name)) return "topology";
  return PICTURE.test(file.name) ? "picture" : "file";
}

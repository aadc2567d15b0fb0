import type { ReactNode } from "react";
import { saveToDisk } from "../files/disk";
import { toast } from "../stores/toasts";

interface Props {
  title: string;
  /** The stem of downloaded files. */
  name: string;
  csv: () => string;
  png: () => Promise<Blob | null>;
  onPane?: () => void;
  children: ReactNode;
}

/** A chart with its title and its downloads. */
export function PanelFrame({ title, name, csv, png, onPane, children }: Props) {
  const takePng = async () => {
    const blob = await png();
    if (blob) saveToDisk(blob, `${name}.png`);
    else toast("warning", "this chart has no data yet");
  };
  return (
    <figure className="chart-panel" aria-label={title}>
      <figcaption>
        <span>{title}</span>
        {onPane && (
          <button type="button" className="icon-button" title={`Show ${title} in a pane beside the terminals`} onClick={onPane}>
            Open in a pane
          </button>
        )}
        <button type="button" className="icon-button" title={`Download ${title} as CSV`} onClick={() => saveToDisk(new Blob([csv()], { type: "text/csv" }), `${name}.csv`)}>
          CSV
        </button>
        <button type="button" className="icon-button" title={`Download ${title} as PNG`} onClick={() => void takePng()}>
          PNG
        </button>
      </figcaption>
      {children}
    </figure>
  );
}

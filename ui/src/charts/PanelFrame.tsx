import type { ReactNode } from "react";
import { saveToDisk } from "../files/disk";
import { toast } from "../stores/toasts";

interface Props {
  title: string;
  /** Of the files that are downloaded. */
  name: string;
  csv: () => string;
  png: () => Promise<Blob | null>;
  children: ReactNode;
}

/** A chart with its title and what can be taken away of it. */
export function PanelFrame({ title, name, csv, png, children }: Props) {
  const takePng = async () => {
    const blob = await png();
    if (blob) saveToDisk(blob, `${name}.png`);
    else toast("warning", "nothing is drawn there yet");
  };
  return (
    <figure className="chart-panel" aria-label={title}>
      <figcaption>
        <span>{title}</span>
        <button type="button" className="icon-button" title={`${title} as a table`} onClick={() => saveToDisk(new Blob([csv()], { type: "text/csv" }), `${name}.csv`)}>
          CSV
        </button>
        <button type="button" className="icon-button" title={`${title} as a picture`} onClick={() => void takePng()}>
          PNG
        </button>
      </figcaption>
      {children}
    </figure>
  );
}

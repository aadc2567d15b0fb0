import type { ReactNode } from "react";
import { Icon } from "../editor/icons";
import { saveToDisk } from "../files/disk";
import { popUp, type MenuEntry } from "../layout/Menu";
import { showError } from "../connection";
import { toast } from "../stores/toasts";
import { pngOf, svgOf, type Figure } from "./figure";
import { pdfOf } from "./pdf";

interface Props {
  title: string;
  /** The stem of downloaded files. */
  name: string;
  csv: () => string;
  /** What is drawn; null if there is nothing. */
  figure: () => Figure | null;
  onPane?: () => void;
  /** More entries of the menu. */
  more?: () => readonly MenuEntry[];
  children: ReactNode;
}

/** A chart with its title and its downloads. */
export function PanelFrame({ title, name, csv, figure, onPane, more, children }: Props) {
  const save = async (suffix: string, write: (drawn: Figure) => Promise<Blob | null> | Blob) => {
    const drawn = figure();
    if (drawn === null) return toast("warning", "this chart has no data yet");
    try {
      const blob = await write(drawn);
      if (blob !== null) saveToDisk(blob, `${name}.${suffix}`);
    } catch (error) {
      showError(error);
    }
  };
  const entries = (): readonly MenuEntry[] => [
    { title: "Picture (SVG)", run: () => void save("svg", (one) => new Blob([svgOf(one)], { type: "image/svg+xml" })) },
    { title: "Picture (PDF)", run: () => void save("pdf", pdfOf) },
    { title: "Picture (PNG)", run: () => void save("png", pngOf) },
    "line",
    { title: "Numbers (CSV)", run: () => saveToDisk(new Blob([csv()], { type: "text/csv" }), `${name}.csv`) },
  ];
  return (
    <figure className="chart-panel" aria-label={title}>
      <figcaption>
        <span>{title}</span>
        {more && (
          <button
            type="button"
            className="icon-button"
            aria-haspopup="menu"
            aria-label="Time–sequence graph of a flow"
            title="Time–sequence graph of a flow: its segments, acknowledgements and losses"
            onClick={({ currentTarget }) => {
              const { left, bottom } = currentTarget.getBoundingClientRect();
              popUp("Time–sequence graph", more(), left, bottom);
            }}
          >
            <Icon name="sequence" size={15} />
          </button>
        )}
        {onPane && (
          <button
            type="button"
            className="icon-button"
            aria-label="Open in a pane"
            title={`Show ${title} in a pane beside the terminals`}
            onClick={onPane}
          >
            <Icon name="splitRight" size={15} />
          </button>
        )}
        <button
          type="button"
          className="icon-button"
          aria-haspopup="menu"
          aria-label={`Download ${title}`}
          title={`Download ${title} as SVG, PDF, PNG or CSV`}
          onClick={({ currentTarget }) => {
            const { left, bottom } = currentTarget.getBoundingClientRect();
            popUp(`Download ${title}`, entries(), left, bottom);
          }}
        >
          <Icon name="download" size={15} />
        </button>
      </figcaption>
      {children}
    </figure>
  );
}

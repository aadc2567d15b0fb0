import MarkdownIt from "markdown-it";
import { useEffect, useMemo, useState } from "react";
import { perform } from "../connection";
import { address } from "../files/folder";
import { Dialog } from "../layout/Dialog";
import { closeDialog } from "../layout/dialogs";
import type { GalleryFigure } from "../protocol";
import { useLessons } from "../stores/lessons";
import "./gallery.css";
import { readGallery, useGallery } from "./store";

/** Published figures, run again: a list, and the figure that is chosen. */
export default function GalleryDialog() {
  const { figures, running, progress, error } = useGallery();
  const [name, setName] = useState<string | null>(null);
  useEffect(() => void readGallery(), []);
  const chosen = figures.find((figure) => figure.name === (name ?? (running || figures[0]?.name)));
  return (
    <Dialog title="Gallery of published figures" size="large" onClose={closeDialog}>
      {error !== "" && <p className="empty">{error}</p>}
      {figures.length === 0 && error === "" && <p className="empty">Loading…</p>}
      <div className="gallery">
        <ul className="gallery-list" aria-label="Figures">
          {figures.map((figure) => (
            <li key={figure.name}>
              <button
                type="button"
                className="gallery-item"
                aria-current={figure === chosen}
                onClick={() => setName(figure.name)}
              >
                <strong>{figure.title}</strong>
                <span className="hint">{figure.source}</span>
                {figure.name === running ? (
                  <span className="verdict">running…</span>
                ) : (
                  figure.verdict !== "" && <Verdict verdict={figure.verdict} />
                )}
              </button>
            </li>
          ))}
        </ul>
        {chosen !== undefined && <Figure key={chosen.name} figure={chosen} running={running} progress={progress} />}
      </div>
    </Dialog>
  );
}

function Verdict({ verdict }: { verdict: string }) {
  return <span className={`verdict verdict-${verdict.split(" ")[0]}`}>{verdict}</span>;
}

function Figure({ figure, running, progress }: { figure: GalleryFigure; running: string; progress: string }) {
  const html = useMemo(() => new MarkdownIt({ html: false }).render(figure.page), [figure.page]);
  const isClass = useLessons((state) => state.is_class);
  const isMeasured = figure.verdict !== "";
  return (
    <article className="gallery-figure" aria-label={figure.title}>
      <h3>{figure.title}</h3>
      <p className="hint">
        {figure.source} ·{" "}
        <a href={figure.link} target="_blank" rel="noreferrer">
          publication
        </a>
      </p>
      <p className="gallery-run">
        {running === figure.name ? (
          <>
            <button
              type="button"
              className="button"
              onClick={() => void perform({ do: "gallery", action: "cancel", name: "" })}
            >
              Cancel
            </button>
            <span role="status" className="gallery-progress">
              {progress}
            </span>
          </>
        ) : (
          <>
            <button
              type="button"
              className="button button-first"
              disabled={running !== "" || isClass}
              title={
                isClass
                  ? "In a class, only the teacher can run figures"
                  : "Measure the figure in this folder: less than two minutes on two idle cores"
              }
              onClick={() => void perform({ do: "gallery", action: "run", name: figure.name })}
            >
              {isMeasured ? "Run again" : "Run"}
            </button>
            {isMeasured ? (
              <span>
                <Verdict verdict={figure.verdict} /> {figure.runs} runs over {figure.seeds} seeds
              </span>
            ) : (
              <span className="hint">not run in this folder yet; takes up to two minutes on two idle cores</span>
            )}
          </>
        )}
      </p>
      {figure.causes.map((cause) => (
        <p key={cause} className="gallery-cause">
          {cause}
        </p>
      ))}
      {figure.figure !== "" && (
        <img
          className="gallery-picture"
          src={`${address(figure.figure)}?of=${figure.runs}`}
          alt={`${figure.title}: published points and measurements here`}
        />
      )}
      <table className="gallery-predictions">
        <thead>
          <tr>
            <th>prediction</th>
            <th>published</th>
            <th>band</th>
            {isMeasured && <th>measured</th>}
          </tr>
        </thead>
        <tbody>
          {figure.predictions.map((each, index) => (
            <tr key={index}>
              <td>{each.claim}</td>
              <td>{each.published}</td>
              <td>{each.band}</td>
              {isMeasured && (
                <td>
                  {each.measured || "–"}
                  <span className="hint">{each.words}</span>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <div className="gallery-page" dangerouslySetInnerHTML={{ __html: html }} />
    </article>
  );
}

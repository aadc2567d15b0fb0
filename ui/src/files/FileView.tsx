import "./files.css";
import { lazy, Suspense, useEffect, useState } from "react";
import { errorText, request } from "../connection";
import { address, useChanges } from "./folder";

const CapturedPackets = lazy(() =>
  import("../packets/PacketList").then((module) => ({ default: module.CapturedPackets })),
);

const PICTURES = [".png", ".svg", ".jpg", ".jpeg", ".gif", ".webp"];
const PAGES = [".pdf", ".html"];
const CAPTURES = [".pcap", ".pcapng"];
const OTHERS = [".gz", ".xz", ".zip"];
const MAX_CHARACTERS = 400_000;
const MAX_ROWS = 1000;

/** A file of the working folder, shown as a picture, a page, a table or text. */
export function FileView({ path, isShown }: { path: string; isShown: boolean }) {
  const [version, setVersion] = useState(0);
  const changes = useChanges();
  const [seen, setSeen] = useState(changes.count);
  if (changes.count !== seen) {
    setSeen(changes.count);
    if (changes.recent.includes(path)) setVersion(version + 1);
  }
  const source = `${address(path)}?version=${version}`;
  return (
    <div className="file-view">
      <p className="file-tools">
        <span className="file-path">{path}</span>
        <a href={address(path)} target="_blank" rel="noreferrer">
          Open in a new tab
        </a>
        <a href={`${address(path)}?download`} download>
          {CAPTURES.some((suffix) => path.endsWith(suffix)) ? "Download for Wireshark" : "Download"}
        </a>
      </p>
      {isShown && <Content path={path} source={source} version={version} />}
    </div>
  );
}

function Content({ path, source, version }: { path: string; source: string; version: number }) {
  const suffix = /\.\w+$/.exec(path)?.[0].toLowerCase() ?? "";
  if (PICTURES.includes(suffix)) return <img className="file-picture" src={source} alt={path} />;
  // In the browser's PDF viewer, show the page only and fit it to the frame.
  const whole = suffix === ".pdf" ? "#toolbar=0&navpanes=0&view=Fit" : "";
  if (PAGES.includes(suffix)) return <iframe className="file-page" src={`${source}${whole}`} title={path} />;
  if (CAPTURES.includes(suffix)) {
    return (
      <Suspense fallback={<p className="empty">Loading…</p>}>
        <CapturedPackets path={path} version={version} />
      </Suspense>
    );
  }
  if (OTHERS.includes(suffix)) return <p className="empty">This file cannot be shown. You can download it.</p>;
  return <Text source={source} isTable={suffix === ".csv"} />;
}

function Text({ source, isTable }: { source: string; isTable: boolean }) {
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    let isWanted = true;
    setError("");
    request(source)
      .then((response) => response.text())
      .then(
        (read) => isWanted && setText(read),
        (reason: unknown) => isWanted && setError(errorText(reason)),
      );
    return () => {
      isWanted = false;
    };
  }, [source]);
  if (error !== "") return <p className="empty">{error}</p>;
  if (text === null) return <p className="empty">Loading…</p>;
  if (isTable) return <Rows text={text} />;
  const isCut = text.length > MAX_CHARACTERS;
  return (
    <pre className="file-text" tabIndex={0}>
      {text.slice(0, MAX_CHARACTERS)}
      {isCut && "\n… (cut here; download the file to see the rest)"}
    </pre>
  );
}

function Rows({ text }: { text: string }) {
  const [head, ...rows] = text
    .trimEnd()
    .split("\n")
    .slice(0, MAX_ROWS + 1)
    .map(cells);
  return (
    <div className="file-table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head?.map((cell, index) => (
              <th key={index}>{cell}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The cells of a line of CSV. */
function cells(line: string): string[] {
  const matches = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...matches].map((cell) => (cell[1] ?? cell[2] ?? "").replace(/""/g, '"'));
}

/** Export a branch of the session as one HTML file, which replays it in any browser without a server. */
import { look } from "../charts/Plot";
import { flowTitles } from "../charts/paths";
import { TITLES, UNITS } from "../charts/state";
import { rowsBetween } from "../charts/window";
import { showError } from "../connection";
import { summary } from "../editor/conditions";
import { saveToDisk } from "../files/disk";
import type { RecordedTerminal, SeriesKind, WatchedSeries } from "../protocol";
import { branchInView, branchOf, endOf, useBranches } from "../stores/branches";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { fetchHistory, fetchRecorded, KINDS, tablesOf } from "../stores/samples";
import { toast } from "../stores/toasts";
import { recordsOf } from "../terminals/recordings";
import { eventText, isShown } from "../timeline/layout";
import style from "./player.css?raw";
import player from "./player.js?raw";

export interface RecordedRun {
  title: string;
  end_s: number;
  nodes: readonly { name: string; kind: string; x: number; y: number }[];
  /** `a` and `b` are indices of nodes. */
  links: readonly { a: number; b: number; text: string; ports: readonly string[] }[];
  events: readonly { at_s: number; until_s: number; kind: string; text: string }[];
  charts: readonly RunChart[];
  terminals: readonly RunTerminal[];
}

interface RunChart {
  title: string;
  unit: string;
  times_s: readonly number[];
  curves: readonly { key: string; title: string; colour: string; values: readonly (number | null)[] }[];
}

interface RunTerminal {
  title: string;
  opened_s: number;
  closed_s: number | null;
  output: readonly (readonly [number, string])[];
}

/** Save the branch in view as HTML. */
export async function downloadReplay(): Promise<void> {
  const branch = branchInView(useBranches.getState());
  if (branch === null) return toast("warning", "no network has run yet", "press Run");
  try {
    const run = await recordedRun(branch);
    saveToDisk(new Blob([pageOf(run)], { type: "text/html" }), `${run.title.replace(/\.[^.]*$/, "")}-run.html`);
  } catch (error) {
    showError(error);
  }
}

/** The HTML of a run. */
export function pageOf(run: RecordedRun): string {
  // In a script, only "<" could end the element.
  const data = JSON.stringify(run).replace(/</g, "\\u003c");
  const title = run.title.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} – a run in wanlab</title>
<style>${style}</style>
<header>
<h1>${title}</h1>
<div class="time">
<button id="play" type="button">Play</button>
<output id="clock"></output>
<div class="line"><input id="instant" type="range" min="0" aria-label="Instant"><div id="events"></div></div>
</div>
<p id="last"></p>
</header>
<main>
<section aria-label="Network"><svg id="canvas"></svg></section>
<section id="charts" aria-label="Charts"></section>
<section aria-label="Terminals"><div id="tabs"></div><pre id="screen" tabindex="0"></pre></section>
</main>
<script type="application/json" id="run">${data}</script>
<script>${player}</script>
</html>
`;
}

async function recordedRun(branch: string): Promise<RecordedRun> {
  const { ports } = useRunning.getState().run;
  const { nodes, links, fileName } = useDocument.getState();
  const { live, events } = useBranches.getState();
  const end_ns = endOf(branchOf(branch)!, live, useRunning.getState().clock.now_ns);
  const series = KINDS.flatMap((kind): WatchedSeries[] =>
    ["cwnd", "rtt", "load"].includes(kind) ? [{ kind, port: "" }] : ports.map(({ name }) => ({ kind, port: name })),
  );
  await (branch === live ? fetchHistory(series) : fetchRecorded(branch, series));
  const terminals = await recordsOf({ branch, at_ns: end_ns });
  const ids = Object.keys(nodes);
  return {
    title: fileName || "untitled",
    end_s: end_ns / 1e9,
    nodes: Object.values(nodes).map(({ name, kind, x, y }) => ({ name, kind, x, y })),
    links: Object.values(links).map((link) => ({
      a: ids.indexOf(link.a),
      b: ids.indexOf(link.b),
      text: summary(link).both,
      ports: ports.filter((port) => port.link === link.id).map(({ name }) => name),
    })),
    events: (events[branch] ?? []).filter(isShown).map((event) => ({
      at_s: event.at_ns / 1e9,
      until_s: (event.until_ns ?? (event.kind === "command" ? end_ns : event.at_ns)) / 1e9,
      kind: event.kind,
      text: eventText(event),
    })),
    charts: KINDS.map((kind) => chartOf(kind, branch)).filter(({ curves }) => curves.length > 0),
    terminals: terminals.map(terminalOf),
  };
}

function chartOf(kind: SeriesKind, branch: string): RunChart {
  const { nodes } = useDocument.getState();
  const { times_s, columns } = tablesOf(branch)[kind];
  // A curve that is always 0 says nothing.
  const curves = [...columns.values()].filter(({ values }) => values.some((value) => value !== null && value > 0));
  const titles = flowTitles(
    curves.map(({ flow }) => flow),
    useRunning.getState().run.ports,
    (node) => nodes[node]?.name ?? node,
  );
  const [times, ...values] = rowsBetween(
    times_s,
    curves.map((curve) => curve.values),
    0,
    Infinity,
  );
  return {
    title: TITLES[kind],
    unit: UNITS[kind],
    times_s: times,
    curves: curves.map(({ key, flow, port }, index) => ({
      key,
      title: flow ? titles[index]! : port,
      colour: look(index, false).colour,
      values: (values[index] ?? []).map((value) => value ?? null),
    })),
  };
}

/** A terminal with its bytes as text. A character may be split between chunks. */
export function terminalOf({ title, opened_ns, closed_ns, output }: RecordedTerminal): RunTerminal {
  const decoder = new TextDecoder();
  return {
    title,
    opened_s: opened_ns / 1e9,
    closed_s: closed_ns === null ? null : closed_ns / 1e9,
    output: output.map(({ at_ns, text }) => {
      const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
      return [at_ns / 1e9, decoder.decode(bytes, { stream: true })] as const;
    }),
  };
}

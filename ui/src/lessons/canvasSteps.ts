/** "Do this for me": the steps of a lesson that are done on the canvas, as its lab.yaml words them.
 *
 *      new, open FILE, save FILE, run, stop
 *      draw {hosts: [h1], switches: [s1], links: [[h1, s1]]}
 *      properties {h1: {ip: "10.0.0.1/8"}}          ip: "" is none
 *      preferences {ip_base: "15.0.0.0/8", start_cli: true}
 *      terminal h1 | [h1, h2]
 *      look ...                                     nothing can be done for one
 */

import { succeeds } from "../connection";
import { freshId } from "../editor/names";
import { newDocument, openPath, savePath } from "../files/topologies";
import type { LessonStep, DrawnLink, DrawnNode, NodeKind, DocumentPreferences } from "../protocol";
import { useDocument } from "../stores/document";
import { hasStarted, useRunning } from "../stores/running";
import { toast } from "../stores/toasts";
import { CLIENT, openTerminal, PROMPT } from "../terminals/tabs";

const SPACING = 170;
const [LEFT, HOSTS_Y, SWITCHES_Y] = [140, 260, 120];
const PLACES: Readonly<Record<string, string>> = { client: CLIENT, mininet: PROMPT };

/** Whether it was done. `topologies`: where the lesson's files are. */
export async function doFor(step: LessonStep, topologies: string): Promise<boolean> {
  for (const [word, value] of Object.entries(step.do)) {
    if (!(await doOne(word, value, topologies))) return false;
  }
  return true;
}

async function doOne(word: string, value: unknown, topologies: string): Promise<boolean> {
  switch (word) {
    case "new":
      return newDocument();
    case "open":
      return openPath(`${topologies}/${String(value)}`);
    case "save":
      return savePath(`${topologies}/${String(value)}`);
    case "draw":
      return draw(value as Drawn);
    case "properties":
      return setProperties(value as Record<string, Record<string, unknown>>);
    case "preferences":
      return setPreferences(value as Record<string, unknown>);
    case "run":
      return run();
    case "stop":
      return succeeds({ do: "stop" });
    case "terminal":
      return openAll(Array.isArray(value) ? value.map(String) : [String(value)]);
    default:
      return true;
  }
}

interface Drawn {
  hosts?: string[];
  switches?: string[];
  links?: [string, string][];
}

async function draw({ hosts = [], switches = [], links = [] }: Drawn): Promise<boolean> {
  const ids = new Map(Object.values(useDocument.getState().nodes).map((node) => [node.name, node.id]));
  const nodes = [...placed(hosts, "host", HOSTS_Y), ...placed(switches, "switch", SWITCHES_Y)].filter(
    (node) => !ids.has(node.name),
  );
  for (const node of nodes) ids.set(node.name, node.id);
  const there = Object.values(useDocument.getState().links).flatMap(({ a, b }) => [`${a} ${b}`, `${b} ${a}`]);
  const made = links
    .map(([a, b]): DrawnLink => {
      return { id: freshId("l"), a: ids.get(a)!, b: ids.get(b)!, options: {}, a_options: {}, b_options: {} };
    })
    .filter(({ a, b }) => !there.includes(`${a} ${b}`));
  const names = [...hosts, ...switches].join(", ");
  return succeeds({ do: "edit", put: { nodes, links: made, labels: [] }, label: `Draw ${names}` });
}

/** In a row, the switches above the middle of the hosts. */
function placed(names: readonly string[], kind: NodeKind, y: number): DrawnNode[] {
  const first = kind === "host" ? LEFT : LEFT + SPACING / 2;
  return names.map((name, index) => {
    const number = Number(/\d+$/.exec(name)?.[0] ?? index + 1);
    return { id: freshId("n"), kind, name, x: first + index * SPACING, y, options: { number } };
  });
}

async function setProperties(words: Record<string, Record<string, unknown>>): Promise<boolean> {
  const all = Object.values(useDocument.getState().nodes);
  const nodes = Object.entries(words).flatMap(([name, own]) => {
    const node = all.find((one) => one.name === name);
    if (!node) return [];
    const options = { ...node.options, ...own };
    return [{ ...node, options: Object.fromEntries(Object.entries(options).filter(([, value]) => value !== "")) }];
  });
  if (nodes.length < Object.keys(words).length) {
    toast("warning", `not all of ${Object.keys(words).join(", ")} are on the canvas`, "draw them first");
    return false;
  }
  const label = `Properties of ${Object.keys(words).join(", ")}`;
  return succeeds({ do: "edit", put: { nodes, links: [], labels: [] }, label });
}

async function setPreferences(words: Record<string, unknown>): Promise<boolean> {
  const { application } = useDocument.getState().preferences;
  const { start_cli, ...rest } = words;
  const preferences: Partial<DocumentPreferences> = { ...rest };
  if (start_cli !== undefined) preferences.application = { ...application, startCLI: start_cli ? "1" : "0" };
  return succeeds({ do: "edit", preferences: { ...preferences }, label: "Preferences" });
}

async function run(): Promise<boolean> {
  if (useRunning.getState().run.phase === "running") return true;
  return (await succeeds({ do: "run" })) && hasStarted();
}

async function openAll(names: readonly string[]): Promise<boolean> {
  if (!(await hasStarted())) {
    toast("warning", "the network does not run yet", "start it with Run");
    return false;
  }
  for (const name of names) {
    const node = PLACES[name] ?? Object.values(useDocument.getState().nodes).find((one) => one.name === name)?.id;
    if (node === undefined) {
      toast("warning", `there is no ${name} in this network`);
      return false;
    }
    await openTerminal(node);
  }
  return true;
}

/** Whether there is anything to be done for one. */
export function canDo(step: LessonStep): boolean {
  return Object.keys(step.do).some((word) => word !== "look");
}

/** As one would tell it. */
export function description(step: LessonStep): string {
  return Object.entries(step.do)
    .map(([word, value]) => sentence(word, value))
    .join("; ");
}

function sentence(word: string, value: unknown): string {
  switch (word) {
    case "new":
      return "File > New";
    case "open":
      return `File > Open: ${String(value)}`;
    case "save":
      return `File > Save as: ${String(value)}`;
    case "draw": {
      const { hosts = [], switches = [], links = [] } = value as Drawn;
      const pairs = links.map((pair) => pair.join("–")).join(", ");
      return `Draw ${[...hosts, ...switches].join(", ")}${pairs && `; link ${pairs}`}`;
    }
    case "properties":
      return Object.entries(value as Record<string, Record<string, unknown>>)
        .map(([name, own]) => `Properties of ${name}: ${pairsOf(own)}`)
        .join("; ");
    case "preferences":
      return `Edit > Preferences: ${pairsOf(value as Record<string, unknown>)}`;
    case "run":
      return "Run";
    case "stop":
      return "Stop";
    case "terminal":
      return `Open a terminal: ${Array.isArray(value) ? value.join(", ") : String(value)}`;
    case "look":
      return value === true ? "Look at what is shown" : `Look: ${String(value)}`;
    default:
      return `${word} ${String(value)}`;
  }
}

const FIELDS: Readonly<Record<string, string>> = { ip: "IP address", ip_base: "IP Base", start_cli: "Start CLI" };

function pairsOf(words: Record<string, unknown>): string {
  return Object.entries(words)
    .map(([word, value]) => `${FIELDS[word] ?? word} ${value === "" ? "empty" : value === true ? "on" : String(value)}`)
    .join(", ");
}

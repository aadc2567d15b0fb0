/** Parse the figures of lessons: the part of Mermaid's language that they use.
 *
 *    flowchart LR | TB        a["text"] -- "label" --- b((h1)) --> c
 *                             subgraph id["title"] ... end
 *    sequenceDiagram          participant a; a->>b: text; Note over a: text
 *
 *  Anything else in Mermaid is an error here, and the figure is then shown as its source.
 */

export type Shape = "box" | "round" | "circle" | "diamond" | "store";

export interface FlowNode {
  id: string;
  lines: string[];
  shape: Shape;
  group?: string;
}

export interface FlowEdge {
  from: string;
  to: string;
  lines: string[];
  hasArrow: boolean;
  isDashed: boolean;
}

export interface FlowGroup {
  id: string;
  title: string;
}

export interface Flow {
  kind: "flow";
  direction: "LR" | "TB";
  nodes: FlowNode[];
  edges: FlowEdge[];
  groups: FlowGroup[];
}

export type SequenceStep =
  { kind: "message"; from: string; to: string; text: string } | { kind: "note"; over: string; text: string };

export interface Sequence {
  kind: "sequence";
  actors: string[];
  steps: SequenceStep[];
}

export function parse(source: string): Flow | Sequence {
  const lines = source
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line && !line.startsWith("%%"));
  const [head, ...rest] = lines;
  if (head === "sequenceDiagram") return parseSequence(rest);
  const match = /^(?:flowchart|graph) (LR|TB|TD)$/.exec(head ?? "");
  if (!match) throw new Error(`a figure cannot begin with "${head ?? ""}"`);
  return parseFlow(match[1] === "LR" ? "LR" : "TB", rest);
}

function parseSequence(lines: string[]): Sequence {
  const actors: string[] = [];
  const steps: SequenceStep[] = [];
  const see = (name: string) => {
    if (!actors.includes(name)) actors.push(name);
  };
  for (const line of lines) {
    const participant = /^participant (\w+)$/.exec(line);
    const note = /^Note over (\w+): (.*)$/.exec(line);
    const message = /^(\w+)->>(\w+): (.*)$/.exec(line);
    if (participant) see(participant[1]!);
    else if (note) {
      see(note[1]!);
      steps.push({ kind: "note", over: note[1]!, text: note[2]! });
    } else if (message) {
      see(message[1]!);
      see(message[2]!);
      steps.push({ kind: "message", from: message[1]!, to: message[2]!, text: message[3]! });
    } else throw new Error(`unsupported figure syntax: ${line}`);
  }
  return { kind: "sequence", actors, steps };
}

function parseFlow(direction: "LR" | "TB", lines: string[]): Flow {
  const nodes = new Map<string, FlowNode>();
  const flow: Flow = { kind: "flow", direction, nodes: [], edges: [], groups: [] };
  let group: string | undefined;
  for (const line of lines) {
    const opened = /^subgraph (\w+)(?:\["(.*)"\])?$/.exec(line);
    if (opened) {
      group = opened[1]!;
      flow.groups.push({ id: group, title: opened[2] ?? group });
    } else if (line === "end") group = undefined;
    else if (!/^direction \w+$/.test(line)) new Line(line, group, nodes, flow.edges).read();
  }
  flow.nodes = [...nodes.values()];
  return flow;
}

/** Brackets around a node's text; longer ones first where they begin alike. */
const SHAPES: [string, string, Shape][] = [
  ["((", "))", "circle"],
  ["[(", ")]", "store"],
  ["[", "]", "box"],
  ["(", ")", "round"],
  ["{", "}", "diamond"],
];

/** Edges, with or without a label. */
const EDGE = /^\s*(?:(-->|---|-\.->|-\.-)|--\s+(.+?)\s+(-->|---)|-\.\s+(.+?)\s+(\.->|\.-))\s*/;

class Line {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly group: string | undefined,
    private readonly nodes: Map<string, FlowNode>,
    private readonly edges: FlowEdge[],
  ) {}

  /** A node, or a chain of them. */
  read(): void {
    let from = this.node();
    while (this.at < this.text.length) {
      const match = EDGE.exec(this.text.slice(this.at));
      if (!match) throw new Error(`unsupported figure syntax: ${this.text.slice(this.at)}`);
      this.at += match[0].length;
      const end = match[1] ?? match[3] ?? match[5]!;
      const to = this.node();
      this.edges.push({
        from,
        to,
        lines: textLines(match[2] ?? match[4] ?? ""),
        hasArrow: end.endsWith(">"),
        isDashed: end.includes("."),
      });
      from = to;
    }
  }

  private node(): string {
    const rest = this.text.slice(this.at);
    const match = /^\w+/.exec(rest);
    if (!match) throw new Error(`unsupported figure syntax: ${rest}`);
    const id = match[0];
    this.at += id.length;
    const shape = SHAPES.find(([open]) => this.text.startsWith(open, this.at));
    if (shape) {
      const [open, close, name] = shape;
      const begin = this.at + open.length;
      const isQuoted = this.text[begin] === '"';
      const end = this.text.indexOf(isQuoted ? `"${close}` : close, begin + 1);
      if (end < 0) throw new Error(`no end of ${open} in a figure: ${this.text}`);
      this.keep(id, textLines(this.text.slice(isQuoted ? begin + 1 : begin, end)), name);
      this.at = end + close.length + (isQuoted ? 1 : 0);
    } else if (!this.nodes.has(id)) this.keep(id, [id], "box");
    return id;
  }

  private keep(id: string, lines: string[], shape: Shape): void {
    const known = this.nodes.get(id);
    const group = this.group ?? known?.group;
    this.nodes.set(id, { id, lines, shape, ...(group ? { group } : {}) });
  }
}

function textLines(text: string): string[] {
  const plain = text.replace(/^"|"$/g, "");
  return plain ? plain.split(/<br\s*\/?>/).map((line) => line.trim()) : [];
}

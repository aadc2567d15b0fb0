/** Options of a node as texts for form fields, and back. */
import { nodeNamed } from "../editor/actions";
import { withOption } from "../editor/conditions";
import { OPTION_NAMES, type DrawnNode } from "../protocol";
import { edit } from "../stores/edits";
import { useDocument } from "../stores/document";

export function textOf(options: Readonly<Record<string, unknown>>, word: string): string {
  const value = options[word];
  return value === undefined || value === null ? "" : String(value);
}

export function listOf(options: Readonly<Record<string, unknown>>, word: string): unknown[] {
  const value = options[word];
  return Array.isArray(value) ? (value as unknown[]) : [];
}

export function optionName(word: string): string {
  return OPTION_NAMES[word] ?? word.replaceAll("_", " ");
}

/** Set an option as one edit; undefined removes it. */
export function setOption(node: DrawnNode, word: string, value: unknown): void {
  setOptions(node, { [word]: value }, optionName(word));
}

export function setOptions(node: DrawnNode, values: Readonly<Record<string, unknown>>, what: string): void {
  const now = useDocument.getState().nodes[node.id] ?? node;
  let { options } = now;
  for (const [word, value] of Object.entries(values)) options = withOption(options, word, value);
  void edit(`Set ${what} of ${nodeNamed(node.id)}`, { nodes: [{ ...now, options }] });
}

export function rename(node: DrawnNode, name: string): void {
  const now = useDocument.getState().nodes[node.id] ?? node;
  void edit(`Rename ${node.name} to ${name}`, { nodes: [{ ...now, name }] });
}

/** An empty field stands for an option that is not set. */
export function orNothing(text: string): string | undefined {
  return text === "" ? undefined : text;
}

/** Digits become a number; any other text is kept, and reported by the server as a problem. */
export function wholeOrText(text: string): number | string | undefined {
  if (text === "") return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

export function decimalOrText(text: string): number | string | undefined {
  if (text === "") return undefined;
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/**
 * The document: nodes, links and labels by id, so that what did not change stays the same object and is
 * not drawn again.
 *
 * What is shown is what the server has said, and on top of it our own edits that it has not answered
 * yet. So an edit shows at once, and a word of the server's about an earlier one does not undo a later.
 */
import { create } from "zustand";
import { onPush } from "../connection";
import type { Document, DocumentPush, DrawnLabel, DrawnLink, DrawnNode, DocumentPreferences, DrawingProblem } from "../protocol";

export type ById<T> = Readonly<Record<string, T>>;

export interface DocumentState {
  /** 0: nothing has come yet. */
  revision: number;
  nodes: ById<DrawnNode>;
  links: ById<DrawnLink>;
  labels: ById<DrawnLabel>;
  preferences: DocumentPreferences;
  /** What undo and redo would do: "Move h1"; null if there is nothing. */
  undo: string | null;
  redo: string | null;
  problems: readonly DrawingProblem[];
  /** In the working folder; null if it has never been saved. */
  path: string | null;
  fileName: string;
  isSaved: boolean;
  /** Grows whenever another document takes the place of this one. */
  opened: number;
}

type Content = Pick<
  DocumentState,
  "revision" | "nodes" | "links" | "labels" | "preferences" | "undo" | "redo"
>;

const NOTHING: Content = {
  revision: 0,
  nodes: {},
  links: {},
  labels: {},
  preferences: {
    name: "",
    ip_base: "10.0.0.0/8",
    clock: "virtual",
    wire: "mtu",
    seed: 1,
    pace: "real",
    application: {},
    extra: {},
  },
  undo: null,
  redo: null,
};

export const useDocument = create<DocumentState>(() => ({
  ...NOTHING,
  problems: [],
  path: null,
  fileName: "",
  isSaved: true,
  opened: 0,
}));

function byId<T extends { id: string }>(things: readonly T[]): ById<T> {
  return Object.fromEntries(things.map((thing) => [thing.id, thing]));
}

function changed<T extends { id: string }>(
  before: ById<T>,
  put: readonly T[],
  drop: ReadonlySet<string>,
): ById<T> {
  const isTouched = put.length > 0 || Object.keys(before).some((id) => drop.has(id));
  if (!isTouched) return before;
  const kept = Object.entries(before).filter(([id]) => !drop.has(id));
  return { ...Object.fromEntries(kept), ...byId(put) };
}

/** What the document is after a push. */
export function after(state: Content, push: DocumentPush): Content {
  const { revision, undo, redo, changes } = push;
  if (push.document !== null) return { ...state, revision, undo, redo, ...whole(push.document) };
  if (changes === null) return { ...state, revision, undo, redo };
  const drop = new Set(changes.drop);
  return {
    revision,
    undo,
    redo,
    nodes: changed(state.nodes, changes.put.nodes, drop),
    links: changed(state.links, changes.put.links, drop),
    labels: changed(state.labels, changes.put.labels, drop),
    preferences: changes.preferences ?? state.preferences,
  };
}

function whole(document: Document): Partial<Content> {
  return {
    nodes: byId(document.nodes),
    links: byId(document.links),
    labels: byId(document.labels),
    preferences: document.preferences,
  };
}

let said = NOTHING;
const unanswered = new Set<DocumentPush>();

/** Shows an edit that the server has not answered yet, until the returned function is called. */
export function show(edit: DocumentPush): () => void {
  unanswered.add(edit);
  showAll();
  return () => {
    unanswered.delete(edit);
    showAll();
  };
}

function showAll(): void {
  useDocument.setState([...unanswered].reduce(after, said));
}

onPush("document", (push) => {
  const isOther = push.document !== null && said.revision !== push.revision;
  said = after(said, push);
  showAll();
  if (isOther) useDocument.setState(({ opened }) => ({ opened: opened + 1 }));
});
onPush("problems", ({ problems }) => useDocument.setState({ problems }));
onPush("file", ({ path, name, is_saved }) =>
  useDocument.setState({ path, fileName: name, isSaved: is_saved }),
);

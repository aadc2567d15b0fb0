/**
 * The document: nodes, links, labels and frames by id. Elements that did not change stay the same objects, so
 * that they are not drawn again.
 *
 * What is shown is the server's document with our own unconfirmed edits on top. So an edit shows at
 * once, and the confirmation of an earlier edit does not undo a later one.
 */
import { create } from "zustand";
import { onPush } from "../connection";
import type {
  Document,
  DocumentPush,
  DrawnFrame,
  DrawnLabel,
  DrawnLink,
  DrawnNode,
  DocumentPreferences,
  DrawingProblem,
} from "../protocol";

export type ById<T> = Readonly<Record<string, T>>;

export interface DocumentState {
  /** 0 until the first document has arrived. */
  revision: number;
  nodes: ById<DrawnNode>;
  links: ById<DrawnLink>;
  labels: ById<DrawnLabel>;
  frames: ById<DrawnFrame>;
  preferences: DocumentPreferences;
  /** The edits that undo and redo would apply to ("Move h1"); null if there are none. */
  undo: string | null;
  redo: string | null;
  problems: readonly DrawingProblem[];
  /** The path in the working folder; null if it has never been saved. */
  path: string | null;
  fileName: string;
  isSaved: boolean;
  /** Increases whenever another document replaces this one. */
  opened: number;
}

type Content = Pick<
  DocumentState,
  "revision" | "nodes" | "links" | "labels" | "frames" | "preferences" | "undo" | "redo"
>;

const EMPTY: Content = {
  revision: 0,
  nodes: {},
  links: {},
  labels: {},
  frames: {},
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
  ...EMPTY,
  problems: [],
  path: null,
  fileName: "",
  isSaved: true,
  opened: 0,
}));

function byId<T extends { id: string }>(elements: readonly T[]): ById<T> {
  return Object.fromEntries(elements.map((element) => [element.id, element]));
}

function changed<T extends { id: string }>(before: ById<T>, put: readonly T[], drop: ReadonlySet<string>): ById<T> {
  const isTouched = put.length > 0 || Object.keys(before).some((id) => drop.has(id));
  if (!isTouched) return before;
  const kept = Object.entries(before).filter(([id]) => !drop.has(id));
  return { ...Object.fromEntries(kept), ...byId(put) };
}

/** The document after a push. */
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
    frames: changed(state.frames, changes.put.frames, drop),
    preferences: changes.preferences ?? state.preferences,
  };
}

function whole(document: Document): Partial<Content> {
  return {
    nodes: byId(document.nodes),
    links: byId(document.links),
    labels: byId(document.labels),
    frames: byId(document.frames),
    preferences: document.preferences,
  };
}

let confirmed = EMPTY;
const unconfirmed = new Set<DocumentPush>();

/** Show an edit that the server has not confirmed yet, until the returned function is called. */
export function show(edit: DocumentPush): () => void {
  unconfirmed.add(edit);
  showAll();
  return () => {
    unconfirmed.delete(edit);
    showAll();
  };
}

function showAll(): void {
  useDocument.setState([...unconfirmed].reduce(after, confirmed));
}

onPush("document", (push) => {
  const isOther = push.document !== null && confirmed.revision !== push.revision;
  confirmed = after(confirmed, push);
  showAll();
  if (isOther) useDocument.setState(({ opened }) => ({ opened: opened + 1 }));
});
onPush("problems", ({ problems }) => useDocument.setState({ problems }));
onPush("file", ({ path, name, is_saved }) => useDocument.setState({ path, fileName: name, isSaved: is_saved }));

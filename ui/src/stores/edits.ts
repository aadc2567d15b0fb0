/**
 * Changes of the document: one action of the user is one edit, and one step of undo. It shows at once,
 * and goes again if the server refuses it.
 */
import { perform, send, showError } from "../connection";
import type { DrawnLabel, DrawnLink, DrawnNode, DocumentPreferences } from "../protocol";
import { show, useDocument } from "./document";

export interface Change {
  nodes?: readonly DrawnNode[];
  links?: readonly DrawnLink[];
  labels?: readonly DrawnLabel[];
  drop?: readonly string[];
  preferences?: Partial<DocumentPreferences>;
}

/** `label` is how undo calls it: "Move h1". */
export async function edit(label: string, change: Change): Promise<boolean> {
  const state = useDocument.getState();
  const put = {
    nodes: [...(change.nodes ?? [])],
    links: [...(change.links ?? [])],
    labels: [...(change.labels ?? [])],
  };
  const drop = dropped(change.drop ?? []);
  const preferences =
    change.preferences === undefined ? null : { ...state.preferences, ...change.preferences };
  const answered = show({
    push: "document",
    revision: state.revision,
    document: null,
    changes: { put, drop, preferences },
    by: "",
    label,
    undo: label,
    redo: null,
  });
  try {
    await send({
      do: "edit",
      put,
      drop,
      preferences: change.preferences ?? null,
      label,
    });
    return true;
  } catch (error) {
    showError(error);
    return false;
  } finally {
    answered();
  }
}

/** With a node go its links. */
function dropped(ids: readonly string[]): string[] {
  const all = new Set(ids);
  for (const link of Object.values(useDocument.getState().links)) {
    if (all.has(link.a) || all.has(link.b)) all.add(link.id);
  }
  return [...all];
}

export function undo(): void {
  if (useDocument.getState().undo !== null) void perform({ do: "undo" });
}

export function redo(): void {
  if (useDocument.getState().redo !== null) void perform({ do: "redo" });
}

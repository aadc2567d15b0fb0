/**
 * Edits of the document. One action of the user is one edit, and one step of undo. An edit shows at
 * once, and disappears again if the server refuses it.
 */
import { perform, send, showError } from "../connection";
import type { DrawnFrame, DrawnLabel, DrawnLink, DrawnNode, DocumentPreferences } from "../protocol";
import { show, useDocument } from "./document";

export interface Change {
  nodes?: readonly DrawnNode[];
  links?: readonly DrawnLink[];
  labels?: readonly DrawnLabel[];
  frames?: readonly DrawnFrame[];
  drop?: readonly string[];
  preferences?: Partial<DocumentPreferences>;
}

/** Edit the document. `label` is the name of the edit in the undo menu: "Move h1". */
export async function edit(label: string, change: Change): Promise<boolean> {
  const state = useDocument.getState();
  const put = {
    nodes: [...(change.nodes ?? [])],
    links: [...(change.links ?? [])],
    labels: [...(change.labels ?? [])],
    frames: [...(change.frames ?? [])],
  };
  const drop = dropped(change.drop ?? []);
  const preferences = change.preferences === undefined ? null : { ...state.preferences, ...change.preferences };
  const hide = show({
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
    hide();
  }
}

/** The ids, and those of all links of deleted nodes. */
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

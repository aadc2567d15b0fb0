import { expect, it, vi } from "vitest";
import type { AnyPush, DocumentPush } from "../protocol";

const listeners = new Map<string, (push: AnyPush) => void>();
vi.mock("../connection", () => ({
  onPush: (kind: string, listener: (push: AnyPush) => void) => listeners.set(kind, listener),
}));

const { useDocument } = await import("./document");

function opens(revision: number): DocumentPush {
  const { preferences } = useDocument.getState();
  const document = { nodes: [], links: [], labels: [], frames: [], preferences };
  return { push: "document", revision, document, changes: null, by: "", label: "", undo: null, redo: null };
}

it("every opened document counts as new, and its file name comes from the server", () => {
  listeners.get("document")?.(opens(1));
  listeners.get("file")?.({ push: "file", path: "a.mn", name: "a.mn", is_saved: true });
  expect(useDocument.getState().opened).toBe(1);
  listeners.get("document")?.(opens(2));
  listeners.get("document")?.(opens(3));
  expect(useDocument.getState()).toMatchObject({ revision: 3, opened: 3, path: "a.mn", fileName: "a.mn" });
  // The server repeats this push after the connection was lost.
  listeners.get("document")?.(opens(3));
  expect(useDocument.getState().opened).toBe(3);
});

import { expect, it, vi } from "vitest";
import type { AnyPush, DocumentPush } from "../protocol";

const heard = new Map<string, (push: AnyPush) => void>();
vi.mock("../connection", () => ({
  onPush: (kind: string, hear: (push: AnyPush) => void) => heard.set(kind, hear),
}));

const { useDocument } = await import("./document");

function opens(revision: number): DocumentPush {
  const { preferences } = useDocument.getState();
  const document = { nodes: [], links: [], labels: [], preferences };
  return { push: "document", revision, document, changes: null, by: "", label: "", undo: null, redo: null };
}

it("every document that is opened is a new one, and leaves its file's name to the server", () => {
  heard.get("document")?.(opens(1));
  heard.get("file")?.({ push: "file", path: "a.mn", name: "a.mn", is_saved: true });
  expect(useDocument.getState().opened).toBe(1);
  heard.get("document")?.(opens(2));
  heard.get("document")?.(opens(3));
  expect(useDocument.getState()).toMatchObject({ revision: 3, opened: 3, path: "a.mn", fileName: "a.mn" });
  // Said again, after the connection was lost.
  heard.get("document")?.(opens(3));
  expect(useDocument.getState().opened).toBe(3);
});

/** The working folder, as the server lists it, and what has come or changed there lately. */

import { useCallback, useEffect, useState } from "react";
import { create } from "zustand";
import { onPush } from "../connection";
import { ask } from "../layout/dialogs";
import type { FileInfo, Folder } from "../protocol";

interface Changes {
  /** Grows with every change, so that who shows a file or a folder looks again. */
  count: number;
  /** The newest first. */
  recent: readonly string[];
}

const MOST_RECENT = 50;

export const useChanges = create<Changes>(() => ({ count: 0, recent: [] }));

onPush("files", ({ paths }) =>
  useChanges.setState(({ count, recent }) => ({
    count: count + 1,
    recent: [...paths, ...recent.filter((path) => !paths.includes(path))].slice(0, MOST_RECENT),
  })),
);

/** Address of a file's content. */
export function address(path: string): string {
  return `/api/files/${path.split("/").map(encodeURIComponent).join("/")}`;
}

export async function list(under: string): Promise<readonly FileInfo[]> {
  const answer = await fetch(`/api/files?under=${encodeURIComponent(under)}`, { cache: "no-store" });
  if (!answer.ok) throw new Error(((await answer.json()) as { what: string }).what);
  return ((await answer.json()) as Folder).files;
}

/** What is in a folder, and why that cannot be said; seen anew when something has changed, or by `look`. */
export function useFolder(under: string): { files: readonly FileInfo[]; error: string; look: () => void } {
  const [seen, setSeen] = useState<{ files: readonly FileInfo[]; error: string }>({ files: [], error: "" });
  const [looks, setLooks] = useState(0);
  const changes = useChanges((state) => state.count);
  useEffect(() => {
    let isWanted = true;
    list(under).then(
      (files) => isWanted && setSeen({ files, error: "" }),
      (error: unknown) => isWanted && setSeen({ files: [], error: String(error) }),
    );
    return () => {
      isWanted = false;
    };
  }, [under, changes, looks]);
  return { ...seen, look: useCallback(() => setLooks((count) => count + 1), []) };
}

export async function askToReplace(paths: readonly string[]): Promise<boolean> {
  const isOne = paths.length === 1;
  const answer = await ask({
    title: isOne ? "Replace the file?" : "Replace the files?",
    text: `${paths.join(", ")} ${isOne ? "is" : "are"} there already.`,
    answers: [
      { id: "replace", title: "Replace", isDangerous: true },
      { id: "cancel", title: "Cancel" },
    ],
  });
  return answer === "replace";
}

export function isTopology(name: string): boolean {
  return /\.(mn|ya?ml)$/i.test(name);
}

/** The file that a terminal speaks of by a name, which may be relative to any folder: what has changed
 *  last, where there are several. Null if there is none. */
export async function findFile(name: string): Promise<string | null> {
  const wanted = name.replace(/^~\/|^\.\//, "").split("/");
  const fits = (path: string) => {
    const parts = path.split("/");
    return wanted.filter((part) => part !== "..").every((part, index, all) => parts.at(index - all.length) === part);
  };
  const recent = useChanges.getState().recent.find(fits);
  if (recent !== undefined) return recent;
  const found = (await everything("", 4)).filter((file) => fits(file.path));
  found.sort((a, b) => b.changed_at_s - a.changed_at_s);
  if (found[0]) return found[0].path;
  // A name with its folder at home in front of it.
  return wanted.length > 1 ? findFile(wanted.slice(1).join("/")) : null;
}

async function everything(under: string, depth: number): Promise<readonly FileInfo[]> {
  const here = await list(under);
  if (depth === 0) return here.filter((file) => !file.is_folder);
  const below = await Promise.all(here.map((file) => (file.is_folder ? everything(file.path, depth - 1) : [file])));
  return below.flat();
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function when(seconds: number): string {
  return new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });
}

/** The working folder as the server lists it, and its recent changes. */

import { useCallback, useEffect, useState } from "react";
import { create } from "zustand";
import { errorText, onPush, request } from "../connection";
import { ask } from "../layout/dialogs";
import type { FileInfo, Folder } from "../protocol";

interface Changes {
  /** Increases with every change, so that views of files and folders know when to reload. */
  count: number;
  /** Paths of changed files, the newest first. */
  recent: readonly string[];
}

const MAX_RECENT = 50;

export const useChanges = create<Changes>(() => ({ count: 0, recent: [] }));

onPush("files", ({ paths }) =>
  useChanges.setState(({ count, recent }) => ({
    count: count + 1,
    recent: [...paths, ...recent.filter((path) => !paths.includes(path))].slice(0, MAX_RECENT),
  })),
);

/** The URL of a file's content. */
export function address(path: string): string {
  return `api/files/${path.split("/").map(encodeURIComponent).join("/")}`;
}

export async function list(under: string): Promise<readonly FileInfo[]> {
  const response = await request(`api/files?under=${encodeURIComponent(under)}`);
  return ((await response.json()) as Folder).files;
}

/** The entries of a folder, or why they cannot be listed. Reloaded after changes, and by `refresh`. */
export function useFolder(under: string): { files: readonly FileInfo[]; error: string; refresh: () => void } {
  const [listing, setListing] = useState<{ files: readonly FileInfo[]; error: string }>({ files: [], error: "" });
  const [refreshes, setRefreshes] = useState(0);
  const changes = useChanges((state) => state.count);
  useEffect(() => {
    let isWanted = true;
    list(under).then(
      (files) => isWanted && setListing({ files, error: "" }),
      (error: unknown) => isWanted && setListing({ files: [], error: errorText(error) }),
    );
    return () => {
      isWanted = false;
    };
  }, [under, changes, refreshes]);
  return { ...listing, refresh: useCallback(() => setRefreshes((count) => count + 1), []) };
}

export async function askToReplace(paths: readonly string[]): Promise<boolean> {
  const isOne = paths.length === 1;
  return confirmReplacing(
    isOne ? "Replace the file?" : "Replace the files?",
    `${paths.join(", ")} already ${isOne ? "exists" : "exist"}.`,
  );
}

export async function confirmReplacing(title: string, text: string): Promise<boolean> {
  const answer = await ask({
    title,
    text,
    answers: [
      { id: "replace", title: "Replace", isDangerous: true },
      { id: "cancel", title: "Cancel" },
    ],
  });
  return answer === "replace";
}

export function isTopology(name: string): boolean {
  return /\.(mn|ya?ml)$/i.test(name) || isForeign(name);
}

/** Whether a file is opened as a topology of another program. */
export function isForeign(name: string): boolean {
  return /\.(clab\.ya?ml|gns3(project)?)$/i.test(name);
}

/** Find a file by a name in a terminal's output, which may be relative to any folder. If several match,
 *  the one that changed last. Null if there is none. */
export async function findFile(name: string): Promise<string | null> {
  const wantedParts = name.replace(/^~\/|^\.\//, "").split("/");
  const fits = (path: string) => {
    const parts = path.split("/");
    return wantedParts
      .filter((part) => part !== "..")
      .every((part, index, all) => parts.at(index - all.length) === part);
  };
  const recent = useChanges.getState().recent.find(fits);
  if (recent !== undefined) return recent;
  const matches = (await everything("", 4)).filter((file) => fits(file.path));
  matches.sort((a, b) => b.changed_at_s - a.changed_at_s);
  if (matches[0]) return matches[0].path;
  // A name that begins with the home folder.
  return wantedParts.length > 1 ? findFile(wantedParts.slice(1).join("/")) : null;
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

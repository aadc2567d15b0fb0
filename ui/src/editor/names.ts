/** New names and ids. */
import type { DrawnNode } from "../protocol";
import type { KindInfo } from "./kinds";

/** A random id, unique among all tabs, because several may draw at the same time. */
export function freshId(prefix: "n" | "l" | "t" | "f"): string {
  const random = crypto.getRandomValues(new Uint32Array(2));
  return prefix + [...random].map((word) => word.toString(36).padStart(7, "0")).join("");
}

/** The number after the largest in use. As in MiniEdit, the number of a deleted node is used again only
 *  if it was the largest. */
export function nextNumber({ prefix, first }: KindInfo, nodes: Iterable<DrawnNode>): number {
  let next = first;
  for (const { name } of nodes) {
    if (!name.startsWith(prefix)) continue;
    const digits = name.slice(prefix.length);
    if (/^\d{1,9}$/.test(digits)) next = Math.max(next, Number(digits) + 1);
  }
  return next;
}

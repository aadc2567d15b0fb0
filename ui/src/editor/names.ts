/** Names and ids that nothing else has yet. */
import type { DrawnNode } from "../protocol";
import type { KindInfo } from "./kinds";

/** Unlike any other, in this tab and in all others: two may draw at the same time. */
export function freshId(prefix: "n" | "l" | "t"): string {
  const random = crypto.getRandomValues(new Uint32Array(2));
  return prefix + [...random].map((word) => word.toString(36).padStart(7, "0")).join("");
}

/** The number after the largest that is taken; as in MiniEdit, a deleted node's comes back only if it
 *  was the last. */
export function nextNumber({ prefix, first }: KindInfo, nodes: Iterable<DrawnNode>): number {
  let next = first;
  for (const { name } of nodes) {
    if (!name.startsWith(prefix)) continue;
    const digits = name.slice(prefix.length);
    if (/^\d{1,9}$/.test(digits)) next = Math.max(next, Number(digits) + 1);
  }
  return next;
}

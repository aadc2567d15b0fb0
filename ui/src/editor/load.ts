/** The appearance of a link by its traffic. */
import type { DrawnLink } from "../protocol";
import type { Traffic } from "../stores/traffic";
import { valueAt, type SetByTc } from "./conditions";

export type Level = "used" | "busy" | "full";

/** Line width shows the throughput, colour the utilization. */
export function loadOf(
  link: DrawnLink,
  { a_bps, b_bps }: Traffic,
  tc: SetByTc,
): { width: number; level: Level } | null {
  const max_bps = Math.max(a_bps, b_bps);
  if (max_bps < 100) return null;
  const width = Math.min(9, 2.4 + Math.max(0, Math.log10(max_bps) - 3) * 0.95);
  const full = (bps: number, end: "a" | "b") => {
    const rate = rateBps(tc[end] ? tc[end].rate : valueAt(link, end, "rate"));
    return rate === null ? 0 : bps / rate;
  };
  const share = Math.max(full(a_bps, "a"), full(b_bps, "b"));
  return { width, level: share >= 0.9 ? "full" : share >= 0.6 ? "busy" : "used" };
}

/** Bits per second of "10Mbps"; null if the text is not a rate. */
function rateBps(text: unknown): number | null {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)b/.exec(String(text));
  if (match === null) return null;
  const scale = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 }[(match[2] ?? "").toLowerCase()] ?? 1;
  return Number(match[1]) * scale;
}

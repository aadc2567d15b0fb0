/** The queues of the running network, for the glasses at the ports on the canvas. */
import { create } from "zustand";
import type { DrawnLink, WatchedSeries } from "../protocol";
import { valueAt, type SetByTc } from "../editor/conditions";
import { valueText } from "../charts/units";
import type { Table, Tables } from "./samples";

export interface QueueState {
  bytes: number;
  /** How many packets were dropped in the last second. */
  drops: number;
}

/** By link and end: "l1 a". Only queues that hold something, or have just dropped something. */
export const useQueues = create<{ queues: Readonly<Record<string, QueueState>> }>(() => ({ queues: {} }));

const RECENT_S = 1;

/** The series of the queues at some ports. */
export function queueSeries(ports: readonly string[]): WatchedSeries[] {
  return ports.flatMap((port) => [
    { kind: "queue" as const, port },
    { kind: "drops" as const, port },
  ]);
}

/** The state of a queue at a time, from what was sampled until then. */
export function queueAt({ queue, drops }: Pick<Tables, "queue" | "drops">, port: string, time_s: number): QueueState {
  const bytes = valueBefore(queue, port, time_s);
  // The samples of drops count from the start of the network.
  const recent = valueBefore(drops, port, time_s) - valueBefore(drops, port, time_s - RECENT_S);
  return { bytes, drops: Math.max(0, recent) };
}

/** The queue of a port in words; `lost` says why the port has lost packets. */
export function queueText(name: string, { bytes, drops }: QueueState, limit: number | null, lost: string): string {
  const ofLimit = limit === null ? "" : ` of ${valueText(limit, "B")}`;
  const dropped = drops > 0 ? `, ${drops} packets dropped within a second` : "";
  return `Queue of ${name}: ${valueText(bytes, "B")}${ofLimit}${dropped}${lost === "" ? "" : `\n${lostText(lost)}`}`;
}

export function lostText(lost: string): string {
  return `Packets were lost here: ${lost}`;
}

function valueBefore({ times_s, columns }: Table, port: string, time_s: number): number {
  const values = columns.get(port)?.values;
  if (values === undefined) return 0;
  for (let row = times_s.findLastIndex((one) => one <= time_s); row >= 0; row -= 1) {
    const value = values[row];
    if (value !== null && value !== undefined) return value;
  }
  return 0;
}

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};
/** A full packet on Ethernet. */
const PACKET_BYTES = 1514;

/** The limit of a queue in bytes, as drawn or as `tc` has set it; null if it has none or the queue's own. */
export function limitBytes(link: DrawnLink, end: "a" | "b", tc: SetByTc): number | null {
  const queue = tc[end] ? tc[end].queue : valueAt(link, end, "queue");
  if (typeof queue !== "object" || queue === null) return null;
  const { limit, packets } = queue as { limit?: unknown; packets?: unknown };
  if (typeof packets === "number") return packets * PACKET_BYTES;
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?)\s*([kKMG]?i?B)/.exec(String(limit ?? "")) ?? [];
  const factor = UNITS[unit ?? ""];
  return factor === undefined ? null : Number(number) * factor;
}

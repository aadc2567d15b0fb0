/** The packets that the server has reported, and the network's time between its reports. */
import { create } from "zustand";
import { onPush } from "../connection";
import { timeNs, valueAt } from "../editor/conditions";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import type { Flight } from "./flights";

const MAX_FLIGHTS = 3000;
/** The picture is delayed by this much, so that it shows only known events. */
const LAG_REAL_S = 0.15;

/** Changed in place, because packets move many times a second. */
export const flights = new Map<number, Flight>();

export const usePackets = create<{ leftOut: number; hasAny: boolean }>(() => ({ leftOut: 0, hasAny: false }));

const listeners = new Set<() => void>();

export function onPackets(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

onPush("packets", ({ packets, left_out, gone, is_over }) => {
  if (is_over) return clearPackets();
  for (const number of gone) flights.delete(number);
  for (const packet of packets) {
    const isOver = packet.dropped_ns !== null || packet.received_ns !== null;
    flights.set(packet.number, {
      packet,
      delay_ns: delayOf(packet.link, packet.end),
      endedAt_ms: isOver ? performance.now() : null,
    });
  }
  for (const number of flights.keys()) {
    if (flights.size <= MAX_FLIGHTS) break;
    flights.delete(number);
  }
  usePackets.setState({ leftOut: left_out, hasAny: flights.size > 0 });
  for (const listener of listeners) listener();
});

onPush("run", ({ phase }) => {
  if (phase !== "starting" && phase !== "stopped" && phase !== "failed") return;
  clearPackets();
});

function clearPackets(): void {
  flights.clear();
  usePackets.setState({ leftOut: 0, hasAny: false });
  for (const listener of listeners) listener();
}

/** The delay of a link in one direction, as `tc` has set it or as it is drawn. */
function delayOf(link: string, end: "a" | "b"): number {
  const { ports } = useRunning.getState();
  const drawn = useDocument.getState().links[link];
  const tc = ports[`${link} ${end}`]?.tc;
  return timeNs(tc ? tc.delay : drawn && valueAt(drawn, end, "delay")) ?? 0;
}

let heard = { now_ns: 0, at_ms: 0, speed: 0, isMoving: false };
let shown_ns = 0;

onPush("clock", ({ now_ns, speed, is_moving }) => {
  if (now_ns < heard.now_ns) shown_ns = 0;
  heard = { now_ns, at_ms: performance.now(), speed, isMoving: is_moving };
});

/** The network's time that the picture shows: it never runs ahead of what is known, nor back. */
export function shownTime(real_ms: number): { now_ns: number; speed: number; isMoving: boolean } {
  const { now_ns, at_ms, isMoving } = heard;
  const { clock } = useRunning.getState();
  const speed =
    clock.pace === "real" ? Math.min(clock.wanted_speed, Math.max(heard.speed, clock.wanted_speed / 10)) : heard.speed;
  const behind_ns = isMoving ? LAG_REAL_S * speed * 1e9 : 0;
  const passed_ns = isMoving ? ((real_ms - at_ms) / 1000) * speed * 1e9 : 0;
  shown_ns = Math.max(shown_ns, Math.min(now_ns, now_ns - behind_ns + passed_ns));
  return { now_ns: shown_ns, speed: isMoving ? speed : clock.wanted_speed, isMoving };
}

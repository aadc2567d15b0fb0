/**
 * Packets in flight, as the server traces them in slow motion: where each is at an instant.
 *
 * A packet waits in the queue of its port, then moves along the link until it has been
 * received. The instant of arrival is unknown beforehand, so it is predicted from the link's delay and
 * corrected when the server reports it. All times are on the network's clock.
 */
import type { TracedPacket } from "../protocol";

/** A packet on the canvas takes at least this long to pass a link, on the real clock. */
const MIN_FLIGHT_REAL_S = 0.35;
/** How long a dropped packet falls. */
const FALL_REAL_S = 0.9;
/** A packet stops here until it is known to have arrived. */
const NEARLY = 0.96;

export interface Flight {
  packet: TracedPacket;
  /** The delay of its link in its direction. */
  delay_ns: number;
  /** The real time, in ms, at which the server reported its end to this page. */
  endedAt_ms: number | null;
}

export type Spot =
  { kind: "queued" } | { kind: "flying"; part: number } | { kind: "falling"; part: number } | { kind: "gone" };

/** Where a packet is. `speed`: network seconds per real second. */
export function spotOf({ packet, delay_ns, endedAt_ms }: Flight, now_ns: number, real_ms: number, speed: number): Spot {
  if (packet.dropped_ns !== null && now_ns >= packet.dropped_ns) {
    const part = endedAt_ms === null ? 0 : (real_ms - endedAt_ms) / 1000 / FALL_REAL_S;
    return part >= 1 ? { kind: "gone" } : { kind: "falling", part: Math.max(0, part) };
  }
  const shortest_ns = MIN_FLIGHT_REAL_S * Math.min(speed, 1) * 1e9;
  const length_ns = Math.max(delay_ns, shortest_ns, 1);
  // It is delayed before it is sent: `netem` holds it in the sender's queue.
  const leaves_ns = packet.sent_ns !== null ? Math.max(packet.queued_ns, packet.sent_ns - delay_ns) : packet.queued_ns;
  if (now_ns < leaves_ns) return { kind: "queued" };
  const part = (now_ns - leaves_ns) / length_ns;
  if (part < 1) return { kind: "flying", part };
  // Once sent, it arrives after at most the delay: if that was not reported, it has arrived nowhere.
  const isLost = packet.sent_ns !== null && now_ns >= Math.max(packet.sent_ns, leaves_ns) + length_ns;
  if (packet.received_ns !== null || isLost) return { kind: "gone" };
  return { kind: "flying", part: NEARLY };
}

const HUES = [212, 28, 140, 340, 270, 175, 52, 0, 300, 95];
const numbers = new Map<string, number>();

/** The colour of a flow, which does not change while the page is open. */
export function colourOf(flow: string, isDark: boolean): string {
  if (flow === "") return isDark ? "#9aa4ae" : "#75808b";
  let number = numbers.get(flow);
  if (number === undefined) numbers.set(flow, (number = numbers.size));
  return hueColour(number, isDark);
}

export function hueColour(number: number, isDark: boolean): string {
  return `hsl(${HUES[number % HUES.length]} 78% ${isDark ? 62 : 45}%)`;
}

/** "TCP 10.0.0.1:40000 10.0.0.2:5201" is "TCP h1:40000 – h2:5201". */
export function flowTitle(flow: string, nameOf: (address: string) => string | undefined): string {
  const [protocol, ...ends] = flow.split(" ");
  const named = ends.map((end) => {
    const [, address, port] = /^\[?([0-9a-f.:]+?)\]?(?::(\d+))?$/i.exec(end) ?? [null, end, undefined];
    const isWhole = nameOf(end) !== undefined;
    const name = nameOf(isWhole ? end : address!) ?? (isWhole ? end : address!);
    return isWhole || port === undefined ? name : `${name}:${port}`;
  });
  return `${protocol} ${named.join(" – ")}`;
}

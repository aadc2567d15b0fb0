/**
 * A short run that was recorded: where its packets are at an instant.
 *
 * tests/web/test_recorded_run.py makes recording.json from a real run, and checks that it is one.
 */
import { spotOf, type Flight, type Spot } from "../packets/flights";
import type { TracedPacket } from "../protocol";
import recorded from "./recording.json";

/** Network seconds per real second. */
export const SPEED = 0.1;
/** The slow link, whose queue is drawn, and its end with the queue. */
export const BOTTLENECK = { link: "2", end: "a" } as const;

export interface RecordedFlight extends Flight {
  /** 0 and 1: the two flows that have a colour; -1: other packets. */
  flow: number;
}

export interface Spotted {
  flight: RecordedFlight;
  spot: Spot;
}

export interface Recording {
  nodes: readonly { name: string; kind: string; x: number; y: number }[];
  links: readonly (readonly [from: number, to: number])[];
  length_ns: number;
  flights: readonly RecordedFlight[];
}

type Row = [link: number, end: number, flow: number, isData: number, ...times: number[]];

function flightOf(row: Row, number: number): RecordedFlight {
  const [link, end, flow, isData, ...times] = row;
  const [queued_ns, sent_ns, received_ns, dropped_ns] = times.map((time) =>
    time < 0 ? null : time * recorded.unit_ns,
  );
  const packet: TracedPacket = {
    number,
    link: String(link),
    end: end === 0 ? "a" : "b",
    bytes: 0,
    queued_ns: queued_ns!,
    sent_ns: sent_ns!,
    received_ns: received_ns!,
    dropped_ns: dropped_ns!,
    reason: "",
    flow: "",
    protocol: "",
    info: "",
    is_data: isData === 1,
  };
  const delay_ns = recorded.links[link]![2]! * recorded.unit_ns;
  return { packet, delay_ns, endedAt_ms: null, flow };
}

export const RECORDING: Recording = {
  nodes: (recorded.nodes as [string, string, number, number][]).map(([name, kind, x, y]) => ({ name, kind, x, y })),
  links: recorded.links.map(([from, to]) => [from!, to!] as const),
  length_ns: recorded.length * recorded.unit_ns,
  flights: (recorded.packets as Row[]).map(flightOf),
};

/** The packets that are somewhere at an instant of the recording. */
export function packetsAt({ flights }: Recording, now_ns: number): Spotted[] {
  const real_ms = now_ns / SPEED / 1e6;
  const spotted: Spotted[] = [];
  for (const flight of flights) {
    const { queued_ns, dropped_ns } = flight.packet;
    if (queued_ns > now_ns) continue;
    const endedAt_ms = dropped_ns === null ? null : dropped_ns / SPEED / 1e6;
    const spot = spotOf({ ...flight, endedAt_ms }, now_ns, real_ms, SPEED);
    if (spot.kind !== "gone") spotted.push({ flight, spot });
  }
  return spotted;
}

export interface QueueCurve {
  /** How many packets are queued at each of these equally spaced instants. */
  lengths: readonly number[];
  /** The instants of drops. */
  drops_ns: readonly number[];
}

/** The packets in the queue of the slow link, over the whole recording. */
export function queueCurve({ flights, length_ns }: Recording, points: number): QueueCurve {
  const there = flights.filter(({ packet }) => packet.link === BOTTLENECK.link && packet.end === BOTTLENECK.end);
  const lengths = Array.from({ length: points }, (_, index) => {
    const now_ns = (length_ns * index) / (points - 1);
    return there.filter(
      ({ packet, delay_ns }) =>
        packet.queued_ns <= now_ns &&
        packet.dropped_ns === null &&
        (packet.sent_ns === null || packet.sent_ns - delay_ns > now_ns),
    ).length;
  });
  return { lengths, drops_ns: there.flatMap(({ packet }) => (packet.dropped_ns === null ? [] : [packet.dropped_ns])) };
}

import { expect, it } from "vitest";
import { BOTTLENECK, packetsAt, queueCurve, RECORDING } from "./recording";

const MS = 1e6;

it("the queue fills, drops, and has one packet for each that is drawn in it", () => {
  const points = 161;
  const { lengths, drops_ns } = queueCurve(RECORDING, points);
  expect(lengths[0]).toBe(0);
  expect(Math.max(...lengths)).toBeGreaterThan(10);
  expect(drops_ns.length).toBeGreaterThan(5);
  const index = 40;
  const queued = packetsAt(RECORDING, (RECORDING.length_ns * index) / (points - 1)).filter(
    ({ flight, spot }) =>
      spot.kind === "queued" && flight.packet.link === BOTTLENECK.link && flight.packet.end === BOTTLENECK.end,
  );
  expect(queued).toHaveLength(lengths[index]!);
});

it("a dropped packet falls and is gone", () => {
  const [first] = queueCurve(RECORDING, 2).drops_ns;
  const falling = (after_ms: number) =>
    packetsAt(RECORDING, first! + after_ms * MS).filter(({ spot }) => spot.kind === "falling").length;
  expect(falling(0)).toBeGreaterThan(0);
  expect(falling(10)).toBeGreaterThan(0);
  const numbers = new Set(packetsAt(RECORDING, first! + 200 * MS).map(({ flight }) => flight.packet.number));
  for (const { packet } of RECORDING.flights)
    if (packet.dropped_ns === first) expect(numbers).not.toContain(packet.number);
});

it("packets fly along both flows' links in both directions", () => {
  const spotted = packetsAt(RECORDING, RECORDING.length_ns / 2).filter(({ spot }) => spot.kind === "flying");
  expect(spotted.map(({ flight }) => flight.flow)).toEqual(expect.arrayContaining([0, 1]));
  expect(new Set(spotted.map(({ flight }) => flight.packet.end))).toEqual(new Set(["a", "b"]));
});

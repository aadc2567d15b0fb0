import { expect, it } from "vitest";
import type { TracedPacket } from "../protocol";
import { flowTitle, spotOf, type Flight } from "./flights";

const MS = 1e6;

function flight(packet: Partial<TracedPacket>, delay_ns = 10 * MS): Flight {
  return {
    packet: {
      number: 1,
      link: "l",
      end: "a",
      bytes: 100,
      queued_ns: 0,
      sent_ns: null,
      received_ns: null,
      dropped_ns: null,
      reason: "",
      flow: "",
      protocol: "",
      info: "",
      is_data: true,
      ...packet,
    },
    delay_ns,
    endedAt_ms: null,
  };
}

it("a packet flies for as long as its link delays it", () => {
  const flying = flight({});
  expect(spotOf(flying, 5 * MS, 0, 0.001)).toEqual({ kind: "flying", part: 0.5 });
  expect(spotOf(flying, 20 * MS, 0, 0.001)).toEqual({ kind: "flying", part: 0.96 });
  const arrived = flight({ sent_ns: 10 * MS, received_ns: 10 * MS });
  expect(spotOf(arrived, 10 * MS, 0, 0.001)).toEqual({ kind: "gone" });
});

it("a packet that was sent and never arrives is not drawn for ever", () => {
  const lost = flight({ sent_ns: 12 * MS });
  expect(spotOf(lost, 13 * MS, 0, 0.001).kind).toBe("flying");
  expect(spotOf(lost, 22 * MS, 0, 0.001)).toEqual({ kind: "gone" });
});

it("a packet that waits for others stays in the queue", () => {
  const late = flight({ sent_ns: 30 * MS });
  expect(spotOf(late, 19 * MS, 0, 0.001)).toEqual({ kind: "queued" });
  expect(spotOf(late, 25 * MS, 0, 0.001)).toEqual({ kind: "flying", part: 0.5 });
});

it("a dropped packet falls off", () => {
  const dropped = { ...flight({ dropped_ns: 4 * MS }), endedAt_ms: 1000 };
  expect(spotOf(dropped, 4 * MS, 1450, 0.001)).toEqual({ kind: "falling", part: 0.5 });
  expect(spotOf(dropped, 4 * MS, 2000, 0.001)).toEqual({ kind: "gone" });
});

it("a packet without delay can still be seen", () => {
  const fast = flight({ sent_ns: 0, received_ns: 20 }, 0);
  expect(spotOf(fast, 0.175 * MS, 0, 0.001)).toEqual({ kind: "flying", part: 0.5 });
});

it("flows are named by hosts", () => {
  const names: Record<string, string> = { "10.0.0.1": "h1", "fd00::2": "h2" };
  expect(flowTitle("TCP 10.0.0.1:40000 10.0.0.9:5201", (it) => names[it])).toBe("TCP h1:40000 – 10.0.0.9:5201");
  expect(flowTitle("ICMPv6 fd00::2 fd00::3", (it) => names[it])).toBe("ICMPv6 h2 – fd00::3");
});

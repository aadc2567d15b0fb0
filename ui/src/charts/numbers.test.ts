import { expect, it } from "vitest";
import { numberRows } from "./numbers";

it("each quantity has a row with the value of each branch", () => {
  const one = { port: "s1-eth2", flow: "", unit: "B", means: [1000, 200], highest: [250_000, null] };
  const flow = {
    kind: "rtt" as const,
    port: "h1-eth0",
    flow: "a > b",
    unit: "s",
    means: [0.02, 0.01],
    highest: [0.2, 0.02],
  };
  const drops = { ...one, kind: "drops" as const, unit: "packets", means: [null, null], highest: [37, 0] };
  expect(numberRows([{ ...one, kind: "queue" }, drops, flow], () => "h1 → h2")).toEqual([
    { title: "queue s1-eth2, mean", values: ["1 kB", "200 B"] },
    { title: "queue s1-eth2, highest", values: ["250 kB", "–"] },
    { title: "drops s1-eth2", values: ["37 packets", "0 packets"] },
    { title: "RTT h1 → h2, mean", values: ["20 ms", "10 ms"] },
    { title: "RTT h1 → h2, highest", values: ["200 ms", "20 ms"] },
  ]);
});

import { expect, it } from "vitest";
import { Heartbeat } from "./heartbeat";

it("asks after five seconds of silence, and again only after an answer", () => {
  const heartbeat = new Heartbeat(0);
  heartbeat.hear(100);
  expect(heartbeat.check(4000)).toBe("fine");
  expect(heartbeat.check(5100)).toBe("ask");
  expect(heartbeat.check(6000)).toBe("fine");
  heartbeat.hear(6100);
  expect(heartbeat.check(7000)).toBe("fine");
  expect(heartbeat.check(11_200)).toBe("ask");
});

it("reports a lost connection within ten seconds and drops it soon after", () => {
  const heartbeat = new Heartbeat(0);
  heartbeat.hear(0);
  const verdicts = Array.from({ length: 20 }, (_, second) => heartbeat.check(second * 1000));
  expect(verdicts.indexOf("silent")).toBeLessThanOrEqual(10);
  expect(verdicts.indexOf("drop")).toBe(15);
});

it("an answer ends the silence", () => {
  const heartbeat = new Heartbeat(0);
  expect(heartbeat.check(6000)).toBe("silent");
  heartbeat.hear(6500);
  expect(heartbeat.check(7000)).toBe("fine");
});

it("does not take a page that slept for a lost connection", () => {
  const heartbeat = new Heartbeat(0);
  heartbeat.hear(0);
  expect(heartbeat.check(5000)).toBe("ask");
  // The answer came, but the timer runs first.
  expect(heartbeat.check(600_000)).toBe("silent");
  heartbeat.hear(600_001);
  expect(heartbeat.check(601_000)).toBe("fine");
});

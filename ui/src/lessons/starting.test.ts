import { expect, it, vi } from "vitest";

const sent: unknown[] = [];
vi.mock("../connection", () => ({
  CommandError: Error,
  send: (command: unknown) => Promise.resolve(sent.push(command) && []),
}));
vi.mock("../files/topologies", () => ({ askToSave: () => Promise.resolve(false) }));
vi.mock("../terminals/panes", () => ({ terminalTab: (id: string) => id }));
vi.mock("../terminals/tabs", () => ({ showTab: () => undefined }));
vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });

const { startUnit } = await import("./starting");
const { useLessonPlace } = await import("./place");

it("starts a unit with a start jitter only if the student has asked for one", async () => {
  await startUnit({ unit: "20", action: "start" });
  useLessonPlace.setState({ hasStartJitter: true });
  await startUnit({ unit: "20", action: "start_at", step: 21 });
  expect(sent).toEqual([
    { do: "lesson", unit: "20", action: "start" },
    { do: "lesson", unit: "20", action: "start_at", step: 21, start_jitter: "5ms" },
  ]);
});

import { beforeEach, expect, it, vi } from "vitest";

vi.mock("../connection", () => ({
  onPush: () => () => undefined,
  perform: vi.fn(),
  useConnection: { getState: () => ({ status: "lost" }), subscribe: () => undefined },
}));
vi.mock("../stores/view", () => ({ showDock: vi.fn() }));
vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => undefined, removeItem: () => undefined });

const { useDocument } = await import("../stores/document");
const { useTabs } = await import("./tabs");
const { add, chartTab, fileTab, NO_PANES, terminalTab } = await import("./panes");

const [shell, chart, pdf] = [terminalTab("t1"), chartTab("1"), fileTab("results/RTT.pdf")];
const opens = (opened: number) => useDocument.setState({ opened });
const shown = () => useTabs.getState().panes.flatMap(({ tabs }) => tabs);

beforeEach(() => {
  opens(0);
  useTabs.setState([shell, chart, pdf].reduce(add, NO_PANES));
});

it("files and charts close when another document is opened; the server closes terminals", () => {
  opens(1);
  opens(2);
  expect(shown()).toEqual([shell]);
});

it("files and charts stay after a reload, when the first document arrives", () => {
  opens(1);
  expect(shown()).toEqual([shell, chart, pdf]);
});

it("files and charts stay while the same document is edited", () => {
  opens(1);
  useTabs.setState([shell, chart, pdf].reduce(add, NO_PANES));
  useDocument.setState({ revision: 7 });
  expect(shown()).toEqual([shell, chart, pdf]);
});

/** The running network: phase, clock, ports, terminals, records and captures. */
import { create } from "zustand";
import { onPush, useConnection } from "../connection";
import { toast } from "./toasts";
import type { CapturesPush, NodeSetting, ClockPush, LivePort, RecordsPush, RunPush, TerminalsPush } from "../protocol";

interface Running {
  run: RunPush;
  clock: ClockPush;
  terminals: TerminalsPush["terminals"];
  records: RecordsPush;
  captures: CapturesPush["ports"];
  breakpoints: readonly string[];
  /** The settings made by commands in terminals. */
  settings: readonly NodeSetting[];
  /** Ports of the running network by link and end: "l1 a"; while an earlier instant is shown, as they
   *  were then. */
  ports: Readonly<Record<string, LivePort>>;
  linksDown: ReadonlySet<string>;
}

export const useRunning = create<Running>(() => ({
  run: {
    push: "run",
    phase: "stopped",
    error: null,
    progress: "",
    ports: [],
    links_down: [],
    is_stale: false,
    warnings: [],
  },
  clock: {
    push: "clock",
    now_ns: 0,
    speed: 0,
    pace: "real",
    wanted_speed: 1,
    runs_always: false,
    is_paused: false,
    is_moving: false,
    clock: "virtual",
    stalled: "",
  },
  terminals: [],
  records: { push: "records", records: [], recording: null },
  captures: [],
  breakpoints: [],
  settings: [],
  ports: {},
  linksDown: new Set(),
}));

let past: Pick<Running, "ports" | "linksDown"> | null = null;

/** Set ports and links to their state at an earlier instant, or with null to the current state. */
export function showPast(shown: Pick<Running, "ports" | "linksDown"> | null): void {
  past = shown;
  showRun(lastRun);
}

/** Ports of the last network that ran. */
let lastPorts: RunPush["ports"] = [];
let lastRun = useRunning.getState().run;

function showRun(pushed: RunPush): void {
  lastRun = pushed;
  if (pushed.ports.length > 0) lastPorts = pushed.ports;
  // Recordings of a network that has been stopped refer to its ports.
  const run = past !== null && pushed.ports.length === 0 ? { ...pushed, ports: lastPorts } : pushed;
  const ports = Object.fromEntries(run.ports.map((port) => [`${port.link} ${port.end}`, port]));
  useRunning.setState({
    run,
    ports: { ...ports, ...past?.ports },
    linksDown: past?.linksDown ?? new Set(run.links_down),
  });
}

onPush("run", showRun);
onPush("clock", (clock) => useRunning.setState({ clock }));
onPush("settings", ({ settings }) => useRunning.setState({ settings }));
onPush("terminals", ({ terminals }) => useRunning.setState({ terminals }));
onPush("records", (records) => useRunning.setState({ records }));
onPush("breakpoints", ({ breakpoints, reached }) => {
  const { breakpoints: before } = useRunning.getState();
  useRunning.setState({ breakpoints });
  if (reached !== "" && breakpoints.length < before.length) toast("info", `Paused: ${reached}`);
});
onPush("captures", ({ ports }) => useRunning.setState({ captures: ports }));

// The state of the network is unknown without the server; a new connection begins with all of it.
useConnection.subscribe(({ status }) => {
  if (status !== "lost" && status !== "refused" && status !== "signed out") return;
  useRunning.setState(({ run, clock }) => ({
    run: { ...run, phase: "stopped", progress: "" },
    clock: { ...clock, is_moving: false, speed: 0, stalled: "" },
  }));
});

export function isRunning(): boolean {
  return useRunning.getState().run.phase === "running";
}

/** Whether there is a network that stopping, or leaving the page, would end. */
export function hasNetwork(): boolean {
  return !["stopped", "failed"].includes(useRunning.getState().run.phase);
}

/** Whether the network runs; while it is starting, wait until that is decided. */
export function hasStarted(): Promise<boolean> {
  const { phase } = useRunning.getState().run;
  if (phase !== "starting") return Promise.resolve(phase === "running");
  return new Promise((done) => {
    const end = useRunning.subscribe(({ run: { phase: now } }) => {
      if (now === "starting") return;
      end();
      done(now === "running");
    });
  });
}

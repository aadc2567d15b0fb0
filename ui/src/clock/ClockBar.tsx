import "./clock.css";
import { StepToEvent } from "./StepToEvent";
import { useState, type FormEvent } from "react";
import { perform } from "../connection";
import { Icon } from "../editor/icons";
import type { ClockKind, ClockPush, Pace } from "../protocol";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { clockText, SPEEDS, speedText, stopFor, stopTitle } from "./time";
import { useSlowness } from "./slowness";

/** The network's clock: time, speed or why it stands still, and its controls. */
export function ClockBar() {
  const phase = useRunning((state) => state.run.phase);
  return (
    <div className="clock-bar" role="group" aria-label="Clock">
      {phase === "running" || phase === "stopping" ? <LiveClock /> : <ClockSettings />}
    </div>
  );
}

/** Before Run: which clock to use. */
function ClockSettings() {
  const { clock, pace } = useDocument((state) => state.preferences);
  const choose = (chosen: ClockKind) =>
    void perform({ do: "edit", preferences: { clock: chosen }, label: `Set clock to ${chosen}` });
  return (
    <>
      <label className="clock-choice">
        Clock
        <select value={clock} onChange={(event) => choose(event.target.value as ClockKind)}>
          <option value="virtual">virtual</option>
          <option value="real">real</option>
        </select>
      </label>
      {clock === "virtual" && <PaceChoice pace={pace} />}
    </>
  );
}

/** Whether time passes only while commands run, or always. */
function RunsChoice({ always }: { always: boolean }) {
  return (
    <label className="clock-choice">
      <span className="clock-word">Time passes</span>
      <select
        aria-label="Time passes"
        className="clock-runs"
        value={always ? "always" : "commands"}
        title="Whether time stands still while every shell waits for a line and has no background job, or always passes, for example for routing daemons."
        onChange={(event) => void perform({ do: "let_run", always: event.target.value === "always" })}
      >
        <option value="commands">while a command runs</option>
        <option value="always">always</option>
      </select>
    </label>
  );
}

/** The speed slider, from slow motion to as fast as possible. */
function SpeedSlider({ pace, wanted }: { pace: Pace; wanted: number }) {
  const at = stopFor(pace, wanted);
  const title = stopTitle(at);
  const choose = (stop: number) => {
    const speed = SPEEDS[stop];
    void perform(speed === undefined ? { do: "pace", pace: "fast" } : { do: "pace", pace: "real", speed });
  };
  return (
    <label className="clock-choice" title={`Speed limit: ${title}. Left is slow motion; the right end has no limit.`}>
      <input
        type="range"
        aria-label="Speed"
        aria-valuetext={title}
        className="clock-speed"
        min={0}
        max={SPEEDS.length}
        step={1}
        value={at}
        onChange={(event) => choose(Number(event.target.value))}
      />
      <span className="clock-speed-text">{title}</span>
    </label>
  );
}

function PaceChoice({ pace }: { pace: Pace }) {
  const choose = (chosen: Pace) =>
    void perform({
      do: "edit",
      preferences: { pace: chosen },
      label: `Set pace to ${chosen === "real" ? "real time" : "as fast as possible"}`,
    });
  return (
    <label className="clock-choice">
      Pace
      <select
        value={pace}
        title="“real time” follows the real clock; “as fast as possible” does not wait for it"
        onChange={(event) => choose(event.target.value as Pace)}
      >
        <option value="real">real time</option>
        <option value="fast">as fast as possible</option>
      </select>
    </label>
  );
}

function LiveClock() {
  const clock = useRunning((state) => state.clock);
  const slowness = useSlowness();
  const isVirtual = clock.clock === "virtual";
  return (
    <>
      <output className={`clock-face clock-${state(clock)}`} aria-label="Network time">
        <span className="clock-time">{clockText(clock.now_ns)}</span>
        <span className="clock-mood" title={clock.stalled || explanation(clock)}>
          {statusText(clock)}
        </span>
        {slowness !== "" && (
          <span
            className="clock-slow"
            title="Time passes slowly because so many packets take long to compute. To change that, set a rate or a line rate for this link."
          >
            {slowness}
          </span>
        )}
      </output>
      {isVirtual && (
        <>
          <RunsChoice always={clock.runs_always} />
          <SpeedSlider pace={clock.pace} wanted={clock.wanted_speed} />
          <button
            type="button"
            className="icon-button clock-pause"
            aria-pressed={clock.is_paused}
            aria-label={clock.is_paused ? "Resume" : "Pause"}
            title={clock.is_paused ? "Resume virtual time" : "Pause virtual time"}
            onClick={() => void perform({ do: "pause", paused: !clock.is_paused })}
          >
            <Icon name={clock.is_paused ? "run" : "pause"} size={16} />
          </button>
          <Step />
          <StepToEvent />
        </>
      )}
    </>
  );
}

function state(clock: ClockPush): "stalled" | "paused" | "still" | "moving" {
  if (clock.stalled) return "stalled";
  if (clock.is_paused && !clock.is_moving) return "paused";
  return clock.is_moving ? "moving" : "still";
}

function statusText(clock: ClockPush): string {
  switch (state(clock)) {
    case "stalled":
      return "not advancing";
    case "paused":
      return "paused";
    case "still":
      return "idle: no command runs";
    case "moving":
      return speedText(clock.speed);
  }
}

function explanation(clock: ClockPush): string {
  switch (state(clock)) {
    case "paused":
      return "Press “Resume” to let time pass, or “Step” to let some of it pass.";
    case "still":
      return (
        "Time stands still because no command is running in a terminal. It continues with the next " +
        "command. To let it pass anyway, choose “always” beside “Time passes”."
      );
    default:
      return "Network seconds per real second.";
  }
}

const STEPS = ["1ms", "10ms", "100ms", "1s", "10s"];

/** Let some time pass, then pause. */
function Step() {
  const [duration, setDuration] = useState("100ms");
  const step = (event: FormEvent) => {
    event.preventDefault();
    void perform({ do: "step", duration });
  };
  return (
    <form className="clock-step" onSubmit={step}>
      <button type="submit" className="icon-button" title={`Let ${duration} of virtual time pass, then pause`}>
        Step
      </button>
      <input
        aria-label="Step duration"
        list="clock-steps"
        value={duration}
        size={6}
        spellCheck={false}
        onChange={(event) => setDuration(event.target.value)}
      />
      <datalist id="clock-steps">
        {STEPS.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </form>
  );
}

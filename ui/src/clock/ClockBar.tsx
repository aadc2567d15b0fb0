import "./clock.css";
import { useState, type FormEvent } from "react";
import { perform } from "../connection";
import type { ClockKind, ClockPush, Pace } from "../protocol";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { clockText, speedText } from "./time";

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
    void perform({ do: "edit", preferences: { clock: chosen }, label: `Clock: ${chosen}` });
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

function PaceChoice({ pace }: { pace: Pace }) {
  const isRunning = useRunning((state) => state.run.phase === "running");
  const choose = (chosen: Pace) =>
    void (isRunning
      ? perform({ do: "pace", pace: chosen })
      : perform({ do: "edit", preferences: { pace: chosen }, label: `Pace: ${chosen}` }));
  return (
    <label className="clock-choice">
      Pace
      <select
        value={pace}
        title="“real” follows the real clock; “as fast as possible” runs as fast as it can be computed"
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
  const isVirtual = clock.clock === "virtual";
  return (
    <>
      <output className={`clock-face clock-${state(clock)}`} aria-label="Network time">
        <span className="clock-time">{clockText(clock.now_ns)}</span>
        <span className="clock-mood" title={clock.stalled || explanation(clock)}>
          {statusText(clock)}
        </span>
      </output>
      {isVirtual && (
        <>
          <PaceChoice pace={clock.pace} />
          <button
            type="button"
            className="icon-button clock-pause"
            aria-pressed={clock.is_paused}
            title={clock.is_paused ? "Resume virtual time" : "Pause virtual time"}
            onClick={() => void perform({ do: "pause", paused: !clock.is_paused })}
          >
            {clock.is_paused ? "Resume" : "Pause"}
          </button>
          <Step />
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
      return "blocked by a program";
    case "paused":
      return "paused";
    case "still":
      return "idle";
    case "moving":
      return speedText(clock.speed);
  }
}

function explanation(clock: ClockPush): string {
  switch (state(clock)) {
    case "paused":
      return "Press “Resume” to let time pass, or “Step” to let some of it pass.";
    case "still":
      return "No program is busy, so time stands still. It continues with the next command.";
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

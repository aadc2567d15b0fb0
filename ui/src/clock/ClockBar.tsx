import "./clock.css";
import { useState, type FormEvent } from "react";
import { perform } from "../connection";
import type { ClockKind, ClockPush, Pace } from "../protocol";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { clockText, speedText } from "./time";

/** The clock: the network's time, how fast it goes or why it stands still, and what one can do to it. */
export function ClockBar() {
  const phase = useRunning((state) => state.run.phase);
  return (
    <div className="clock-bar" role="group" aria-label="Clock">
      {phase === "running" || phase === "stopping" ? <Going /> : <Chosen />}
    </div>
  );
}

/** Before Run: which clock it will be. */
function Chosen() {
  const { clock, pace } = useDocument((state) => state.preferences);
  const choose = (chosen: ClockKind) =>
    void perform({ do: "edit", preferences: { clock: chosen }, label: `Clock: ${chosen}` });
  return (
    <>
      <label className="clock-choice">
        Clock
        <select value={clock} onChange={(event) => choose(event.target.value as ClockKind)}>
          <option value="virtual">virtual: the network's own</option>
          <option value="real">real: this computer's</option>
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
        title="Never faster than the real clock, or as fast as it can be computed"
        onChange={(event) => choose(event.target.value as Pace)}
      >
        <option value="real">real</option>
        <option value="fast">as fast as possible</option>
      </select>
    </label>
  );
}

function Going() {
  const clock = useRunning((state) => state.clock);
  const isVirtual = clock.clock === "virtual";
  return (
    <>
      <output className={`clock-face clock-${mood(clock)}`} aria-label="Time of the network">
        <span className="clock-time">{clockText(clock.now_ns)}</span>
        <span className="clock-mood" title={clock.stalled || explanation(clock)}>
          {told(clock)}
        </span>
      </output>
      {isVirtual && (
        <>
          <PaceChoice pace={clock.pace} />
          <button
            type="button"
            className="icon-button clock-pause"
            aria-pressed={clock.is_paused}
            title={clock.is_paused ? "Let time pass again" : "Let time stand still"}
            onClick={() => void perform({ do: "pause", paused: !clock.is_paused })}
          >
            {clock.is_paused ? "Go on" : "Pause"}
          </button>
          <Step />
        </>
      )}
    </>
  );
}

function mood(clock: ClockPush): "stalled" | "paused" | "still" | "moving" {
  if (clock.stalled) return "stalled";
  if (clock.is_paused && !clock.is_moving) return "paused";
  return clock.is_moving ? "moving" : "still";
}

function told(clock: ClockPush): string {
  switch (mood(clock)) {
    case "stalled":
      return "held up by a program";
    case "paused":
      return "paused";
    case "still":
      return "stands still";
    case "moving":
      return speedText(clock.speed);
  }
}

function explanation(clock: ClockPush): string {
  switch (mood(clock)) {
    case "paused":
      return "Time passes again with “Go on”, or by a step.";
    case "still":
      return "No command runs, so no time passes. It goes on with the next command.";
    default:
      return "Seconds of the network per second of ours.";
  }
}

const STEPS = ["1ms", "10ms", "100ms", "1s", "10s"];

/** Lets some time pass, and pauses. */
function Step() {
  const [duration, setDuration] = useState("100ms");
  const step = (event: FormEvent) => {
    event.preventDefault();
    void perform({ do: "step", duration });
  };
  return (
    <form className="clock-step" onSubmit={step}>
      <button type="submit" className="icon-button" title={`Let ${duration} pass, then pause`}>
        Step
      </button>
      <input
        aria-label="Duration of a step"
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

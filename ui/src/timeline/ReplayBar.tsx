import { clockText } from "../clock/time";
import { perform } from "../connection";
import type { BranchPlayback, BranchReplay } from "../protocol";
import { branchOf } from "../stores/branches";
import { useRunning } from "../stores/running";
import { costText } from "./Actions";

/** A running replay: its progress, and a button to cancel it. */
export function ReplayBar({ replay }: { replay: BranchReplay }) {
  const { at_ns, now_ns, passed_real_s, expected_real_s } = replay;
  const left_s = Math.max(0, expected_real_s - passed_real_s);
  const title = `Replaying up to ${clockText(at_ns)}`;
  return (
    <div className="timeline-replay">
      <span>{title}</span>
      <progress
        aria-label={title}
        max={Math.max(expected_real_s, 0.1)}
        value={Math.min(passed_real_s, expected_real_s)}
      />
      <span className="timeline-left">
        {now_ns > 0 ? `${clockText(now_ns)}, ` : "starting a machine, "}
        {left_s > 0.5 ? `about ${costText(left_s)} left` : "almost done"}
      </span>
      <button type="button" className="button" onClick={() => void perform({ do: "cancel_continue" })}>
        Cancel
      </button>
    </div>
  );
}

/** A branch that repeats another one with a change: how far it is, and a button to end it there. */
export function PlaybackBar({ playback }: { playback: BranchPlayback }) {
  const now_ns = useRunning((state) => state.clock.now_ns);
  const { branch, source, until_ns } = playback;
  const title = `Repeating ${branchOf(source)?.name ?? "the session"} with ${branchOf(branch)?.name ?? "the change"}`;
  return (
    <div className="timeline-replay">
      <span>{title}</span>
      <progress aria-label={title} max={until_ns} value={Math.min(now_ns, until_ns)} />
      <span className="timeline-left">
        {now_ns > until_ns
          ? `${clockText(now_ns)}: slower commands are still running`
          : `${clockText(now_ns)} of ${clockText(until_ns)}`}
      </span>
      <button type="button" className="button" onClick={() => void perform({ do: "cancel_continue" })}>
        Cancel
      </button>
    </div>
  );
}

import { useEffect, useState } from "react";
import { clockText } from "../clock/time";
import { CommandError, send, showError, succeeds } from "../connection";
import { Icon } from "../editor/icons";
import type { BranchInfo } from "../protocol";
import { showBranch, showInstant, showNow, useBranches } from "../stores/branches";
import { toast } from "../stores/toasts";
import { neighbour } from "./layout";
import { TextDialog } from "./TextDialog";

/** The actions at the shown instant. */
export function Actions({ branch, end_ns }: { branch: BranchInfo; end_ns: number }) {
  const shown = useBranches((state) => state.shown);
  const live = useBranches((state) => state.live);
  const refusal = useBranches((state) => state.refusal);
  const events = useBranches((state) => state.events[branch.id]) ?? [];
  const [isMarking, setIsMarking] = useState(false);
  const at_ns = shown?.at_ns ?? end_ns;
  const cost = useCost(refusal === "" ? shown : null);
  const isLive = shown === null && live !== null;

  const step = (way: 1 | -1) => {
    const to = neighbour(events, at_ns, way);
    if (to !== undefined) showInstant(branch.id, to.at_ns);
    else if (way > 0) showBranch(branch.id);
  };
  const mark = (text: string) => succeeds({ do: "marker", text, branch: branch.id, ...(isLive ? {} : { at_ns }) });
  return (
    <>
      <div className="timeline-actions" role="toolbar" aria-label="Instant">
        <button
          type="button"
          className="icon-button"
          aria-label="Previous event"
          title="Previous event"
          onClick={() => step(-1)}
        >
          ◂
        </button>
        <output className="timeline-instant" aria-label="Shown instant">
          {isLive ? "now" : clockText(at_ns)}
        </output>
        <button
          type="button"
          className="icon-button"
          aria-label="Next event"
          title="Next event"
          disabled={isLive}
          onClick={() => step(1)}
        >
          ▸
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="Mark…"
          title="Add a marker at this instant"
          onClick={() => setIsMarking(true)}
        >
          <Icon name="marker" size={15} />
        </button>
        {live !== null && (
          <button
            type="button"
            className="icon-button"
            disabled={shown === null}
            aria-label="Back to now"
            title="Back to now: show the network as it is"
            onClick={showNow}
          >
            <Icon name="now" size={15} />
          </button>
        )}
        {refusal === "" && (
          <button
            type="button"
            className="button timeline-continue"
            disabled={isLive}
            title={
              isLive
                ? "First drag the handle back to an earlier instant"
                : "Replay the session up to this instant in a new machine, and continue from there as a new branch"
            }
            onClick={() => void goOn(branch.id, at_ns)}
          >
            Continue from here
            {cost !== null && <small> about {costText(cost)}</small>}
          </button>
        )}
      </div>
      {refusal !== "" && (
        <p className="timeline-refusal" role="note" title={refusal}>
          {refusal}.
        </p>
      )}
      {isMarking && (
        <TextDialog
          title={`Mark ${isLive ? "this instant" : clockText(at_ns)}`}
          label="Text"
          onClose={() => setIsMarking(false)}
          onEnter={mark}
        />
      )}
    </>
  );
}

async function goOn(branch: string, at_ns: number): Promise<void> {
  try {
    await send({ do: "continue", branch, at_ns });
    showNow();
    toast("good", `Continued from ${clockText(at_ns)}`, "time is paused: change something, then press Resume");
  } catch (error) {
    if (error instanceof CommandError && error.code === "cancelled") toast("info", "The replay was cancelled");
    else showError(error);
  }
}

const ASK_MS = 250;

/** How many seconds a replay up to the shown instant is expected to take; null if that is unknown. */
function useCost(shown: { branch: string; at_ns: number } | null): number | null {
  const [cost, setCost] = useState<number | null>(null);
  useEffect(() => {
    setCost(null);
    if (shown === null) return undefined;
    let isOver = false;
    const ask = () =>
      void send({ do: "cost", branch: shown.branch, at_ns: shown.at_ns }).then(
        ({ real_s }) => isOver || setCost(real_s),
        () => undefined, // the branch was removed meanwhile
      );
    const timer = window.setTimeout(ask, ASK_MS);
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [shown]);
  return cost;
}

/** "3 s", "2 min" */
export function costText(real_s: number): string {
  return real_s < 90 ? `${Math.max(1, Math.round(real_s))} s` : `${Math.round(real_s / 60)} min`;
}

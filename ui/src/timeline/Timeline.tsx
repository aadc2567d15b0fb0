import "./timeline.css";
import { branchInView, endOf, useBranches } from "../stores/branches";
import { useRunning } from "../stores/running";
import { useView } from "../stores/view";
import { Icon } from "../editor/icons";
import { Actions } from "./Actions";
import { BranchChips } from "./BranchChips";
import { PlaybackBar, ReplayBar } from "./ReplayBar";
import { Track } from "./Track";

/** The session as a line under the canvas: actions and events along virtual time. It is a strip of one row
 *  that opens, because the canvas and the terminals need the space. */
export function Timeline() {
  const isWanted = useView((state) => state.showsTimeline);
  const isOpen = useView((state) => state.isTimelineOpen);
  const branches = useBranches((state) => state.branches);
  const live = useBranches((state) => state.live);
  const inView = useBranches(branchInView);
  const isPast = useBranches((state) => state.shown !== null);
  const replay = useBranches((state) => state.replay);
  const playback = useBranches((state) => state.playback);
  const phase = useRunning((state) => state.run.phase);
  const now_ns = useRunning((state) => state.clock.now_ns);
  const branch = branches.find(({ id }) => id === inView);
  const ends = branches.map((one) => endOf(one, live, now_ns));
  const end_ns = Math.max(...ends, 0);
  if (!isWanted || branch === undefined || phase === "starting" || (live === null && end_ns === 0)) return null;
  return (
    <section className={`timeline ${isPast ? "timeline-past" : ""}`} aria-label="Timeline">
      <div className="timeline-tools">
        <button
          type="button"
          className="icon-button"
          aria-expanded={isOpen}
          aria-label="Details of the timeline"
          title={isOpen ? "Show the timeline as a strip" : "Open the timeline: commands, branches and times"}
          onClick={() => useView.setState({ isTimelineOpen: !isOpen })}
        >
          <Icon name={isOpen ? "down" : "right"} size={14} />
        </button>
        <BranchChips inView={branch.id} />
        {!isOpen && <Track branch={branch} branches={branches} ends={ends} isStrip />}
        {replay !== null ? (
          <ReplayBar replay={replay} />
        ) : playback !== null ? (
          <PlaybackBar playback={playback} />
        ) : (
          <Actions branch={branch} end_ns={endOf(branch, live, now_ns)} />
        )}
      </div>
      {isOpen && <Track branch={branch} branches={branches} ends={ends} />}
    </section>
  );
}

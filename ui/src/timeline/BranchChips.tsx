import { useState } from "react";
import { clockText } from "../clock/time";
import { perform, succeeds } from "../connection";
import { popUp, type MenuEntry } from "../layout/Menu";
import type { BranchInfo } from "../protocol";
import { compareWith, showBranch, useBranches } from "../stores/branches";
import { branchTitle } from "./layout";
import { TextDialog } from "./TextDialog";

/** The branches: which one is shown, which one runs, and the actions on each. */
export function BranchChips({ inView }: { inView: string }) {
  const branches = useBranches((state) => state.branches);
  const [renamed, setRenamed] = useState<BranchInfo | null>(null);
  return (
    <div className="branch-chips" role="group" aria-label="Branches">
      {branches.map((branch) => (
        <Chip
          key={branch.id}
          branch={branch}
          branches={branches}
          isInView={branch.id === inView}
          onRename={() => setRenamed(branch)}
        />
      ))}
      {renamed !== null && (
        <TextDialog
          title={`Rename ${renamed.name}`}
          label="Name"
          initial={renamed.name}
          onClose={() => setRenamed(null)}
          onEnter={(name) => succeeds({ do: "rename_branch", branch: renamed.id, name })}
        />
      )}
    </div>
  );
}

interface ChipProps {
  branch: BranchInfo;
  branches: readonly BranchInfo[];
  isInView: boolean;
  onRename: () => void;
}

function Chip({ branch, branches, isInView, onRename }: ChipProps) {
  const isLive = useBranches((state) => state.live === branch.id);
  const isCompared = useBranches((state) => state.compared === branch.id);
  const entries = (): readonly MenuEntry[] => [
    { title: "Show", isDisabled: isInView, run: () => showBranch(branch.id) },
    {
      title: "Compare in charts",
      isChecked: isCompared,
      isDisabled: isInView && !isCompared,
      run: () => compareWith(isCompared ? null : branch.id),
    },
    "line",
    { title: "Rename…", run: onRename },
    {
      title: "Remove",
      isDangerous: true,
      isDisabled: isLive,
      run: () => void perform({ do: "drop_branch", branch: branch.id }),
    },
  ];
  const open = (element: HTMLElement) => {
    const { left, top } = element.getBoundingClientRect();
    popUp(`Branch ${branch.name}`, entries(), left, top);
  };
  return (
    <span className={`branch-chip ${isInView ? "is-in-view" : ""} ${isCompared ? "is-compared" : ""}`}>
      <button
        type="button"
        className="branch-name"
        aria-pressed={isInView}
        title={branchTitle(branch, branches, clockText)}
        onClick={() => showBranch(branch.id)}
        onContextMenu={(event) => {
          event.preventDefault();
          open(event.currentTarget);
        }}
      >
        <span className={`branch-mark ${isLive ? "is-live" : ""}`} aria-hidden="true" />
        {branch.name}
        {isLive && <small> runs</small>}
        {branch.parent !== null && !isLive && <small> from {clockText(branch.left_ns)}</small>}
      </button>
      <button
        type="button"
        className="branch-more"
        aria-haspopup="menu"
        aria-label={`Actions for ${branch.name}`}
        title="Compare, rename, remove"
        onClick={(event) => open(event.currentTarget)}
      >
        ⋯
      </button>
    </span>
  );
}

/** "What if ...?": repeat the session with another value of a link, and compare both runs. */
import { create } from "zustand";
import { CommandError, send, showError, type CommandOf } from "../connection";
import { showDialog } from "../layout/dialogs";
import { openGraph } from "../packets/capture";
import type { RepeatedBranch } from "../protocol";
import { branchOf, compareWith, showNow, useBranches } from "../stores/branches";
import { toast } from "../stores/toasts";
import { showDock } from "../stores/view";

/** The link that the dialog asks about. */
export const useWhatIf = create<{ link: string }>(() => ({ link: "" }));

export function askWhatIf(link: string): void {
  useWhatIf.setState({ link });
  showDialog("what-if");
}

/** Whether there is a session that can be repeated. */
export function canAsk(): boolean {
  const { branches, refusal, replay, playback } = useBranches.getState();
  return branches.length > 0 && refusal === "" && replay === null && playback === null;
}

type Question = Omit<CommandOf<"what_if">, "do">;

/** Begin; the charts show both runs from then on. */
export async function begin(command: Question): Promise<RepeatedBranch | null> {
  try {
    const made = await send({ ...command, do: "what_if" });
    showNow();
    compareWith(command.capture === undefined ? command.branch : null);
    return made;
  } catch (error) {
    if (error instanceof CommandError && error.code === "cancelled") toast("info", "The replay was cancelled");
    else showError(error);
    return null;
  }
}

export async function repeatWith(command: Question): Promise<void> {
  if ((await begin(command)) !== null) showDock("charts");
}

/** Repeat a whole branch and capture the packets at both ends of a flow; draw its time sequence. */
export async function capturedAgain(branch: string, ports: readonly [string, string], flow: string): Promise<void> {
  const made = await begin({ branch, at_ns: 0, capture: [...ports] });
  if (made !== null) openGraph(made.capture, flow);
}

useBranches.subscribe(({ playback, live }, before) => {
  const over = before.playback;
  if (over === null || playback !== null || live !== over.branch) return;
  const [made, source] = [branchOf(over.branch), branchOf(over.source)];
  if (made !== undefined && useBranches.getState().compared === over.source)
    toast("good", `${made.name}: repeated`, `the charts show it beside ${source?.name ?? "the original"}`);
});

/** Show messages of the server, and why a network has failed, as toasts. */
import { create } from "zustand";
import { onPush } from "../connection";
import type { DraftPush, RunPush } from "../protocol";
import { toast } from "./toasts";

/** Unsaved work of an earlier server; null if there is none. */
export const useDraft = create<{ draft: DraftPush | null }>(() => ({ draft: null }));

onPush("draft", (draft) => useDraft.setState({ draft: draft.name === null ? null : draft }));
onPush("message", ({ level, what, hint }) => toast(level, what, hint));

let phase: RunPush["phase"] = "stopped";
onPush("run", (run) => {
  const isNews = run.phase !== phase;
  phase = run.phase;
  if (isNews && run.error !== null) toast("error", run.error.what, run.error.hint);
});

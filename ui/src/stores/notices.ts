/** What the server says without being asked becomes a message: news, and why a network has failed. */
import { create } from "zustand";
import { onPush } from "../connection";
import type { DraftPush, RunPush } from "../protocol";
import { toast } from "./toasts";

/** What a server before this one had not saved; null if there is nothing. */
export const useDraft = create<{ draft: DraftPush | null }>(() => ({ draft: null }));

onPush("draft", (draft) => useDraft.setState({ draft: draft.name === null ? null : draft }));
onPush("message", ({ level, what, hint }) => toast(level, what, hint));

let phase: RunPush["phase"] = "stopped";
onPush("run", (run) => {
  const isNews = run.phase !== phase;
  phase = run.phase;
  if (isNews && run.error !== null) toast("error", run.error.what, run.error.hint);
});

/** Opening the network of a unit. */
import { CommandError, perform, send, showError } from "../connection";
import { askToSave } from "../files/topologies";
import { terminalTab } from "../terminals/panes";
import { showTab } from "../terminals/tabs";
import { useLessonPlace } from "./place";

interface Start {
  unit: string;
  action: "start" | "start_at";
  step?: number;
  start_jitter?: string;
}

/** How far apart commands start that are started together, if the student wants a start jitter. */
const START_JITTER = "5ms";

/** Open a unit's network; ask first if there are unsaved changes. Terminals that a later start opens are shown. */
export async function startUnit(start: Start): Promise<void> {
  const { hasStartJitter } = useLessonPlace.getState();
  const opened = await started(hasStartJitter ? { ...start, start_jitter: START_JITTER } : start);
  if (opened === null) return;
  useLessonPlace.setState({ startedAt: start.step ?? null });
  for (const terminal of opened) showTab(terminalTab(terminal));
}

async function started(start: Start): Promise<readonly string[] | null> {
  try {
    return (await send({ do: "lesson", ...start })) as readonly string[] | null;
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== "not saved") showError(error);
    else if (await askToSave()) {
      return (await perform({ do: "lesson", ...start, discard: true })) as readonly string[] | null;
    }
    return null;
  }
}

/** Opening the network of a unit. */
import { CommandError, perform, send, showError } from "../connection";
import { askToSave } from "../files/topologies";

interface Start {
  unit: string;
  action: "start" | "start_at";
  step?: number;
}

/** Open a unit's network; ask first if there are unsaved changes. */
export async function startUnit(start: Start): Promise<void> {
  try {
    await send({ do: "lesson", ...start });
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== "not saved") return showError(error);
    if (!(await askToSave())) return;
    await perform({ do: "lesson", ...start, discard: true });
  }
}

/** Have the server perform a step of a lesson on the canvas. */

import { CommandError, send, showError } from "../connection";
import { confirmReplacing } from "../files/folder";
import { askToSave } from "../files/topologies";
import { terminalTab } from "../terminals/panes";
import { showTab } from "../terminals/tabs";

interface Permissions {
  discard?: boolean;
  overwrite?: boolean;
}

/** Perform a step; ask first if it would lose something. Returns whether it was performed. */
export async function performStep(unit: string, step: number, permissions: Permissions = {}): Promise<boolean> {
  try {
    const reply = await send({ do: "lesson", unit, action: "perform", step, ...permissions });
    for (const terminal of reply as readonly string[]) showTab(terminalTab(terminal));
    return true;
  } catch (error) {
    if (error instanceof CommandError && error.code === "not saved") {
      return (await askToSave()) && performStep(unit, step, { ...permissions, discard: true });
    }
    if (error instanceof CommandError && error.code === "exists") {
      const isConfirmed = await confirmReplacing("Replace the file?", `${error.what}.`);
      return isConfirmed && performStep(unit, step, { ...permissions, overwrite: true });
    }
    showError(error);
    return false;
  }
}

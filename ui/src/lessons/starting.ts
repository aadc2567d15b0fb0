/** Opening the network of a unit. */
import { CommandError, perform, send, showError } from "../connection";
import { ask } from "../layout/dialogs";

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
    const answer = await ask({
      title: "Open the lesson's network?",
      text: `${error.what}. Opening the lesson discards them.`,
      answers: [
        { id: "open", title: "Open", isDangerous: true },
        { id: "cancel", title: "Cancel" },
      ],
    });
    if (answer !== "open") return;
    await perform({ do: "lesson", ...start, discard: true });
  }
}

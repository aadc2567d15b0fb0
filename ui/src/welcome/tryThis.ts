/** Open the network of the recorded run, run it, and type its commands. */
import { openText } from "../files/topologies";
import { run } from "../layout/TopBar";
import { typeFor } from "../lessons/typing";
import { hasStarted } from "../stores/running";
import recorded from "./recording.json";

export async function tryThis(): Promise<void> {
  if (!(await openText("two flows.yaml", recorded.network))) return;
  await run();
  if (!(await hasStarted())) return;
  for (const [place, line] of recorded.commands) if (!(await typeFor(place!, line!))) return;
}

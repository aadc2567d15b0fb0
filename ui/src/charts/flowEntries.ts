/** The menu from which the time-sequence graph of a flow is opened. */
import type { MenuEntry } from "../layout/Menu";
import { captureFlow } from "../packets/capture";
import { branchInView, useBranches } from "../stores/branches";
import { isRunning, useRunning } from "../stores/running";
import { canAsk, capturedAgain } from "../whatif/whatIf";
import { portsOfFlow } from "./paths";

const MAX_FLOWS = 12;

/** For each flow: from now on, or of the whole run, which is repeated for it. */
export function flowEntries(flows: readonly { flow: string; title: string }[]): readonly MenuEntry[] {
  if (flows.length === 0) return [{ title: "No TCP flow passes here", isDisabled: true }];
  return flows.slice(0, MAX_FLOWS).map(({ flow, title }) => {
    const ports = portsOfFlow(flow, useRunning.getState().run.ports);
    return {
      title,
      isDisabled: ports === null,
      items: [
        {
          title: "From now on",
          isDisabled: !isRunning(),
          run: () => ports !== null && void captureFlow(ports, flow),
        },
        {
          title: "Of the whole run (repeats it)",
          isDisabled: !canAsk(),
          run: () => {
            const branch = branchInView(useBranches.getState());
            if (ports !== null && branch !== null) void capturedAgain(branch, ports, flow);
          },
        },
      ],
    };
  });
}

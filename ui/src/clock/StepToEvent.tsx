import { useState, type FormEvent } from "react";
import { perform } from "../connection";
import { popUp, type MenuEntry } from "../layout/Menu";
import { Dialog } from "../layout/Dialog";
import { useRunning } from "../stores/running";
import { useSelection } from "../stores/selection";
import { toast } from "../stores/toasts";
import type { StepToCommand } from "../protocol";

/** Step to the next event, and breakpoints: a menu beside the step button. */
export function StepToEvent() {
  const [isAsking, setIsAsking] = useState(false);
  const breakpoints = useRunning((state) => state.breakpoints);
  const open = (button: HTMLElement) => {
    const frame = button.getBoundingClientRect();
    popUp(
      "Step to",
      entries(breakpoints, () => setIsAsking(true)),
      frame.left,
      frame.bottom,
    );
  };
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-haspopup="menu"
        title="Step to the next event, and breakpoints"
        onClick={(event) => open(event.currentTarget)}
      >
        Step to… {breakpoints.length > 0 && <span className="breakpoint-count">{breakpoints.length}</span>}
      </button>
      {isAsking && <BreakpointDialog onClose={() => setIsAsking(false)} />}
    </>
  );
}

async function stepTo(event: StepToCommand["event"], port = ""): Promise<void> {
  const step = await perform({ do: "step_to", event, port });
  if (step !== null) toast("info", step.what);
}

function entries(breakpoints: readonly string[], ask: () => void): readonly MenuEntry[] {
  const { ids } = useSelection.getState();
  const { run } = useRunning.getState();
  const ports = run.ports.filter((port) => ids.has(port.link) || ids.has(port.node)).slice(0, 8);
  return [
    ...ports.map(({ name }) => ({ title: `Next packet at ${name}`, run: () => void stepTo("packet", name) })),
    ...(ports.length === 0 ? [{ title: "Next packet", run: () => void stepTo("packet") }] : []),
    { title: "Next drop", run: () => void stepTo("drop") },
    { title: "Next acknowledgement", run: () => void stepTo("ack") },
    { title: "Next kernel timer", run: () => void stepTo("timer") },
    "line",
    { title: "Add a breakpoint…", run: ask },
    ...breakpoints.map((text) => ({
      title: text,
      isChecked: true,
      run: () => void perform({ do: "break", text, on: false }),
    })),
  ];
}

const EXAMPLES = ["queue > 100 KB", "first loss", "10 s"];

function BreakpointDialog({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const set = async (event: FormEvent) => {
    event.preventDefault();
    if ((await perform({ do: "break", text })) !== null || useRunning.getState().breakpoints.includes(text)) onClose();
  };
  const { ids } = useSelection.getState();
  const port = useRunning.getState().run.ports.find(({ link, node }) => ids.has(link) || ids.has(node))?.name;
  const examples = port === undefined ? EXAMPLES : [`queue of ${port} > 100 KB`, `loss at ${port}`, ...EXAMPLES];
  return (
    <Dialog title="Add a breakpoint" size="small" onClose={onClose}>
      <form className="breakpoint-form" onSubmit={(event) => void set(event)}>
        <label>
          Pause when
          <input
            autoFocus
            list="breakpoint-examples"
            value={text}
            spellCheck={false}
            placeholder="queue > 1 MB"
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <datalist id="breakpoint-examples">
          {examples.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <p className="hint">
          {examples.map((one) => (
            <button key={one} type="button" className="button" onClick={() => setText(one)}>
              {one}
            </button>
          ))}
        </p>
        <button type="submit" className="button button-first" disabled={text.trim() === ""}>
          Add
        </button>
      </form>
    </Dialog>
  );
}

import { ReactFlowProvider } from "@xyflow/react";
import { lazy, Suspense, useState } from "react";
import { useConnection } from "../connection";
import { DraftNotice } from "../files/DraftNotice";
import { generate, openUpload, showOpen } from "../files/topologies";
import { useDocument } from "../stores/document";
import { showDialog } from "../layout/dialogs";
import { useRunning } from "../stores/running";
import { showSide } from "../stores/view";
import { Canvas } from "./Canvas";
import "./editor.css";
import { Icon } from "./icons";
import { PacketLegend } from "../packets/PacketLayer";
import { Carried, Palette, ToolHint } from "./Palette";
import { useTool } from "./tool";
import { fit, zoomIn, zoomOut } from "./viewport";

/** The editor: palette and canvas. A file dropped onto it is opened. */
export default function Editor() {
  const [isOver, setIsOver] = useState(false);
  return (
    <div
      className={`canvas-area ${isOver ? "is-over" : ""}`}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        const [file] = event.dataTransfer.files;
        if (file !== undefined) void openUpload(file);
      }}
    >
      <Palette />
      <ReactFlowProvider>
        <Canvas />
      </ReactFlowProvider>
      <PacketLegend />
      <ToolHint />
      <Zoom />
      <Empty />
      <Stale />
      <DraftNotice />
      <Carried />
    </div>
  );
}

function Zoom() {
  return (
    <div className="zoom" role="toolbar" aria-label="Zoom">
      <button type="button" className="icon-button" title="Zoom in (Ctrl+plus)" aria-label="Zoom in" onClick={zoomIn}>
        <Icon name="plus" size={16} />
      </button>
      <button
        type="button"
        className="icon-button"
        title="Zoom out (Ctrl+minus)"
        aria-label="Zoom out"
        onClick={zoomOut}
      >
        <Icon name="minus" size={16} />
      </button>
      <button type="button" className="icon-button" title="Fit to window (F)" aria-label="Fit to window" onClick={fit}>
        <Icon name="fit" size={16} />
      </button>
    </div>
  );
}

const RecordedRun = lazy(() => import("../welcome/RecordedRun"));

/** Small example networks. */
const TEMPLATES = [
  { title: "Two hosts", shape: "minimal" },
  { title: "A bottleneck", shape: "dumbbell,pairs=2,rate=10Mbps,delay=20ms" },
  { title: "A satellite link", shape: "dumbbell,pairs=1,rate=10Mbps,delay=270ms,loss=0.1%" },
] as const;

function Empty() {
  const isEmpty = useDocument(
    ({ revision, nodes, labels, frames }) =>
      revision > 0 && [nodes, labels, frames].every((elements) => Object.keys(elements).length === 0),
  );
  const isOpen = useConnection((state) => state.status === "open");
  const isPlacing = useTool((state) => state.tool !== "select");
  if (!isEmpty || !isOpen) return null;
  return (
    <div className="canvas-empty">
      <Suspense>
        <RecordedRun isPlacing={isPlacing} />
      </Suspense>
      <h2>The canvas is empty</h2>
      <p>Choose a host or a switch on the left, then click where to place it.</p>
      <p>Connect two nodes with the link tool. Then press Run.</p>
      {/* Not where a click would place a node. */}
      <p className="empty-starts" style={isPlacing ? { visibility: "hidden" } : undefined}>
        <button type="button" className="button" onClick={() => showSide("lesson")}>
          Start a lab
        </button>
        <button type="button" className="button" onClick={() => showDialog("generate")}>
          Generate a network
        </button>
        <button type="button" className="button" onClick={showOpen}>
          Open a file
        </button>
        <button type="button" className="button" onClick={() => showDialog("gallery")}>
          Reproduce a published figure
        </button>
      </p>
      <p className="empty-starts" style={isPlacing ? { visibility: "hidden" } : undefined}>
        {TEMPLATES.map(({ title, shape }) => (
          <button key={title} type="button" className="button" onClick={() => void generate(shape)}>
            {title}
          </button>
        ))}
      </p>
      <p className="hint">You can also drop a file here: .mn, .yaml, .clab.yml or .gns3.</p>
    </div>
  );
}

/** Shown when the document has changed since the network was started. */
function Stale() {
  const isStale = useRunning((state) => state.run.is_stale && state.run.phase === "running");
  if (!isStale) return null;
  return (
    <div className="canvas-note" role="status">
      The drawing has changed since the network was started. Stop and run it again to apply the changes.
    </div>
  );
}

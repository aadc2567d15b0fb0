import { Handle, Position, type NodeProps } from "@xyflow/react";
import { memo, type PointerEvent } from "react";
import { useShallow } from "zustand/react/shallow";
import { portsOf, usePlanned, type Ports } from "../stores/ports";
import { useRunning } from "../stores/running";
import { useView } from "../stores/view";
import type { DeviceFlow } from "./flow";
import { Icon } from "./icons";
import { kindOf } from "./kinds";
import { LoadFill } from "./LoadFill";
import { problemText, useProblemsOf } from "./problems";
import { startLinkAt } from "./linking";
import { useTool } from "./tool";

/** A node: its tile, with name and address below, and badges. */
export const DeviceNode = memo(function DeviceNode({ data, selected }: NodeProps<DeviceFlow>) {
  const { node } = data;
  const kind = kindOf(node);
  const isLinkEnd = useTool((state) => state.linkFrom === node.id);
  const start = (event: PointerEvent) => {
    event.stopPropagation();
    startLinkAt(node.id, event);
  };
  return (
    <div className={`device device-${kind} ${selected ? "is-selected" : ""} ${isLinkEnd ? "is-link-end" : ""}`}>
      <div className="tile">
        <LoadFill node={node.name} />
        <Icon name={kind} size={28} />
      </div>
      <Handle className="device-centre" type="source" position={Position.Top} isConnectable={false} />
      <Handle className="device-centre" type="target" position={Position.Top} isConnectable={false} />
      <div className="device-texts">
        <span className="device-name">{node.name === "" ? "?" : node.name}</span>
        <Address id={node.id} kind={node.kind} />
      </div>
      <button
        type="button"
        className="link-handle nodrag"
        tabIndex={-1}
        aria-hidden="true"
        title="Drag to another node to link them"
        onPointerDown={start}
      />
      <Badge id={node.id} />
      <SettingsMark id={node.id} />
    </div>
  );
});

/** The address of a host with one port. With several ports, each has its address at its end. */
function Address({ id, kind }: { id: string; kind: string }) {
  const isShown = useView((state) => state.showsAddresses) && kind === "host";
  const live = useRunning(useShallow((state) => addresses(id, state.ports)));
  const planned = usePlanned(useShallow((state) => addresses(id, state.ports)));
  const shown = live.length > 0 ? live : planned;
  if (!isShown || shown.length === 0) return null;
  return <span className="device-address">{shown.join(", ")}</span>;
}

function addresses(id: string, ports: Ports): string[] {
  const ofNode = portsOf(id, ports);
  return ofNode.length === 1
    ? [...(ofNode[0]?.addresses ?? [])].filter((ip) => !ip.startsWith("fe80:")).slice(0, 2)
    : [];
}

function Badge({ id }: { id: string }) {
  const problems = useProblemsOf(id);
  if (problems.length === 0) return null;
  const isError = problems.some((problem) => problem.severity === "error");
  return (
    <span className={`badge ${isError ? "badge-error" : "badge-warning"}`} title={problemText(problems)}>
      !
    </span>
  );
}

/** A badge for settings made by commands in terminals that the drawing does not have. */
function SettingsMark({ id }: { id: string }) {
  const lines = useRunning(
    useShallow((state) => state.settings.filter(({ node }) => node === id).map(({ line }) => line)),
  );
  if (lines.length === 0) return null;
  return (
    <span className="settings-mark" title={`Set in a terminal:\n${lines.join("\n")}`}>
      {lines.length}
    </span>
  );
}

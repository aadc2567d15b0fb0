/** The entries of context menus. */
import { perform } from "../connection";
import type { MenuEntry } from "../layout/Menu";
import { useDocument } from "../stores/document";
import { isRunning, useRunning } from "../stores/running";
import { useSelection } from "../stores/selection";
import { CLIENT, openTerminal } from "../terminals/tabs";
import {
  addNode,
  alignSelected,
  arrange,
  deleteSelected,
  distributeSelected,
  duplicateSelected,
  linkName,
  placeTool,
  selectAll,
  selectInside,
} from "./actions";
import { copySelected, cutSelected, pasteHere } from "./clipboard";
import type { Point } from "./geometry";
import { KINDS } from "./kinds";
import { askCapture, endCapture } from "../packets/capture";
import { openProperties } from "./problems";
import { NO_CONDITIONS, PRESETS } from "./presets";
import { beginLink } from "./tool";
import { fit } from "./viewport";
import { askWhatIf, canAsk } from "../whatif/whatIf";

export function nodeMenu(id: string): readonly MenuEntry[] {
  const { nodes, links, frames } = useDocument.getState();
  const node = nodes[id];
  const isMany = [...useSelection.getState().ids].filter((other) => !(other in links)).length > 1;
  const runs = isRunning();
  const hasTerminal = node?.kind === "host" || node?.kind === "router";
  return [
    ...(runs && hasTerminal ? [{ title: "Terminal", keys: "T", run: () => void openTerminal(id) }] : []),
    ...(runs && node?.kind === "switch"
      ? [
          { title: "Root terminal", run: () => void openTerminal(CLIENT) },
          { title: "Bridge details", run: () => bridgeDetails(id) },
        ]
      : []),
    ...(runs && (hasTerminal || node?.kind === "switch") ? (["line"] as const) : []),
    { title: "Properties", keys: "Enter", run: () => openProperties() },
    ...(node !== undefined && !isMany ? [{ title: "Link to…", keys: "L", run: () => beginLink(id) }] : []),
    ...(id in frames ? [{ title: "Select what is inside", run: () => selectInside(id) }] : []),
    "line",
    ...copying(),
    ...(isMany ? arranging() : []),
    "line",
    { title: "Delete", keys: "Del", run: deleteSelected, isDangerous: true },
  ];
}

function bridgeDetails(id: string): void {
  const node = useDocument.getState().nodes[id];
  if (node === undefined) return;
  const isOvs = (node.options.kind ?? "bridge") !== "bridge";
  const command = isOvs
    ? `ovs-vsctl list bridge ${node.name}; ovs-ofctl show ${node.name}; exec bash`
    : `ip -d link show ${node.name}; bridge link show; bridge fdb show br ${node.name}; exec bash`;
  void openTerminal(CLIENT, command);
}

export function linkMenu(id: string): readonly MenuEntry[] {
  const { links, nodes } = useDocument.getState();
  const link = links[id];
  if (link === undefined) return [];
  const { linksDown, ports, captures } = useRunning.getState();
  const isControl = [link.a, link.b].some((end) => nodes[end]?.kind === "controller");
  const isDown = linksDown.has(id);
  const setUp = (up: boolean) => void perform({ do: "link_up", link: id, up });
  const capture = (end: "a" | "b"): MenuEntry[] => {
    const port = ports[`${id} ${end}`]?.name;
    if (port === undefined) return [];
    const isOn = captures.includes(port);
    const run = () => (isOn ? void endCapture(port) : askCapture(port));
    return [{ title: isOn ? `Stop capturing at ${port}` : `Capture packets at ${port}…`, run }];
  };
  return [
    ...(isRunning() && !isControl
      ? ([
          { title: "Link up", isDisabled: !isDown, run: () => setUp(true) },
          { title: "Link down", isDisabled: isDown, run: () => setUp(false) },
          "line",
          ...capture("a"),
          ...capture("b"),
          "line",
        ] as const)
      : []),
    ...(isControl
      ? []
      : [
          {
            title: "Set conditions",
            items: PRESETS.map(({ title, options }) => ({
              title,
              run: () => void perform({ do: "set_link", link: id, options: { ...NO_CONDITIONS, ...options } }),
            })),
          },
        ]),
    ...(isControl ? [] : [{ title: "What if …?", isDisabled: !canAsk(), run: () => askWhatIf(id) }]),
    { title: "Properties", keys: "Enter", run: () => openProperties() },
    "line",
    { title: `Delete ${linkName(link)}`, keys: "Del", run: deleteSelected, isDangerous: true },
  ];
}

export function canvasMenu(at: Point): readonly MenuEntry[] {
  return [
    ...Object.values(KINDS).map(({ kind, title }) => ({
      title: `Add ${title === "Open vSwitch" ? title : title.toLowerCase()}`,
      run: () => void addNode(kind, at),
    })),
    {
      title: "Add label",
      run: () => placeTool("label", at),
    },
    { title: "Add frame", run: () => placeTool("frame", at) },
    "line",
    { title: "Paste", keys: "Ctrl+V", run: () => void pasteHere() },
    { title: "Select all", keys: "Ctrl+A", run: selectAll },
    ...(Object.keys(useDocument.getState().nodes).length > 1 ? [layoutMenu()] : []),
    "line",
    { title: "Fit to window", keys: "F", run: fit },
  ];
}

function copying(): readonly MenuEntry[] {
  return [
    { title: "Cut", keys: "Ctrl+X", run: () => void cutSelected() },
    { title: "Copy", keys: "Ctrl+C", run: () => void copySelected() },
    { title: "Duplicate", keys: "Ctrl+D", run: duplicateSelected },
  ];
}

export function arranging(): readonly MenuEntry[] {
  return [
    {
      title: "Align",
      items: [
        { title: "Left", run: () => alignSelected("left") },
        { title: "Centre", run: () => alignSelected("centre") },
        { title: "Right", run: () => alignSelected("right") },
        "line",
        { title: "Top", run: () => alignSelected("top") },
        { title: "Middle", run: () => alignSelected("middle") },
        { title: "Bottom", run: () => alignSelected("bottom") },
      ],
    },
    {
      title: "Distribute",
      items: [
        { title: "Horizontally", run: () => distributeSelected("x") },
        { title: "Vertically", run: () => distributeSelected("y") },
      ],
    },
    layoutMenu(),
  ];
}

/** Arranges the selected nodes, or all of them. */
export function layoutMenu(): MenuEntry {
  return {
    title: "Arrange",
    items: [
      { title: "As a tree", run: () => arrange("tree") },
      { title: "In a circle", run: () => arrange("circle") },
      { title: "In a grid", run: () => arrange("grid") },
      { title: "Force-directed", run: () => arrange("force") },
    ],
  };
}

/** The menus of the bar at the top. */
import { LOOKS, perform } from "../connection";
import { duplicateSelected, deleteSelected, selectAll, selectedIds } from "../editor/actions";
import { copySelected, cutSelected, pasteHere } from "../editor/clipboard";
import { arranging, layoutMenu } from "../editor/menus";
import { fit, zoomIn, zoomOut, zoomTo } from "../editor/viewport";
import { download, downloadPng, EXPORTS, newDocument, save, saveAs, showOpen, chooseUpload } from "../files/topologies";
import { branchInView, useBranches } from "../stores/branches";
import { useDocument } from "../stores/document";
import { redo, undo } from "../stores/edits";
import { useRunning } from "../stores/running";
import { showDock, showSide, useView } from "../stores/view";
import { openTerminal, PROMPT } from "../terminals/tabs";
import { showDialog } from "./dialogs";
import type { MenuEntry } from "./Menu";

interface RunActions {
  run: () => void;
  stop: () => void;
  client: () => void;
}

export interface TopMenu {
  title: string;
  /** Called when the menu opens, because entries depend on the selection. */
  entries: () => readonly MenuEntry[];
}

export function menuBar(actions: RunActions): readonly TopMenu[] {
  return [
    { title: "File", entries: fileMenu },
    { title: "Edit", entries: editMenu },
    { title: "View", entries: viewMenu },
    { title: "Run", entries: () => runMenu(actions) },
    { title: "Help", entries: helpMenu },
  ];
}

function fileMenu(): readonly MenuEntry[] {
  return [
    { title: "New", keys: "Ctrl+Alt+N", run: () => void newDocument() },
    { title: "Generate…", run: () => showDialog("generate") },
    { title: "Open…", keys: "Ctrl+O", run: showOpen },
    { title: "Open from this computer…", run: chooseUpload },
    "line",
    { title: "Save", keys: "Ctrl+S", run: () => void save() },
    { title: "Save as…", keys: "Ctrl+Shift+S", run: saveAs },
    { title: "Download (.mn)", run: () => void download("mn") },
    "line",
    {
      title: "Export",
      items: [
        ...EXPORTS.map(({ form, title }) => ({ title, run: () => void download(form) })),
        { title: "Picture (PNG)", run: () => void downloadPng() },
        "line",
        {
          title: "Replay of the run (HTML)",
          isDisabled: branchInView(useBranches.getState()) === null,
          // Loaded only when it is used.
          run: () => void import("../share/replay").then(({ downloadReplay }) => downloadReplay()),
        },
      ],
    },
    "line",
    { title: "Preferences…", keys: "Ctrl+,", run: () => showDialog("preferences") },
  ];
}

function editMenu(): readonly MenuEntry[] {
  const { undo: undoLabel, redo: redoLabel, nodes, links } = useDocument.getState();
  const ids = selectedIds();
  const isNothing = ids.length === 0;
  const isMany = ids.filter((id) => !(id in links)).length > 1;
  return [
    {
      title: undoLabel === null ? "Undo" : `Undo: ${undoLabel}`,
      keys: "Ctrl+Z",
      isDisabled: undoLabel === null,
      run: undo,
    },
    {
      title: redoLabel === null ? "Redo" : `Redo: ${redoLabel}`,
      keys: "Ctrl+Y",
      isDisabled: redoLabel === null,
      run: redo,
    },
    "line",
    { title: "Cut", keys: "Ctrl+X", isDisabled: isNothing, run: () => void cutSelected() },
    { title: "Copy", keys: "Ctrl+C", isDisabled: isNothing, run: () => void copySelected() },
    { title: "Paste", keys: "Ctrl+V", run: () => void pasteHere() },
    { title: "Duplicate", keys: "Ctrl+D", isDisabled: isNothing, run: duplicateSelected },
    { title: "Delete", keys: "Del", isDisabled: isNothing, run: deleteSelected },
    "line",
    { title: "Select all", keys: "Ctrl+A", run: selectAll },
    ...(isMany ? arranging() : Object.keys(nodes).length > 1 ? [layoutMenu()] : []),
    {
      title: "Address this network",
      isDisabled: !Object.values(nodes).some(({ kind }) => kind === "router"),
      run: () => void perform({ do: "address" }),
    },
    "line",
    { title: "Preferences…", keys: "Ctrl+,", run: () => showDialog("preferences") },
  ];
}

function viewMenu(): readonly MenuEntry[] {
  const view = useView.getState();
  const flag = (
    title: string,
    word:
      | "showsAddresses"
      | "showsPorts"
      | "showsConditions"
      | "showsTraffic"
      | "showsPackets"
      | "showsMinimap"
      | "showsTimeline"
      | "snapsToGrid",
  ): MenuEntry => ({
    title,
    isChecked: view[word],
    run: () => useView.setState({ [word]: !view[word] }),
  });
  return [
    flag("Addresses", "showsAddresses"),
    flag("Port names", "showsPorts"),
    flag("Link conditions", "showsConditions"),
    flag("Throughput on links", "showsTraffic"),
    flag("Packets in slow motion", "showsPackets"),
    flag("Minimap", "showsMinimap"),
    flag("Timeline", "showsTimeline"),
    flag("Snap to grid", "snapsToGrid"),
    "line",
    { title: "Zoom in", keys: "Ctrl+plus", run: zoomIn },
    { title: "Zoom out", keys: "Ctrl+minus", run: zoomOut },
    { title: "Actual size", keys: "Ctrl+0", run: () => zoomTo(1) },
    { title: "Fit to window", keys: "F", run: fit },
    "line",
    { title: "Properties", run: () => showSide("properties") },
    { title: "Lessons", run: () => showSide("lesson") },
    {
      title: "Side panel",
      keys: "Ctrl+B",
      isChecked: view.isSideOpen,
      run: () => useView.setState({ isSideOpen: !view.isSideOpen }),
    },
    { title: "Terminals", run: () => showDock("terminals") },
    { title: "Charts", run: () => showDock("charts") },
    { title: "Problems", run: () => showDock("problems") },
    { title: "Files", run: () => showDock("files") },
    {
      title: "Bottom panel",
      keys: "Ctrl+J",
      isChecked: view.isDockOpen,
      run: () => useView.setState({ isDockOpen: !view.isDockOpen }),
    },
    "line",
    {
      title: "Theme",
      items: (["system", "light", "dark"] as const).map((theme) => ({
        title: theme === "system" ? "System" : theme === "light" ? "Light" : "Dark",
        isChecked: view.theme === theme,
        run: () => useView.setState({ theme }),
      })),
    },
  ];
}

function runMenu({ run, stop, client }: RunActions): readonly MenuEntry[] {
  const { phase } = useRunning.getState().run;
  const isRunning = phase === "running";
  return [
    { title: "Run", isDisabled: phase !== "stopped" && phase !== "failed", run },
    { title: "Stop", isDisabled: phase !== "running" && phase !== "starting", run: stop },
    "line",
    { title: "mininet> prompt", isDisabled: !isRunning, run: () => void openTerminal(PROMPT) },
    { title: "Root terminal", isDisabled: !isRunning, run: client },
    {
      title: "Open vSwitch summary",
      isDisabled: !isRunning,
      run: () => void openTerminal("client", "ovs-vsctl show; exec bash"),
    },
  ];
}

function helpMenu(): readonly MenuEntry[] {
  return [
    { title: "Lessons", run: () => showSide("lesson") },
    {
      title: "Documentation",
      run: () => void window.open(LOOKS ? "../../documentation" : "documentation", "_blank", "noopener"),
    },
    { title: "Gallery of published figures…", run: () => showDialog("gallery") },
    { title: "Keyboard shortcuts…", run: () => showDialog("keys") },
    { title: "About wanlab", run: () => showDialog("about") },
  ];
}

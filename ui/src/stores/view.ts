/** View settings of this browser, unknown to the server and to other tabs. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

export type Theme = "system" | "light" | "dark";
export type DockTab = "terminals" | "charts" | "problems" | "files";
export type SideTab = "properties" | "lesson";

interface View {
  theme: Theme;
  dockTab: DockTab;
  isDockOpen: boolean;
  dockHeight: number;
  sideTab: SideTab;
  isSideOpen: boolean;
  sideWidth: number;
  /** Whether lessons have a separate panel on the left. */
  isLessonPinned: boolean;
  lessonWidth: number;
  showsAddresses: boolean;
  showsPorts: boolean;
  showsConditions: boolean;
  showsMinimap: boolean;
  showsTraffic: boolean;
  /** Whether packets in flight are drawn in slow motion. */
  showsPackets: boolean;
  showsTimeline: boolean;
  /** Whether the timeline has its texts and axis, or is a strip. */
  isTimelineOpen: boolean;
  snapsToGrid: boolean;
  /** Whether the system's theme is dark now. */
  isSystemDark: boolean;
}

const PROPERTIES_WIDTH = 300;
/** In lower windows the timeline begins as a strip. */
const HIGH_WINDOW = 960;

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

export const useView = create<View>()(
  persist(
    (): View => ({
      theme: "system",
      dockTab: "terminals",
      isDockOpen: true,
      dockHeight: 230,
      sideTab: "properties",
      isSideOpen: true,
      sideWidth: PROPERTIES_WIDTH,
      isLessonPinned: false,
      lessonWidth: 400,
      showsAddresses: true,
      showsPorts: true,
      showsConditions: true,
      showsMinimap: true,
      showsTraffic: true,
      showsPackets: true,
      showsTimeline: true,
      isTimelineOpen: window.innerHeight >= HIGH_WINDOW,
      snapsToGrid: false,
      isSystemDark: prefersDark.matches,
    }),
    { name: "wanlab.view" },
  ),
);

/** Open the dock at a tab, as when a terminal is opened or a problem badge is clicked. */
export function showDock(dockTab: DockTab): void {
  useView.setState({ dockTab, isDockOpen: true });
}

export function showSide(sideTab: SideTab): void {
  if (sideTab === "lesson" && useView.getState().isLessonPinned) return;
  useView.setState({ sideTab, isSideOpen: true });
}

/** Move the lessons to a separate panel on the left, or back beside the properties. */
export function pinLesson(isLessonPinned: boolean): void {
  useView.setState({ isLessonPinned, isSideOpen: true, sideTab: isLessonPinned ? "properties" : "lesson" });
  if (isLessonPinned) useView.setState({ sideWidth: PROPERTIES_WIDTH });
}

export function isDark({ theme, isSystemDark }: View = useView.getState()): boolean {
  return theme === "system" ? isSystemDark : theme === "dark";
}

function paintTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
}

useView.subscribe(paintTheme);
// Also at once: the stored state has the system's theme of an earlier visit.
const noteSystemTheme = () => useView.setState({ isSystemDark: prefersDark.matches });
prefersDark.addEventListener("change", noteSystemTheme);
noteSystemTheme();

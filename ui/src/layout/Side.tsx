import { lazy, Suspense } from "react";
import { Inspector } from "../inspector/Inspector";
// Loaded at once, because it must receive the first push.
import "../stores/lessons";
import { useView } from "../stores/view";
import { Divider } from "./Divider";
import { Tabs, type Tab } from "./Tabs";
import type { SideTab } from "../stores/view";

const Lessons = lazy(() => import("../lessons/Lessons").then((module) => ({ default: module.Lessons })));

const TABS: readonly Tab<SideTab>[] = [
  { id: "properties", title: "Properties" },
  { id: "lesson", title: "Lessons" },
];

/** The side panel: properties of the selection, or the lesson unless it is on the left. */
export function Side() {
  const { sideTab: wanted, isSideOpen, sideWidth, isLessonPinned } = useView();
  if (!isSideOpen) return null;
  const tabs = isLessonPinned ? TABS.filter(({ id }) => id !== "lesson") : TABS;
  const sideTab = isLessonPinned ? "properties" : wanted;
  return (
    <aside className="side" style={{ width: sideWidth }} aria-label="Properties and lessons">
      <Divider
        label="Width of the side panel"
        orientation="vertical"
        size={sideWidth}
        smallest={240}
        largest={Math.max(320, window.innerWidth - 420)}
        onSize={(width) => useView.setState({ sideWidth: width })}
      />
      <div className="bar">
        <Tabs label="Side panel" tabs={tabs} chosen={sideTab} onChoose={(tab) => useView.setState({ sideTab: tab })} />
      </div>
      <div
        className="side-body"
        role="tabpanel"
        id={`panel-${sideTab}`}
        tabIndex={-1}
        aria-labelledby={`tab-${sideTab}`}
      >
        {sideTab === "properties" ? (
          <Inspector />
        ) : (
          <Suspense fallback={<p className="empty">Loading…</p>}>
            <Lessons />
          </Suspense>
        )}
      </div>
    </aside>
  );
}

/** The lessons in a separate panel on the left. */
export function LessonPanel() {
  const { isLessonPinned, lessonWidth } = useView();
  if (!isLessonPinned) return null;
  return (
    <aside className="lesson-panel" style={{ width: lessonWidth }} aria-label="Lessons">
      <Suspense fallback={<p className="empty">Loading…</p>}>
        <Lessons />
      </Suspense>
      <Divider
        label="Width of the lessons"
        orientation="vertical"
        isFirst
        size={lessonWidth}
        smallest={260}
        largest={Math.max(320, window.innerWidth - 520)}
        onSize={(width) => useView.setState({ lessonWidth: width })}
      />
    </aside>
  );
}

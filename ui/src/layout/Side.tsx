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

/** The side panel: properties of the selection, or the lesson. */
export function Side() {
  const { sideTab, isSideOpen, sideWidth } = useView();
  if (!isSideOpen) return null;
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
        <Tabs
          label="Side panel"
          tabs={TABS}
          chosen={sideTab}
          onChoose={(tab) => useView.setState({ sideTab: tab })}
        />
      </div>
      <div
        className="side-body"
        role="tabpanel"
        id={`panel-${sideTab}`}
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

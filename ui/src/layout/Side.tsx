import { lazy, Suspense } from "react";
import { Inspector } from "../inspector/Inspector";
// What the server says of lessons is heard from the start, not only when they are looked at.
import "../stores/lessons";
import { useView } from "../stores/view";
import { Divider } from "./Divider";
import { Tabs, type Tab } from "./Tabs";
import type { SideTab } from "../stores/view";

const Lessons = lazy(() => import("../lessons/Lessons").then((it) => ({ default: it.Lessons })));

const TABS: readonly Tab<SideTab>[] = [
  { id: "properties", title: "Properties" },
  { id: "lesson", title: "Lessons" },
];

/** The right side: properties of what is selected, or the lesson. */
export function Side() {
  const { sideTab, isSideOpen, sideWidth } = useView();
  if (!isSideOpen) return null;
  return (
    <aside className="side" style={{ width: sideWidth }} aria-label="Properties and lessons">
      <Divider
        label="Width of the right side"
        orientation="vertical"
        size={sideWidth}
        smallest={240}
        largest={Math.max(320, window.innerWidth - 420)}
        onSize={(width) => useView.setState({ sideWidth: width })}
      />
      <div className="bar">
        <Tabs
          label="Right side"
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

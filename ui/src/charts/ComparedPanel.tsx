import { useEffect, useMemo, useRef } from "react";
import type { ComparedColumn } from "../protocol";
import { isDark, useView } from "../stores/view";
import { PanelFrame } from "./PanelFrame";
import { look, Plot } from "./Plot";
import { csv, joined } from "./window";

interface Props {
  title: string;
  columns: readonly ComparedColumn[];
}

/** One quantity of several records. */
export function ComparedPanel({ title, columns }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const dark = useView(isDark);
  const data = useMemo(() => joined(columns), [columns]);
  const names = useMemo(() => columns.map(nameOf), [columns]);

  useEffect(() => {
    if (container.current === null) return;
    const unit = columns[0]?.unit ?? "";
    const whole: [number, number] = [data[0][0] ?? 0, data[0].at(-1) ?? 1];
    const looks = names.map((name, index) => ({ key: name, title: name, ...look(index, dark) }));
    const chart: Plot = new Plot(container.current, title, unit, (isZoomed) => {
      if (!isZoomed) chart.show(looks, unit, data, whole);
    });
    plot.current = chart;
    chart.show(looks, unit, data, whole);
    return () => chart.destroy();
  }, [title, columns, data, names, dark]);

  return (
    <PanelFrame
      title={title}
      name={title.toLowerCase().replace(/\W+/g, "-")}
      csv={() => csv(names, data)}
      figure={() => plot.current?.figure() ?? null}
    >
      <div className="plot" ref={container} role="group" aria-label={`Chart: ${title}`} />
    </PanelFrame>
  );
}

function nameOf({ record, title }: ComparedColumn): string {
  return title.startsWith(record) ? title : `${record}: ${title}`;
}

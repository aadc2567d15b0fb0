import "uplot/dist/uPlot.min.css";
import "./charts.css";
import { useMemo, useState } from "react";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { KINDS, tables } from "../stores/samples";
import { Panels, Quantities, TimeRange, useFlowFilter, usePortsOf } from "./Charts";
import { isOfFlows } from "./chosen";
import { flowTitles } from "./paths";
import { changeChart, useChartTabs, type ChartChoice } from "./tabs";

/** A chart in a pane: quantities of several ports and flows, stacked. */
export function ChartPane({ id }: { id: string }) {
  const choice = useChartTabs((state) => state.charts[id]);
  if (choice === undefined) return <p className="empty">This chart has been closed.</p>;
  return <Chosen id={id} choice={choice} />;
}

function Chosen({ id, choice }: { id: string; choice: ChartChoice }) {
  const ports = usePortsOf(choice.ports);
  const ids = useFlowFilter(choice.ports);
  const toggle = (kinds: ChartChoice["kinds"]) => changeChart(id, { kinds });
  return (
    <div className="charts">
      <div className="chart-tools" role="toolbar" aria-label="Chart">
        <Quantities kinds={choice.kinds} onChange={toggle} />
        <CurveChoice id={id} choice={choice} shown={ports.map(({ name }) => name)} />
        <TimeRange />
      </div>
      <Panels owner={`chart ${id}`} kinds={choice.kinds} ports={ports} ids={ids} flows={choice.flows} isStacked />
    </div>
  );
}

interface CurveChoiceProps {
  id: string;
  choice: ChartChoice;
  /** The ports that are shown now. */
  shown: readonly string[];
}

/** Which ports and flows the chart shows. */
function CurveChoice({ id, choice, shown }: CurveChoiceProps) {
  const [isOpen, setIsOpen] = useState(false);
  const { ports, flows } = choice;
  const summary = ports === null ? "selected ports" : ports.length === 1 ? ports[0] : `${ports.length} ports`;
  const more = flows === null ? "" : flows.length === 1 ? ", 1 flow" : `, ${flows.length} flows`;
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-expanded={isOpen}
        title="Choose ports and flows"
        onClick={() => setIsOpen(!isOpen)}
      >
        {summary}
        {more} ▾
      </button>
      {isOpen && (
        <div
          className="curve-choice"
          role="group"
          aria-label="Ports and flows"
          onKeyDown={(event) => {
            if (event.key === "Escape") setIsOpen(false);
          }}
        >
          <PortList id={id} ports={ports} shown={shown} />
          {choice.kinds.some(isOfFlows) && <FlowList id={id} flows={flows} />}
          <button type="button" className="button" onClick={() => setIsOpen(false)}>
            Done
          </button>
        </div>
      )}
    </>
  );
}

function PortList({ id, ports, shown }: { id: string; ports: readonly string[] | null; shown: readonly string[] }) {
  const all = useRunning((state) => state.run.ports);
  const names = useMemo(
    () => all.map(({ name }) => name).sort((a, b) => a.localeCompare(b, "en", { numeric: true })),
    [all],
  );
  return (
    <fieldset>
      <legend>Ports</legend>
      <Check
        title="follow the selection"
        isOn={ports === null}
        onChange={(isOn) => changeChart(id, { ports: isOn ? null : [...shown] })}
      />
      {names.map((name) => (
        <Check
          key={name}
          title={name}
          isOn={(ports ?? shown).includes(name)}
          onChange={(isOn) => changeChart(id, { ports: toggled(ports ?? shown, name, isOn) })}
        />
      ))}
    </fieldset>
  );
}

function FlowList({ id, flows }: { id: string; flows: readonly string[] | null }) {
  const ports = useRunning((state) => state.run.ports);
  const nodes = useDocument((state) => state.nodes);
  // The ports and flows at the time when the list is opened.
  const [known] = useState(() => [
    ...new Set(KINDS.filter(isOfFlows).flatMap((kind) => [...tables[kind].columns.values()].map(({ flow }) => flow))),
  ]);
  const titles = flowTitles(known, ports, (node) => nodes[node]?.name ?? node);
  return (
    <fieldset>
      <legend>Flows</legend>
      <Check
        title="all flows through these ports"
        isOn={flows === null}
        onChange={(isOn) => changeChart(id, { flows: isOn ? null : [] })}
      />
      {known.map((flow, index) => (
        <Check
          key={flow}
          title={titles[index] ?? flow}
          isOn={flows?.includes(flow) ?? false}
          onChange={(isOn) => changeChart(id, { flows: toggled(flows ?? [], flow, isOn) })}
        />
      ))}
    </fieldset>
  );
}

function toggled(list: readonly string[], one: string, isOn: boolean): string[] {
  const rest = list.filter((other) => other !== one);
  return isOn ? [...rest, one] : rest;
}

function Check({ title, isOn, onChange }: { title: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label className="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} /> {title}
    </label>
  );
}

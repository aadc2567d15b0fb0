/** Properties of links: conditions, in both directions or in one, and their two ports. */
import { SetInTerminals } from "./SetInTerminals";
import { useState } from "react";
import { perform } from "../connection";
import { linkName } from "../editor/actions";
import { queueName, shown, valueOf, withValue, type Direction } from "../editor/conditions";
import { LINK_SETTINGS, QUEUES, type DrawnLink } from "../protocol";
import { useDocument } from "../stores/document";
import { edit } from "../stores/edits";
import { usePort, useTc } from "../stores/ports";
import { useRunning } from "../stores/running";
import { useBranches } from "../stores/branches";
import { askWhatIf } from "../whatif/whatIf";
import { Choice, Section, TextField } from "./Field";
import { setPortOption } from "./LinkList";
import { optionName, orNothing, textOf, wholeOrText } from "./options";
import * as units from "./units";

const FIFO = "fifo";
const QUEUE_CHOICES = [["", "default"], ...QUEUES] as const;

interface Field {
  word: string;
  title: string;
  check?: units.Check;
  placeholder: string;
}

const CHECKS = { rate: units.rate, time: units.time, fraction: units.fraction, count: units.whole(0, 1_000_000) };
const ALL_FIELDS = LINK_SETTINGS.map(({ word, label, kind, varies }) => ({
  word,
  title: label,
  check: CHECKS[kind],
  placeholder: kind === "rate" ? "unlimited" : "none",
  varies,
}));
const FIELDS: readonly Field[] = ALL_FIELDS.filter(({ varies }) => varies);
const MORE: readonly Field[] = ALL_FIELDS.filter(({ varies }) => !varies);

/** Set an option of links: in the running network at once, otherwise as an edit. */
function setWord(links: readonly DrawnLink[], direction: Direction, word: string, value: unknown): void {
  const isLive = useRunning.getState().run.phase === "running";
  if (isLive) {
    for (const link of links) {
      void perform({
        do: "set_link",
        link: link.id,
        options: { [word]: value ?? null },
        end: direction === "both" ? null : direction,
      });
    }
    return;
  }
  const known = useDocument.getState().links;
  const what = links.length === 1 && links[0] ? linkName(links[0]) : `${links.length} links`;
  void edit(`Set ${optionName(word)} of ${what}`, {
    links: links.map((link) => withValue(known[link.id] ?? link, direction, word, value)),
  });
}

/** The value that all links have in a direction. */
function shared(links: readonly DrawnLink[], direction: Direction, word: string): { value: unknown; differs: boolean } {
  const values = links.map((link) => valueOf(link, direction, word));
  const first = JSON.stringify(values[0]?.value);
  const differs = values.some((it) => it.differs || JSON.stringify(it.value) !== first);
  return differs ? { value: undefined, differs } : { value: values[0]?.value, differs };
}

export function LinkForm({ link }: { link: DrawnLink }) {
  const a = useDocument((state) => state.nodes[link.a]);
  const b = useDocument((state) => state.nodes[link.b]);
  const ports = { a: usePort(link.id, "a"), b: usePort(link.id, "b") };
  if (a === undefined || b === undefined) return null;
  if (a.kind === "controller" || b.kind === "controller") {
    const [controller, other] = a.kind === "controller" ? [a, b] : [b, a];
    return (
      <p className="hint">
        {controller.name} controls {other.name} over OpenFlow. This link carries no data packets.
      </p>
    );
  }
  return (
    <>
      <SetByTcNote link={link} names={[a.name, b.name]} />
      <SetInTerminals node={link.a} port={ports.a?.name ?? ""} />
      <SetInTerminals node={link.b} port={ports.b?.name ?? ""} />
      <Conditions links={[link]} names={[a.name, b.name]} />
      <PortSection link={link} end="a" name={a.name} kind={a.kind} />
      <PortSection link={link} end="b" name={b.name} kind={b.kind} />
    </>
  );
}

/** The settings of `tc` in the running network, and a button that copies them into the drawing. */
function SetByTcNote({ link, names: [a, b] }: { link: DrawnLink; names: readonly [string, string] }) {
  const tc = useTc(link.id);
  const ends = [
    ["a", `${a} → ${b}`, tc.a],
    ["b", `${b} → ${a}`, tc.b],
  ] as const;
  const changed = ends.filter(([, , options]) => options !== null);
  if (changed.length === 0) return null;
  return (
    <div className="tc-note" role="group" aria-label="Set by tc">
      {changed.map(([end, direction, options]) => (
        <p key={end}>
          In the running network, <code>tc</code> has set {direction} to{" "}
          <strong>{shown(options ?? {}) || "no conditions"}</strong>
        </p>
      ))}
      <button type="button" className="button" onClick={() => void perform({ do: "take_tc", link: link.id })}>
        Copy into the drawing
      </button>
    </div>
  );
}

/** The conditions of one or several links. */
export function Conditions({ links, names }: { links: readonly DrawnLink[]; names?: readonly [string, string] }) {
  const [direction, setDirection] = useState<Direction>("both");
  const isRunning = useRunning((state) => state.run.phase === "running");
  const one = links.length === 1 ? links[0] : undefined;
  const isOneWay =
    one !== undefined &&
    [...Object.keys(one.a_options), ...Object.keys(one.b_options)].some(
      (word) =>
        valueOf(one, "both", word).differs && [...FIELDS, ...MORE, { word: "queue" }].some((it) => it.word === word),
    );
  const more = MORE.some(({ word }) => shared(links, direction, word).value !== undefined);
  const input = ({ word, title, check, placeholder }: Field) => {
    const { value, differs } = shared(links, direction, word);
    const part = direction === "both" ? "options" : `${direction}_options`;
    return (
      <TextField
        key={`${word} ${direction}`}
        field={`${part}.${word}`}
        alias={[`options.${word}`]}
        title={title}
        value={value === undefined ? "" : String(value)}
        placeholder={differs ? differing(links, word) : placeholder}
        {...(check === undefined ? {} : { check })}
        onChange={(text) => setWord(links, direction, word, orNothing(text))}
      />
    );
  };
  return (
    <>
      {names !== undefined && <Directions names={names} chosen={direction} onChoose={setDirection} />}
      {isOneWay && direction === "both" && <p className="hint">The two directions differ.</p>}
      {isRunning && (
        <p className="hint">
          Changes take effect in the running network at once.
          {one !== undefined && <AskWhatIf link={one.id} />}
        </p>
      )}
      <div className="pairs">{FIELDS.map(input)}</div>
      <QueueFields key={direction} links={links} direction={direction} />
      <Section title="More conditions" isOpen={more}>
        <Choice
          field="options.distribution"
          title="Jitter distribution"
          value={String(shared(links, direction, "distribution").value ?? "")}
          choices={[
            ["", "uniform"],
            ["normal", "normal"],
            ["pareto", "pareto"],
            ["paretonormal", "paretonormal"],
            ["experimental", "experimental"],
          ]}
          onChange={(word) => setWord(links, direction, "distribution", orNothing(word))}
        />
        <div className="pairs">{MORE.map(input)}</div>
      </Section>
    </>
  );
}

/** What a change would have done from the start is asked for in another way. */
function AskWhatIf({ link }: { link: string }) {
  const mayAsk = useBranches(({ branches, refusal }) => branches.length > 0 && refusal === "");
  if (!mayAsk) return null;
  return (
    <>
      {" "}
      <button type="button" className="link-button" onClick={() => askWhatIf(link)}>
        What if …?
      </button>
    </>
  );
}

interface DirectionsProps {
  names: readonly [string, string];
  chosen: Direction;
  onChoose: (direction: Direction) => void;
}

/** Choose the direction to which the fields below apply. */
function Directions({ names: [from, to], chosen, onChoose }: DirectionsProps) {
  const directions = [
    ["both", "both ways"],
    ["a", `${from} → ${to}`],
    ["b", `${to} → ${from}`],
  ] as const;
  return (
    <div className="segments" role="radiogroup" aria-label="Direction">
      {directions.map(([id, title]) => (
        <button
          key={id}
          type="button"
          role="radio"
          aria-checked={chosen === id}
          className="segment"
          onClick={() => onChoose(id)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

function differing(links: readonly DrawnLink[], word: string): string {
  const [only] = links;
  if (links.length !== 1 || only === undefined) return "differs";
  const values = (["a", "b"] as const).map((end) => valueOf(only, end, word).value ?? "none");
  return values.map(String).join(" / ");
}

interface QueueValue {
  kind: string;
  limit?: unknown;
  packets?: unknown;
  options?: unknown;
}

function queueOf(value: unknown): QueueValue {
  if (typeof value === "string") return { kind: value };
  if (typeof value === "object" && value !== null) return { kind: FIFO, ...(value as object) };
  return { kind: "" };
}

function QueueFields({ links, direction }: { links: readonly DrawnLink[]; direction: Direction }) {
  const { value, differs } = shared(links, direction, "queue");
  const queue = queueOf(value);
  const part = direction === "both" ? "options" : `${direction}_options`;
  const set = (changes: Partial<Record<keyof QueueValue, unknown>>) => {
    const { kind, ...rest } = { ...queue, ...changes };
    const words = Object.fromEntries(Object.entries(rest).filter(([, it]) => it !== undefined));
    const isPlain = Object.keys(words).length === 0;
    const changed = kind === "" && isPlain ? undefined : isPlain ? kind : { kind: kind || FIFO, ...words };
    setWord(links, direction, "queue", changed);
  };
  const options = Array.isArray(queue.options)
    ? queue.options.join(", ")
    : Object.entries((queue.options ?? {}) as object)
        .map((pair) => pair.join(" ").trim())
        .join(", ");
  return (
    <div className="pairs">
      <Choice
        field={`${part}.queue`}
        title="Queue"
        value={differs ? "" : queue.kind}
        choices={QUEUE_CHOICES}
        hint={differs ? `differs: ${differingQueues(links)}` : undefined}
        onChange={(kind) =>
          set(kind === "" ? { kind, limit: undefined, packets: undefined, options: undefined } : { kind })
        }
      />
      <TextField
        field={`${part}.queue.packets`}
        title="Queue size (packets)"
        value={queue.packets === undefined ? "" : String(queue.packets)}
        placeholder="default"
        check={units.whole(1, 10_000_000)}
        onChange={(text) => set({ packets: wholeOrText(text) })}
      />
      <TextField
        field={`${part}.queue.limit`}
        title="Queue size (bytes)"
        value={queue.limit === undefined ? "" : String(queue.limit)}
        placeholder="e.g. 250KB"
        check={units.size}
        onChange={(text) => set({ limit: orNothing(text) })}
      />
      <TextField
        field={`${part}.queue.options`}
        title="Other tc options"
        value={options}
        placeholder="e.g. target 5ms, ecn"
        onChange={(text) =>
          set({
            options:
              text === ""
                ? undefined
                : text
                    .split(",")
                    .map((it) => it.trim())
                    .filter(Boolean),
          })
        }
      />
    </div>
  );
}

function differingQueues(links: readonly DrawnLink[]): string {
  const [only] = links;
  if (links.length !== 1 || only === undefined) return "several";
  return (["a", "b"] as const).map((end) => queueName(valueOf(only, end, "queue").value) || "default").join(" / ");
}

function PortSection({ link, end, name, kind }: { link: DrawnLink; end: "a" | "b"; name: string; kind: string }) {
  const options = link[`${end}_options`];
  const port = usePort(link.id, end);
  const nic = (options.nic ?? {}) as Record<string, unknown>;
  const isSwitch = kind === "switch";
  const trunks = Array.isArray(options.trunks) ? options.trunks.join(", ") : textOf(options, "trunks");
  const set = (word: string, value: unknown) => setPortOption(link, end, word, value);
  const setNic = (word: string, value: string | undefined) => {
    const { [word]: _, ...rest } = nic;
    const changed = value === undefined ? rest : { ...rest, [word]: value };
    set("nic", Object.keys(changed).length === 0 ? undefined : changed);
  };
  const field = (word: string) => `${end}_options.${word}`;
  const input = ({ word, title, check, placeholder }: Field, read: (text: string) => unknown = orNothing) => (
    <TextField
      field={field(word)}
      title={title}
      value={textOf(options, word)}
      placeholder={placeholder}
      {...(check === undefined ? {} : { check })}
      onChange={(text) => set(word, read(text))}
    />
  );
  const offload = (word: string, title: string) => (
    <Choice
      field={field(`nic.${word}`)}
      title={title}
      value={textOf(nic, word)}
      choices={[
        ["", "automatic"],
        ["on", "on"],
        ["off", "off"],
      ]}
      onChange={(text) => setNic(word, orNothing(text))}
    />
  );
  const isSet = ["name", "ip", "mac", "mtu", "speed", "vlan", "trunks", "nic"].some(
    (word) => options[word] !== undefined,
  );
  return (
    <Section title={`Port at ${name}${port ? `: ${port.name}` : ""}`} isOpen={isSet || kind === "router"}>
      <div className="pairs">
        {input({ word: "name", title: "Port name", placeholder: port?.name ?? "automatic" })}
        {input(
          { word: "number", title: "Port number", check: units.whole(0, 65535), placeholder: "automatic" },
          wholeOrText,
        )}
        {!isSwitch &&
          input({ word: "ip", title: "IP address", check: units.address, placeholder: port?.addresses[0] ?? "none" })}
        {input({ word: "mac", title: "MAC address", check: units.mac, placeholder: port?.mac || "automatic" })}
        {input({ word: "mtu", title: "MTU", check: units.whole(68, 65535), placeholder: "1500" }, wholeOrText)}
        {input({ word: "speed", title: "Line rate", check: units.rate, placeholder: "40Gbps" })}
        {isSwitch ? (
          <>
            {input(
              { word: "vlan", title: "VLAN (untagged)", check: units.whole(1, 4094), placeholder: "none" },
              wholeOrText,
            )}
            <TextField
              field={field("trunks")}
              title="VLANs (tagged)"
              value={trunks}
              placeholder="none"
              check={units.vlanList}
              onChange={(text) => set("trunks", text === "" ? undefined : text.split(/[\s,]+/).map(wholeOrText))}
            />
          </>
        ) : (
          <>
            {offload("tso", "NIC: TSO")}
            {offload("gro", "NIC: GRO")}
            <TextField
              field={field("nic.coalescing")}
              title="Interrupt coalescing"
              value={textOf(nic, "coalescing")}
              placeholder="automatic"
              check={units.time}
              onChange={(text) => setNic("coalescing", orNothing(text))}
            />
            <TextField
              field={field("nic.queues")}
              title="NIC: queues"
              value={textOf(nic, "queues")}
              placeholder="1"
              check={units.whole(1, 64)}
              onChange={(text) => setNic("queues", orNothing(text))}
            />
          </>
        )}
      </div>
    </Section>
  );
}

/** The packets of a capture file: a list, the bytes of one of them, and all packets of a flow. */
import "./packets.css";
import { useEffect, useRef, useState } from "react";
import { errorText, showError } from "../connection";
import type { ListedPacket, PacketDetails, PacketPage } from "../protocol";
import { useDocument } from "../stores/document";
import { endHover, hoverAt, lastBefore, useHover } from "../stores/hover";
import { useRunning } from "../stores/running";
import { isDark, useView } from "../stores/view";
import { endCapture } from "./capture";
import { countText } from "./count";
import { fetched } from "./fetched";
import { colourOf, flowTitle } from "./flights";
import { showGraph, showList, useGraphs } from "./graphs";
import { Sequence } from "./Sequence";

const REFRESH_MS = 1000;
const TYPING_MS = 250;
const MAX_ROWS = 5000;

interface Props {
  path: string;
  version: number;
}

/** A capture file: its packets, or a time-sequence graph of one of its flows. */
export function CapturedPackets({ path, version }: Props) {
  const graph = useGraphs(({ flows }) => flows[path]);
  const capturing = useCapturing(path);
  if (graph === undefined) return <PacketList path={path} version={version} capturing={capturing} />;
  return (
    <Sequence
      path={path}
      version={version}
      flow={graph}
      isGrowing={capturing !== undefined}
      onFlow={(flow) => showGraph(path, flow)}
      onList={() => showList(path)}
    />
  );
}

/** The port that is being captured to a file, if it is. */
function useCapturing(path: string): string | undefined {
  return useRunning(({ captures, run }) =>
    run.phase === "running" ? captures.find((port) => path.split("/").at(-1)!.startsWith(port)) : undefined,
  );
}

function PacketList({ path, version, capturing }: Props & { capturing: string | undefined }) {
  const [typed, setTyped] = useState("");
  const [words, setWords] = useState("");
  const [flow, setFlow] = useState("");
  const [rows, setRows] = useState<readonly ListedPacket[]>([]);
  const [state, setState] = useState<"loading" | "read" | "cut" | "failed">("loading");
  const [error, setError] = useState("");
  const [chosen, setChosen] = useState<number | null>(null);
  const [total, setTotal] = useState(0);
  const isGrowing = capturing !== undefined;
  const names = useNames();
  const dark = useView(isDark);
  const scanned = useRef(0);

  useEffect(() => {
    const timer = window.setTimeout(() => setWords(typed), TYPING_MS);
    return () => window.clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    let isWanted = true;
    let timer = 0;
    scanned.current = 0;
    setRows([]);
    setState("loading");
    const read = async () => {
      try {
        const page = await fetched<PacketPage>(path, { after: scanned.current, words, flow });
        if (!isWanted) return;
        scanned.current = page.scanned;
        setTotal(page.total);
        if (page.packets.length > 0) setRows((before) => [...before, ...page.packets].slice(-MAX_ROWS));
        setState(page.is_cut ? "cut" : "read");
        if (isGrowing && !page.is_cut) timer = window.setTimeout(() => void read(), REFRESH_MS);
      } catch (reason) {
        if (!isWanted) return;
        setError(errorText(reason));
        setState("failed");
      }
    };
    void read();
    return () => {
      isWanted = false;
      window.clearTimeout(timer);
    };
  }, [path, version, words, flow, isGrowing]);

  const more = async () => {
    try {
      const page = await fetched<PacketPage>(path, { after: scanned.current, words, flow });
      scanned.current = page.scanned;
      setTotal(page.total);
      setRows((before) => [...before, ...page.packets].slice(-MAX_ROWS));
      setState(page.is_cut ? "cut" : "read");
    } catch (reason) {
      showError(reason);
    }
  };
  const nameOf = (address: string) => names.get(address);
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => {
    const times_s = rows.map(({ time_ns }) => time_ns / 1e9);
    let marked: Element | undefined;
    return useHover.subscribe(({ at_s, from }) => {
      marked?.classList.remove("is-near");
      if (at_s === null || from === "packets") return;
      marked = body.current?.children[lastBefore(times_s, at_s)];
      marked?.classList.add("is-near");
      marked?.scrollIntoView({ block: "nearest" });
    });
  }, [rows]);
  return (
    <div className="packets">
      <p className="packet-tools">
        <input
          aria-label="Filter packets"
          type="search"
          placeholder="filter by words: tcp syn 5201"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        {rows.some((packet) => packet.flow.startsWith("TCP ")) && (
          <button
            type="button"
            className="button"
            title="Draw what a TCP flow sent over time, and what was acknowledged"
            onClick={() => showGraph(path, "")}
          >
            Time–sequence graph
          </button>
        )}
        {flow !== "" && (
          <button type="button" className="button" title="Show the packets of all flows" onClick={() => setFlow("")}>
            {flowTitle(flow, nameOf)} ✕
          </button>
        )}
        <span className="hint" role="status">
          {state === "failed"
            ? error
            : state === "loading"
              ? "Loading…"
              : `${countText({ shown: rows.length, examined: scanned.current, total, isFiltered: words !== "" || flow !== "" })}${isGrowing ? ", still capturing" : ""}`}
        </span>
        {state === "cut" && (
          <button type="button" className="button" onClick={() => void more()}>
            Show more packets
          </button>
        )}
        {capturing !== undefined && (
          <button
            type="button"
            className="button"
            title={`Stop capturing packets at ${capturing}`}
            onClick={() => void endCapture(capturing)}
          >
            Stop capturing
          </button>
        )}
      </p>
      <div className="packet-rows" tabIndex={0} role="region" aria-label={`Packets of ${path}`}>
        <table>
          <thead>
            <tr>
              <th>No.</th>
              <th>Time</th>
              <th>Port</th>
              <th>Source</th>
              <th>Destination</th>
              <th>Protocol</th>
              <th>Bytes</th>
              <th>Info</th>
            </tr>
          </thead>
          <tbody ref={body} onPointerLeave={() => endHover("packets")}>
            {rows.map((packet) => (
              <tr
                key={packet.number}
                aria-selected={packet.number === chosen}
                onClick={() => setChosen(packet.number === chosen ? null : packet.number)}
                onPointerEnter={() => hoverAt(packet.time_ns / 1e9, "packets")}
              >
                <td>{packet.number}</td>
                <td className="packet-time">{(packet.time_ns / 1e9).toFixed(9)}</td>
                <td>
                  {packet.port &&
                    `${packet.port} ${packet.direction === "out" ? "→" : packet.direction === "in" ? "←" : ""}`}
                </td>
                <td>{nameOf(packet.source) ?? packet.source}</td>
                <td>{nameOf(packet.destination) ?? packet.destination}</td>
                <td>
                  <span
                    className="packet-mark"
                    style={{ background: colourOf(packet.flow, dark) }}
                    aria-hidden="true"
                  />{" "}
                  {packet.protocol}
                </td>
                <td>{packet.bytes}</td>
                <td className="packet-info">{packet.info}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {state === "read" && rows.length === 0 && (
          <p className="empty">
            {words || flow
              ? "No packet matches the filter."
              : isGrowing
                ? "No packet has been captured yet."
                : "The file has no packets."}
          </p>
        )}
      </div>
      {chosen !== null && (
        <Details
          path={path}
          packet={rows.find(({ number }) => number === chosen)}
          onFollow={setFlow}
          nameOf={nameOf}
          isFollowed={flow !== ""}
        />
      )}
    </div>
  );
}

interface DetailsProps {
  path: string;
  packet: ListedPacket | undefined;
  onFollow: (flow: string) => void;
  nameOf: (address: string) => string | undefined;
  isFollowed: boolean;
}

function Details({ path, packet, onFollow, nameOf, isFollowed }: DetailsProps) {
  const [details, setDetails] = useState<PacketDetails | null>(null);
  const number = packet?.number;
  useEffect(() => {
    let isWanted = true;
    setDetails(null);
    if (number !== undefined)
      void fetched<PacketDetails>(path, { number }).then(
        (found) => isWanted && setDetails(found),
        () => undefined,
      );
    return () => {
      isWanted = false;
    };
  }, [path, number]);
  if (packet === undefined) return null;
  return (
    <section className="packet-details" aria-label={`Packet ${packet.number}`}>
      <p className="packet-tools">
        <b>{packet.info}</b>
        {packet.flow !== "" && !isFollowed && (
          <button
            type="button"
            className="button"
            title={flowTitle(packet.flow, nameOf)}
            onClick={() => onFollow(packet.flow)}
          >
            Follow this flow
          </button>
        )}
        {packet.flow.startsWith("TCP ") && (
          <button type="button" className="button" onClick={() => showGraph(path, directionOf(packet))}>
            Time–sequence graph of this flow
          </button>
        )}
      </p>
      {details !== null && (
        <pre tabIndex={0}>
          {dump(details.data)}
          {details.data.length / 2 < details.bytes && `\n… ${details.bytes - details.data.length / 2} more bytes`}
        </pre>
      )}
    </section>
  );
}

/** The direction of a TCP packet: "10.0.0.1:40000 > 10.0.0.2:5201". */
function directionOf({ flow, source }: ListedPacket): string {
  const [, a = "", b = ""] = flow.split(" ");
  const isFromA = a.startsWith(source) || a.startsWith(`[${source}]`);
  return isFromA ? `${a} > ${b}` : `${b} > ${a}`;
}

/** Bytes as `hexdump -C` prints them. */
function dump(hex: string): string {
  const bytes = hex.match(/../g) ?? [];
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = bytes.slice(at, at + 16);
    const text = row
      .map((one) => Number.parseInt(one, 16))
      .map((code) => (code >= 32 && code < 127 ? String.fromCharCode(code) : "."));
    lines.push(`${at.toString(16).padStart(4, "0")}  ${row.join(" ").padEnd(47)}  ${text.join("")}`);
  }
  return lines.join("\n");
}

function useNames(): ReadonlyMap<string, string> {
  const ports = useRunning((state) => state.run.ports);
  const nodes = useDocument((state) => state.nodes);
  return new Map(
    ports.flatMap(({ addresses, node }) =>
      addresses.map((one) => [one.split("/")[0]!, nodes[node]?.name ?? node] as const),
    ),
  );
}

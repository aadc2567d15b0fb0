// Written by `python -m wanlab.web.typescript` from src/wanlab/web/protocol.py: change that.

export type NodeKind = "host" | "switch" | "router" | "controller";
export type ClockKind = "virtual" | "real";
export type Wire = "mtu" | "gso";
export type Pace = "real" | "fast";
export type End = "a" | "b";
export type Phase = "stopped" | "starting" | "running" | "stopping" | "failed";
export type Severity = "error" | "warning";
export type SeriesKind = "throughput" | "queue" | "cwnd" | "rtt" | "drops";

export interface SavedFile {
  path: string;
}

export interface OpenedTerminal {
  terminal: string;
}

export interface CaptureFile {
  path: string;
}

/** Where something is wrong: the thing ("" is the whole), and its field as the document has it:
 * "name", "options.ip", "a_options.rate", "preferences.ip_base". */
export interface Location {
  id: string;
  field: string;
}

/** What is wrong, and what to do. */
export interface DrawingProblem {
  what: string;
  hint: string;
  place: Location;
  severity: Severity;
}

/** Why a command was not carried out. `code`, where the browser can do something about it:
 * "not saved" (ask, then `discard`), "exists" (ask, then `overwrite`). */
export interface ErrorBody {
  what: string;
  hint: string;
  place: Location | null;
  code: string;
}

export interface CommandReply {
  reply: number;
  ok: unknown;
}

export interface CommandRefusal {
  reply: number;
  error: ErrorBody;
}

/** Things as they are from now on; those of ids that are new are added. */
export interface Elements {
  nodes: DrawnNode[];
  links: DrawnLink[];
  labels: DrawnLabel[];
}

/** What the editor edits. */
export interface Document {
  nodes: DrawnNode[];
  links: DrawnLink[];
  labels: DrawnLabel[];
  preferences: DocumentPreferences;
}

/** Options are those of the YAML format: ip, default_route, kind (of a switch), ... */
export interface DrawnNode {
  id: string;
  kind: NodeKind;
  name: string;
  x: number;
  y: number;
  options: Record<string, unknown>;
}

/** A link to a controller is what a switch obeys, and has no options.
 *
 * options     of both directions: rate, delay, jitter, loss, queue, ... (words of the YAML format)
 * a_options   of the port at a: name, ip, mac, number, speed, mtu, vlan, trunks, nic; and what holds
 *             for packets that leave through it only: rate, delay, ...
 * b_options   the same at b */
export interface DrawnLink {
  id: string;
  a: string;
  b: string;
  options: Record<string, unknown>;
  a_options: Record<string, unknown>;
  b_options: Record<string, unknown>;
}

/** A text on the canvas. */
export interface DrawnLabel {
  id: string;
  text: string;
  x: number;
  y: number;
}

/** Of the whole network. `application` has MiniEdit's own words: dpctl, netflow, openFlowVersions,
 * sflow, startCLI, switchType, terminalType. */
export interface DocumentPreferences {
  name: string;
  ip_base: string;
  clock: ClockKind;
  wire: Wire;
  seed: number;
  pace: Pace;
  application: Record<string, unknown>;
  extra: Record<string, unknown>;
}

/** From one revision to the next. */
export interface DocumentChanges {
  put: Elements;
  drop: string[];
  preferences: DocumentPreferences | null;
}

/** A port of the running network. */
export interface LivePort {
  link: string;
  end: End;
  node: string;
  name: string;
  mac: string;
  addresses: string[];
  is_up: boolean;
}

/** `status`: of a program that has ended; negative, the signal that ended it. */
export interface TerminalInfo {
  id: string;
  node: string;
  title: string;
  status: number | null;
  is_busy: boolean;
}

/** Samples of one curve: `values[i]` at `times_s[i]`, null where there is none. */
export interface SampleColumn {
  kind: SeriesKind;
  port: string;
  flow: string;
  unit: string;
  times_s: number[];
  values: (number | null)[];
}

/** What is watched of a port ("s1-eth2"). cwnd and rtt are those of the flows of a host's port; of
 * all hosts without one. */
export interface WatchedSeries {
  kind: SeriesKind;
  port: string;
}

export interface RecordInfo {
  name: string;
  made_at_s: number;
  seconds: number;
  topology: string;
}

/** Of one check; the reply to a lesson's "check" is a list of them. */
export interface CheckResult {
  what: string;
  points: number;
  of: number;
  found: string;
  wanted: string;
  hint: string;
}

/** `lines` are typed into each terminal of `where`: "client", "mininet" or names of nodes; "gui" is
 * what is done on the canvas. */
export interface LessonStep {
  n: number;
  at: string;
  where: string[];
  text: string;
  lines: string[];
  note: string;
  printed: string;
  can_type: boolean;
  do: Record<string, unknown>;
}

export interface LessonInfo {
  unit: string;
  kind: string;
  heading: string;
  goal: string;
  steps: number;
  done: number[];
  points: number | null;
  of: number | null;
  report: string | null;
}

/** GET /api/lessons/UNIT */
export interface LessonPage {
  unit: string;
  heading: string;
  markdown: string;
  steps: LessonStep[];
  has_topology: boolean;
  has_check: boolean;
  has_figure: boolean;
  decisions: string[];
  topologies: string;
}

export interface FileInfo {
  name: string;
  path: string;
  is_folder: boolean;
  bytes: number;
  changed_at_s: number;
}

/** GET /api/files?under= */
export interface Folder {
  path: string;
  files: FileInfo[];
}

/** One curve of one record. */
export interface ComparedColumn {
  record: string;
  title: string;
  unit: string;
  times_s: number[];
  values: (number | null)[];
}

export interface Comparison {
  panels: Record<string, ComparedColumn[]>;
}

/** WS /api/terminals/ID, as a text: [rows, columns]. Bytes are what was typed. */
export interface TerminalResize {
  resize: [number, number];
}

/** WS /api/terminals/ID, as a text: so many bytes of output have been shown since the last. */
export interface OutputAck {
  ack: number;
}

/** Everything at once: the first on a connection, and GET /api/state. */
export interface StatePush {
  push: "state";
  client: string;
  version: string;
  folder: string;
  document: DocumentPush;
  problems: ProblemsPush;
  ports: PortsPush;
  file: FilePush;
  draft: DraftPush;
  run: RunPush;
  clock: ClockPush;
  terminals: TerminalsPush;
  records: RecordsPush;
  captures: CapturesPush;
  lessons: LessonsPush;
}

/** `changes` lead from the revision before to this one; otherwise `document` is all of it. */
export interface DocumentPush {
  push: "document";
  revision: number;
  document: Document | null;
  changes: DocumentChanges | null;
  by: string;
  label: string;
  undo: string | null;
  redo: string | null;
}

export interface ProblemsPush {
  push: "problems";
  problems: DrawingProblem[];
}

/** The ports that the document means, with the names and addresses that they get by rule;
 * while something is wrong with it, those of before. */
export interface PortsPush {
  push: "ports";
  ports: LivePort[];
}

export interface FilePush {
  push: "file";
  path: string | null;
  name: string;
  is_saved: boolean;
}

/** What a server before this one had not saved. */
export interface DraftPush {
  push: "draft";
  name: string | null;
  nodes: number;
  saved_at_s: number;
}

export interface RunPush {
  push: "run";
  phase: Phase;
  error: ErrorBody | null;
  progress: string;
  ports: LivePort[];
  links_down: string[];
  is_stale: boolean;
  warnings: string[];
}

export interface ClockPush {
  push: "clock";
  now_ns: number;
  speed: number;
  pace: Pace;
  is_paused: boolean;
  is_moving: boolean;
  clock: ClockKind;
  stalled: string;
}

export interface TerminalsPush {
  push: "terminals";
  terminals: TerminalInfo[];
}

/** What came since the last one. */
export interface SamplesPush {
  push: "samples";
  columns: SampleColumn[];
}

export interface RecordsPush {
  push: "records";
  records: RecordInfo[];
  recording: string | null;
}

export interface CapturesPush {
  push: "captures";
  ports: string[];
}

export interface LessonsPush {
  push: "lessons";
  lessons: LessonInfo[];
  open_unit: string | null;
  working: string | null;
  working_step: string;
}

/** Files of the working folder that have come or changed. */
export interface FilesPush {
  push: "files";
  paths: string[];
}

/** A program wants a file of the working folder shown: `xdg-open`. */
export interface ShowPush {
  push: "show";
  path: string;
}

export interface MessagePush {
  push: "message";
  level: "info" | "warning" | "error";
  what: string;
  hint: string;
}

/** One action of the user: one step of undo. Links of dropped nodes are dropped with them. */
export interface EditCommand {
  do: "edit";
  put?: Elements;
  drop?: string[];
  preferences?: Record<string, unknown> | null;
  base?: number;
  label?: string;
  id?: number;
}

/** Takes the last edit back, whoever made it. */
export interface UndoCommand {
  do: "undo";
  id?: number;
}

/** Makes the last edit taken back again. */
export interface RedoCommand {
  do: "redo";
  id?: number;
}

/** An empty document. RefusedError where something is not saved, unless `discard`. */
export interface NewCommand {
  do: "new";
  discard?: boolean;
  id?: number;
}

/** A file of the working folder; or a text of the user's disk, under its name. */
export interface OpenCommand {
  do: "open";
  path: string;
  text?: string | null;
  discard?: boolean;
  id?: number;
}

/** Into the working folder; without a path where it came from. */
export interface SaveCommand {
  do: "save";
  path?: string | null;
  overwrite?: boolean;
  id?: number;
}

/** What a server before this one had not saved: take it, or throw it away. */
export interface DraftCommand {
  do: "draft";
  take: boolean;
  id?: number;
}

/** Makes the document a network. With a lesson open, as that one wants it. */
export interface RunCommand {
  do: "run";
  id?: number;
}

/** Ends the network and everything in it. */
export interface StopCommand {
  do: "stop";
  id?: number;
}

/** `node`: id of a node, or "client" (the machine's root namespace), or "prompt" (`mininet>`).
 * `command`: a program instead of a shell. */
export interface OpenTerminalCommand {
  do: "terminal";
  node: string;
  rows?: number;
  columns?: number;
  command?: string | null;
  id?: number;
}

export interface CloseTerminalCommand {
  do: "close_terminal";
  terminal: string;
  id?: number;
}

/** As if it were typed in that terminal. */
export interface TypeCommand {
  do: "type";
  terminal: string;
  text: string;
  id?: number;
}

/** Changes a link of the running network, and of the document; what is not named stays. Without
 * `end`, both directions; a word that is null goes away. */
export interface SetLinkCommand {
  do: "set_link";
  link: string;
  options: Record<string, unknown>;
  end?: End | null;
  id?: number;
}

/** Pulls the plug of the running network's link, or puts it back. */
export interface LinkUpCommand {
  do: "link_up";
  link: string;
  up: boolean;
  id?: number;
}

/** Of virtual time: never faster than the real clock, or as fast as it can be computed. */
export interface PaceCommand {
  do: "pace";
  pace: Pace;
  id?: number;
}

/** Virtual time stands still until the next one. */
export interface PauseCommand {
  do: "pause";
  paused: boolean;
  id?: number;
}

/** Lets so much virtual time pass ("100ms"), and pauses. */
export interface StepCommand {
  do: "step";
  duration: string;
  id?: number;
}

/** All that this browser wants to see from now on; nothing ends it. */
export interface WatchCommand {
  do: "watch";
  series: WatchedSeries[];
  interval_ms?: number;
  id?: number;
}

/** Begins to record, or ends it and writes the record. */
export interface RecordCommand {
  do: "record";
  on: boolean;
  name?: string;
  id?: number;
}

/** The same quantities of several records. */
export interface CompareCommand {
  do: "compare";
  records: string[];
  id?: number;
}

export interface DeleteRecordCommand {
  do: "drop_record";
  name: string;
  id?: number;
}

/** The packets of a port go to a file of the working folder, until it is told to end. */
export interface CaptureCommand {
  do: "capture";
  port: string;
  on: boolean;
  id?: number;
}

/** start: opens the unit's network beside its lesson; close: puts the lesson away; type: types a
 * step's commands into its terminals; progress: notes a step as done or not; check: grades the running
 * network; report: performs all steps of the unit in a machine of its own and makes a page. */
export interface LessonCommand {
  do: "lesson";
  unit: string;
  action: "start" | "close" | "type" | "progress" | "check" | "report" | "cancel_report";
  step?: number | null;
  done?: boolean;
  discard?: boolean;
  id?: number;
}

export type AnyCommand =
  | EditCommand
  | UndoCommand
  | RedoCommand
  | NewCommand
  | OpenCommand
  | SaveCommand
  | DraftCommand
  | RunCommand
  | StopCommand
  | OpenTerminalCommand
  | CloseTerminalCommand
  | TypeCommand
  | SetLinkCommand
  | LinkUpCommand
  | PaceCommand
  | PauseCommand
  | StepCommand
  | WatchCommand
  | RecordCommand
  | CompareCommand
  | DeleteRecordCommand
  | CaptureCommand
  | LessonCommand;

export type AnyPush =
  | StatePush
  | DocumentPush
  | ProblemsPush
  | PortsPush
  | FilePush
  | DraftPush
  | RunPush
  | ClockPush
  | TerminalsPush
  | SamplesPush
  | RecordsPush
  | CapturesPush
  | LessonsPush
  | FilesPush
  | ShowPush
  | MessagePush;

// Written by `python -m wanlab.web.typescript`: change the modules that it reads instead.

export type NodeKind = "host" | "switch" | "router" | "controller";
export type ClockKind = "virtual" | "real";
export type Wire = "mtu" | "gso";
export type Pace = "real" | "fast";
export type FrameColour = "" | "blue" | "green" | "yellow" | "red" | "purple";
export type End = "a" | "b";
export type Phase = "stopped" | "starting" | "running" | "stopping" | "failed";
export type Severity = "error" | "warning";
export type SeriesKind = "throughput" | "queue" | "cwnd" | "rtt" | "drops" | "load";
export type EventKind = "command" | "link" | "port" | "drop" | "marker" | "breakpoint";

/** The reply to "save". */
export interface SavedFile {
  path: string;
}

/** The reply to "terminal". */
export interface OpenedTerminal {
  terminal: string;
}

/** The reply to "capture". */
export interface CaptureFile {
  path: string;
}

/** Where something is wrong: the id of an element ("" for the document as a whole) and its field.
 *
 * Fields are named as in the document: "name", "options.ip", "a_options.rate",
 * "preferences.ip_base". */
export interface Location {
  id: string;
  field: string;
}

/** A problem of the document: what, where, and what to do about it. */
export interface DrawingProblem {
  what: string;
  hint: string;
  place: Location;
  severity: Severity;
  fix: "" | "address";
}

/** Why a command was not carried out.
 *
 * `code` is set where the browser can offer a way out: "not saved" (ask, then send the command
 * again with `discard`), "exists" (ask, then send it again with `overwrite`). */
export interface ErrorBody {
  what: string;
  hint: string;
  place: Location | null;
  code: string;
}

/** The reply to a command that was carried out; `reply` is its id. */
export interface CommandReply {
  reply: number;
  ok: unknown;
}

/** The reply to a command that was not carried out. */
export interface CommandRefusal {
  reply: number;
  error: ErrorBody;
}

/** Elements to add to a document, or to replace those with the same ids. */
export interface Elements {
  nodes: DrawnNode[];
  links: DrawnLink[];
  labels: DrawnLabel[];
  frames: DrawnFrame[];
}

/** What the editor edits. */
export interface Document {
  nodes: DrawnNode[];
  links: DrawnLink[];
  labels: DrawnLabel[];
  frames: DrawnFrame[];
  preferences: DocumentPreferences;
}

/** A node. Its options are those of the YAML format: ip, default_route, kind (of a switch), ... */
export interface DrawnNode {
  id: string;
  kind: NodeKind;
  name: string;
  x: number;
  y: number;
  options: Record<string, unknown>;
}

/** A link between the nodes `a` and `b`. A link to a controller has no options.
 *
 * options     for both directions: rate, delay, jitter, loss, queue, ... (as in the YAML format)
 * a_options   for the port at a: name, ip, mac, number, speed, mtu, vlan, trunks, nic; and conditions
 *             that hold only for packets that leave through it: rate, delay, ...
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

/** A rectangle behind the nodes, with a text; `x` and `y` are its upper left corner. */
export interface DrawnFrame {
  id: string;
  text: string;
  x: number;
  y: number;
  width: number;
  height: number;
  colour: FrameColour;
}

/** Settings of the whole network.
 *
 * `application` holds MiniEdit's own settings: dpctl, netflow, openFlowVersions, sflow, startCLI,
 * switchType, terminalType. */
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

/** How one revision of the document differs from the one before. */
export interface DocumentChanges {
  put: Elements;
  drop: string[];
  preferences: DocumentPreferences | null;
}

/** A setting of a command in a terminal at a node ("" for none), and its place in a drawing. */
export interface NodeSetting {
  node: string;
  line: string;
  drawn_as: string;
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
  tc: Record<string, unknown> | null;
  lost: string;
}

/** A terminal. `status` is the exit status of its program; negative, the signal that ended it. */
export interface TerminalInfo {
  id: string;
  node: string;
  title: string;
  status: number | null;
  is_busy: boolean;
  at_mininet: boolean;
}

/** Samples of one curve: `values[i]` at `times_s[i]`, null where there is no value. */
export interface SampleColumn {
  kind: SeriesKind;
  port: string;
  flow: string;
  unit: string;
  times_s: number[];
  values: (number | null)[];
}

/** A quantity of a port ("s1-eth2") that a browser draws.
 *
 * cwnd and rtt are those of the TCP flows of the port's host; load is that of a node, whose name is
 * the `port`. Without a port, those of all ports or nodes. */
export interface WatchedSeries {
  kind: SeriesKind;
  port: string;
}

/** A packet on its way over a link, from the port at `end`. Times are on the network's clock. */
export interface TracedPacket {
  number: number;
  link: string;
  end: End;
  bytes: number;
  queued_ns: number;
  sent_ns: number | null;
  received_ns: number | null;
  dropped_ns: number | null;
  reason: string;
  flow: string;
  protocol: string;
  info: string;
  is_data: boolean;
}

/** The reply to "step_to": the event and its instant. */
export interface EventStep {
  what: string;
  now_ns: number;
}

/** A packet of a capture file. `time_ns` is on the network's clock. */
export interface ListedPacket {
  number: number;
  time_ns: number;
  port: string;
  direction: string;
  bytes: number;
  source: string;
  destination: string;
  protocol: string;
  info: string;
  flow: string;
}

/** GET /api/packets/FILE?after=NUMBER&words=WORDS&flow=FLOW: packets of a capture file. */
export interface PacketPage {
  packets: ListedPacket[];
  scanned: number;
  is_cut: boolean;
  total: number;
}

/** GET /api/packets/FILE?number=NUMBER: the bytes of a packet that were captured. */
export interface PacketDetails {
  number: number;
  bytes: number;
  data: string;
}

/** The segments of a flow, as columns. Bytes count from the first one; `ends` are exclusive.
 *
 * kinds   "again": some bytes were sent before; "late": after newer ones, but not seen before
 * fates   "lost" or "arrived" if the file has both ends; otherwise "resent" if it was sent again */
export interface SentSegments {
  numbers: number[];
  times_ns: number[];
  starts: number[];
  ends: number[];
  kinds: ("new" | "again" | "late")[];
  fates: ("" | "arrived" | "lost" | "resent")[];
}

/** The acknowledgements of a flow, as columns. `window_ends` are null without the handshake. */
export interface Acknowledgements {
  numbers: number[];
  times_ns: number[];
  acks: number[];
  window_ends: (number | null)[];
  sacks: [number, number][][];
  duplicates: boolean[];
}

/** GET /api/packets/FILE?sequence=FLOW: what a flow sent, and what was acknowledged.
 *
 * flow    "10.0.0.1:40000 > 10.0.0.2:5201"; that with the most bytes if none was asked for
 * flows   all flows of the file that carry data, most bytes first */
export interface TimeSequencePage {
  flow: string;
  flows: string[];
  sent: SentSegments;
  answers: Acknowledgements;
  is_cut: boolean;
}

/** A record in the working folder. */
export interface RecordInfo {
  name: string;
  made_at_s: number;
  seconds: number;
  topology: string;
}

/** A file or folder of the working folder. */
export interface FileInfo {
  name: string;
  path: string;
  is_folder: boolean;
  bytes: number;
  changed_at_s: number;
}

/** GET /api/files?under=FOLDER: the entries of a folder. */
export interface Folder {
  path: string;
  files: FileInfo[];
}

/** A branch of the session: the recording from its start to its last instant. */
export interface BranchInfo {
  id: string;
  name: string;
  parent: string | null;
  left_ns: number;
  end_ns: number;
  changed: string;
  folder: string;
}

/** A branch in which happens again what happened in another one, with a change. */
export interface BranchPlayback {
  branch: string;
  source: string;
  until_ns: number;
}

/** The reply to "what_if": the new branch, and the file with the packets that were asked for. */
export interface RepeatedBranch {
  branch: string;
  capture: string;
}

/** A quantity of a port or a flow in several branches, over the same time: a value for each branch.
 *
 * Of drops, `highest` is the number of packets. A value is null if a branch does not have the curve. */
export interface BranchNumbers {
  kind: SeriesKind;
  port: string;
  flow: string;
  unit: string;
  means: (number | null)[];
  highest: (number | null)[];
}

/** A branch that is being replayed up to the instant from which it will continue. */
export interface BranchReplay {
  branch: string;
  at_ns: number;
  now_ns: number;
  passed_real_s: number;
  expected_real_s: number;
}

/** The reply to "cost": how long a replay up to an instant is expected to take. */
export interface ReplayCost {
  real_s: number;
  warning: string;
}

/** The output of a program at one instant. Each character of `text` is a byte. */
export interface TranscriptChunk {
  at_ns: number;
  text: string;
}

/** GET /api/branches/BRANCH/terminals: a terminal of a branch, with what it has shown.
 *
 * closed_ns   when it was closed, None if it was not */
export interface RecordedTerminal {
  id: string;
  node: string;
  title: string;
  opened_ns: number;
  closed_ns: number | null;
  output: TranscriptChunk[];
}

/** One curve of one record. */
export interface ComparedColumn {
  record: string;
  title: string;
  unit: string;
  times_s: number[];
  values: (number | null)[];
}

/** The reply to "compare": curves by the title of their panel. */
export interface Comparison {
  panels: Record<string, ComparedColumn[]>;
}

/** Text on WS /api/terminals/ID: the new size in [rows, columns]. Binary messages are keys. */
export interface TerminalResize {
  resize: [number, number];
}

/** First text on WS /api/terminals/ID from the server: how many of the bytes that follow were
 * printed before; queries in them have been answered already. `keys` is as in KeysAck. */
export interface OutputHistory {
  history: number;
  keys: number;
}

/** Text on WS /api/terminals/ID: how many more bytes of output have been displayed. */
export interface OutputAck {
  ack: number;
}

/** Text on WS /api/terminals/ID from the server: how many bytes of the page's keys have arrived. */
export interface KeysAck {
  keys: number;
}

/** The result of one check. The reply to a lesson's "check" is a list of them. */
export interface CheckResult {
  what: string;
  points: number;
  of: number;
  measured: string;
  expected: string;
  hint: string;
  passed: boolean;
}

/** A number that a step measures: the manual's, what is expected here, and why they may differ. */
export interface StepFigure {
  what: string;
  manual: string;
  expected: string;
  why: string;
  cause: string;
}

/** A step of a lesson.
 *
 * `lines` are typed into each terminal of `where`: "client", "mininet" or the names of nodes.
 * "gui" stands for a step on the canvas. */
export interface LessonStep {
  n: number;
  at: string;
  where: string[];
  text: string;
  lines: string[];
  note: string;
  printed: string;
  can_type: boolean;
  action: string;
  can_perform: boolean;
  kind: "canvas" | "type" | "enter" | "stop" | "wait" | "look" | "skip";
  counts: boolean;
  is_optional: boolean;
  keeps_running: boolean;
  waits_for_enter: boolean;
  ends: string;
  for_s: number | null;
  takes_s: number;
  figures: StepFigure[];
}

/** Help with a mistake that was seen in a step of the open unit. */
export interface StepHint {
  step: number;
  text: string;
}

/** A unit of the course, and the progress in it. */
export interface LessonInfo {
  unit: string;
  kind: string;
  heading: string;
  goal: string;
  steps: number;
  done: number[];
  points: number | null;
  of: number | null;
  results: CheckResult[];
  report: string | null;
  handed_in_s: number | null;
}

/** GET /api/lessons/UNIT: the lesson of a unit. */
export interface LessonPage {
  unit: string;
  heading: string;
  markdown: string;
  steps: LessonStep[];
  has_topology: boolean;
  has_check: boolean;
  has_figure: boolean;
  decisions: string[];
}

/** Something that happened at an instant of the network's clock.
 *
 * command      a line was typed at `where`; `until_ns` and `status` once it has ended, and whether
 *              Ctrl-C was typed before
 * link         a link was changed on the page: as drawn `before` and `after`, or `up`
 * port         a port was changed in the network, by tc or ip, from `port_before` to `port_after`
 * drop         `count` packets were dropped at the port `where` until `until_ns`; 0 if the count
 *              is not known
 * marker       the user has marked an instant
 * breakpoint   time was paused at a breakpoint */
export interface SessionEvent {
  number: number;
  at_ns: number;
  kind: EventKind;
  text: string;
  until_ns: number | null;
  where: string;
  terminal: string;
  count: number;
  status: number | null;
  is_interrupted: boolean;
  before: DrawnLink | null;
  after: DrawnLink | null;
  up: boolean | null;
  link: string;
  port_before: LivePort | null;
  port_after: LivePort | null;
}

/** A part without a counterpart, its place, and what to do about it. */
export interface ImportNote {
  place: string;
  what: string;
  hint: string;
}

/** The reply to "open" for a topology of another program. */
export interface ImportedFile {
  program: string;
  notes: ImportNote[];
}

/** A prediction of a figure, with the measurement; "" if there is none. */
export interface GalleryPrediction {
  claim: string;
  published: string;
  band: string;
  measured: string;
  words: string;
}

/** A published figure, and its measurements in this folder. */
export interface GalleryFigure {
  name: string;
  title: string;
  source: string;
  link: string;
  page: string;
  predictions: GalleryPrediction[];
  verdict: string;
  causes: string[];
  runs: number;
  seeds: number;
  figure: string;
}

/** The reply to GET /api/gallery. */
export interface Gallery {
  figures: GalleryFigure[];
  running: string;
  progress: string;
}

/** The progress of a student in a unit. */
export interface UnitState {
  unit: string;
  done: number;
  steps: number;
  points: number | null;
  of: number | null;
}

/** A row of what `wanlab lab grade` has written. */
export interface GradeRow {
  unit: string;
  points: number;
  of: number;
  late: string;
  missed: string;
  error: string;
}

/** A student's hand-ins for a unit: the time of the last one, and their number. */
export interface HandInRow {
  unit: string;
  at_s: number;
  count: number;
}

/** A student's row on the page. */
export interface StudentRow {
  name: string;
  number: number;
  seed: number;
  is_online: boolean;
  seen_s: number | null;
  phase: string;
  nodes: number;
  open_unit: string;
  units: UnitState[];
  hand_ins: HandInRow[];
  grades: GradeRow[];
  disk_bytes: number;
  disk_limit_bytes: number;
  hand_raised_s: number | null;
  idle_since_s: number | null;
}

/** GET /api/class. */
export interface ClassState {
  folder: string;
  now_s: number;
  networks: number | null;
  graded_s: number | null;
  students: StudentRow[];
  has_links: boolean;
  grading: string;
  grading_result: string;
}

/** An element of GET /api/class/links: the address with which a student signs in. */
export interface StudentLink {
  name: string;
  link: string;
}

/** Everything at once: the first push on a connection, and the reply to GET /api/state. */
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
  breakpoints: BreakpointsPush;
  settings: SettingsPush;
  branches: BranchesPush;
  lessons: LessonsPush;
}

/** The document: either all of it, or the changes since the revision before. */
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

/** The problems of the document. */
export interface ProblemsPush {
  push: "problems";
  problems: DrawingProblem[];
}

/** The ports of the document, with the names and addresses that they will get.
 *
 * While the document has problems, these are the ports of its last sound revision. */
export interface PortsPush {
  push: "ports";
  ports: LivePort[];
}

/** The file of the document. */
export interface FilePush {
  push: "file";
  path: string | null;
  name: string;
  is_saved: boolean;
}

/** Unsaved edits of an earlier server. */
export interface DraftPush {
  push: "draft";
  name: string | null;
  nodes: number;
  saved_at_s: number;
}

/** The running network. */
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

/** The network's clock. */
export interface ClockPush {
  push: "clock";
  now_ns: number;
  speed: number;
  pace: Pace;
  wanted_speed: number;
  runs_always: boolean;
  is_paused: boolean;
  is_moving: boolean;
  clock: ClockKind;
  stalled: string;
}

/** The terminals that are open. */
export interface TerminalsPush {
  push: "terminals";
  terminals: TerminalInfo[];
}

/** The samples taken since the last push. */
export interface SamplesPush {
  push: "samples";
  columns: SampleColumn[];
}

/** The records, and whether one is being made. */
export interface RecordsPush {
  push: "records";
  records: RecordInfo[];
  recording: string | null;
}

/** The captures that are being written. */
export interface CapturesPush {
  push: "captures";
  ports: string[];
}

/** Packets that have moved since the last push; sent in slow motion and while time is paused. */
export interface PacketsPush {
  push: "packets";
  packets: TracedPacket[];
  left_out: number;
  gone: number[];
  is_over: boolean;
}

/** The breakpoints, which pause virtual time. */
export interface BreakpointsPush {
  push: "breakpoints";
  breakpoints: string[];
  reached: string;
}

/** Settings that `ip`, `ethtool`, `sysctl` and the like have made in terminals of the network. */
export interface SettingsPush {
  push: "settings";
  settings: NodeSetting[];
}

/** The branches of the session, of which at most one is live: its network runs. */
export interface BranchesPush {
  push: "branches";
  branches: BranchInfo[];
  live: string | null;
  replay: BranchReplay | null;
  playback: BranchPlayback | null;
  refusal: string;
}

/** The units of the course. */
export interface LessonsPush {
  push: "lessons";
  lessons: LessonInfo[];
  open_unit: string | null;
  folder: string;
  checking: string;
  starting: string;
  working: string | null;
  working_step: string;
  is_class: boolean;
  hand_raised_s: number | null;
  is_looked_at: boolean;
  hint: StepHint | null;
  running_steps: number[];
}

/** Files of the working folder that are new or have changed. */
export interface FilesPush {
  push: "files";
  paths: string[];
}

/** A program has asked to show a file of the working folder, with `xdg-open`. */
export interface ShowPush {
  push: "show";
  path: string;
}

/** A message for the user. */
export interface MessagePush {
  push: "message";
  level: "info" | "warning" | "error";
  what: string;
  hint: string;
}

/** `plot_q.sh` has begun to draw the queue of a port. */
export interface QueueChartPush {
  push: "queue_chart";
  port: string;
}

/** Events of a branch that are new or have changed. */
export interface SessionEventsPush {
  push: "events";
  branch: string;
  events: SessionEvent[];
}

/** Which figure is being run, and how far it is; "" if none is. Figures may have changed then. */
export interface GalleryPush {
  push: "gallery";
  running: string;
  progress: string;
}

/** Do nothing. The reply shows the page that its connection works. */
export interface HeartbeatCommand {
  do: "heartbeat";
  id?: number;
}

/** Change the document. One action of the user is one edit, and one step of undo.
 *
 * `drop` holds the ids of elements to delete; links of deleted nodes are deleted with them. */
export interface EditCommand {
  do: "edit";
  put?: Elements;
  drop?: string[];
  preferences?: Record<string, unknown> | null;
  label?: string;
  id?: number;
}

/** Give the drawn network subnets, addresses and routes. */
export interface AddressCommand {
  do: "address";
  id?: number;
}

/** Undo the last edit of any browser. */
export interface UndoCommand {
  do: "undo";
  id?: number;
}

/** Redo the last edit that was undone. */
export interface RedoCommand {
  do: "redo";
  id?: number;
}

/** Start an empty document. Refused if there are unsaved changes, unless `discard`. */
export interface NewCommand {
  do: "new";
  discard?: boolean;
  id?: number;
}

/** Draw a network of a known shape: "tree,depth=2,fanout=3,rate=10Mbps". */
export interface GenerateCommand {
  do: "generate";
  shape: string;
  discard?: boolean;
  id?: number;
}

/** Open a file of the working folder; or, given its text, a file of the user's computer.
 *
 * A topology of containerlab or GNS3 is imported; the reply lists the parts without a counterpart. */
export interface OpenCommand {
  do: "open";
  path: string;
  text?: string | null;
  discard?: boolean;
  id?: number;
}

/** Save to a path in the working folder; without one, to the file that was opened. */
export interface SaveCommand {
  do: "save";
  path?: string | null;
  overwrite?: boolean;
  id?: number;
}

/** Restore what an earlier server had not saved (`take`), or discard it. */
export interface DraftCommand {
  do: "draft";
  take: boolean;
  id?: number;
}

/** Start the network. If a lesson is open, start it as the lesson needs it. */
export interface RunCommand {
  do: "run";
  id?: number;
}

/** End the network and everything in it. */
export interface StopCommand {
  do: "stop";
  id?: number;
}

/** Open a terminal.
 *
 * node      the id of a node, "client" (the machine's root namespace) or "prompt" (`mininet>`)
 * command   a program to run instead of a shell */
export interface OpenTerminalCommand {
  do: "terminal";
  node: string;
  rows?: number;
  columns?: number;
  command?: string | null;
  id?: number;
}

/** Close a terminal and end its program. */
export interface CloseTerminalCommand {
  do: "close_terminal";
  terminal: string;
  id?: number;
}

/** Type a text into a terminal. */
export interface TypeCommand {
  do: "type";
  terminal: string;
  text: string;
  id?: number;
}

/** Type a text into several terminals at the same instant of virtual time. */
export interface TypeTogetherCommand {
  do: "type_together";
  terminals: string[];
  text: string;
  id?: number;
}

/** Change a link of the running network and of the document.
 *
 * Options that are not named stay as they are, and null removes one. Without `end`, the change
 * holds for both directions. */
export interface SetLinkCommand {
  do: "set_link";
  link: string;
  options: Record<string, unknown>;
  end?: End | null;
  id?: number;
}

/** Copy the settings of `tc` at the ports of a running link into the document. */
export interface TakeTcCommand {
  do: "take_tc";
  link: string;
  id?: number;
}

/** Copy the settings that terminals made at a node into the document. */
export interface TakeSettingsCommand {
  do: "take_settings";
  node: string;
  id?: number;
}

/** Unplug a link of the running network, or plug it in again. */
export interface LinkUpCommand {
  do: "link_up";
  link: string;
  up: boolean;
  id?: number;
}

/** Name everything that this browser draws from now on; an empty list ends it. */
export interface WatchCommand {
  do: "watch";
  series: WatchedSeries[];
  id?: number;
}

/** Ask for the samples of the last minutes; the reply is a list of columns. */
export interface HistoryCommand {
  do: "history";
  series: WatchedSeries[];
  branch?: string;
  id?: number;
}

/** Ask for means and highest values of branches beside each other, from an instant on. */
export interface NumbersCommand {
  do: "numbers";
  branches: string[];
  until_ns: number;
  from_ns?: number;
  id?: number;
}

/** Let virtual time pass no faster than the real clock, or as fast as it can be computed. */
export interface PaceCommand {
  do: "pace";
  pace: Pace;
  speed?: number;
  id?: number;
}

/** Let virtual time pass always, or only while a command runs. */
export interface LetRunCommand {
  do: "let_run";
  always: boolean;
  id?: number;
}

/** Pause virtual time, or resume it. */
export interface PauseCommand {
  do: "pause";
  paused: boolean;
  id?: number;
}

/** Let a duration of virtual time pass ("100ms"), and pause. */
export interface StepCommand {
  do: "step";
  duration: string;
  id?: number;
}

/** Let virtual time pass to the next event of a kind, and pause at that instant.
 *
 * packet   a packet is queued, sent or received at `port`, or at any port without one
 * drop     a port drops a packet
 * ack      an established TCP connection receives an acknowledgement without data
 * timer    a timer of the kernel expires */
export interface StepToCommand {
  do: "step_to";
  event: "packet" | "drop" | "ack" | "timer";
  port?: string;
  id?: number;
}

/** Set a breakpoint, or remove it: "queue > 1 MB", "queue of s1-eth2 > 1 MB", "first loss",
 * "10 s". */
export interface BreakCommand {
  do: "break";
  text: string;
  on?: boolean;
  id?: number;
}

/** Replay a branch up to an instant, and continue from there as a new branch.
 *
 * The reply comes when the new branch is live, and paused. At the end of a branch that is not live,
 * that branch itself continues. */
export interface ContinueCommand {
  do: "continue";
  branch: string;
  at_ns: number;
  id?: number;
}

/** Repeat a branch with another value from an instant on, as a new branch that runs by itself.
 *
 * The branch is replayed up to the instant. Then `options` of the link are set, in the direction of
 * `end` or in both, or the packets at `capture` (two ports: of the sender and of the receiver) are
 * written to a file; and what the user did after that instant happens again. The reply comes when
 * that begins. "cancel_continue" ends it. */
export interface WhatIfCommand {
  do: "what_if";
  branch: string;
  at_ns: number;
  link?: string;
  options?: Record<string, unknown>;
  end?: End | null;
  capture?: string[];
  id?: number;
}

/** Cancel the replay; the network that ran before stays live. */
export interface CancelContinueCommand {
  do: "cancel_continue";
  id?: number;
}

/** Ask how long a replay of a branch up to an instant is expected to take. */
export interface CostCommand {
  do: "cost";
  branch: string;
  at_ns: number;
  id?: number;
}

/** Mark an instant of a branch; without `at_ns`, the present one of the live branch. */
export interface MarkerCommand {
  do: "marker";
  text: string;
  branch?: string;
  at_ns?: number | null;
  id?: number;
}

/** Give a branch another name. */
export interface RenameBranchCommand {
  do: "rename_branch";
  branch: string;
  name: string;
  id?: number;
}

/** Forget a branch that is not live. */
export interface DropBranchCommand {
  do: "drop_branch";
  branch: string;
  id?: number;
}

/** Start recording, or stop and write the record. */
export interface RecordCommand {
  do: "record";
  on: boolean;
  name?: string;
  id?: number;
}

/** Ask for the same quantities of several records. */
export interface CompareCommand {
  do: "compare";
  records: string[];
  id?: number;
}

/** Delete a record. */
export interface DeleteRecordCommand {
  do: "drop_record";
  name: string;
  id?: number;
}

/** Start writing the packets of a port to a file of the working folder, or stop.
 *
 * arrival   another port whose packets are in the file, too
 * filter    an expression of tcpdump, such as "tcp port 5201"
 * snaplen   how many bytes of each packet to keep; 0 keeps whole packets */
export interface CaptureCommand {
  do: "capture";
  port: string;
  on: boolean;
  arrival?: string;
  filter?: string;
  snaplen?: number;
  id?: number;
}

/** Do something with a unit of the course.
 *
 * start           open its network beside the lesson
 * start_at        perform the steps before `step`, and go on there with the running network; the
 *                 reply is the ids of the terminals that it has opened
 * cancel_start    stop performing them
 * close           close the lesson
 * type            type the commands of a step into its terminals
 * interrupt       press Ctrl-C in the terminals that run the commands of a step
 * perform         perform a step on the canvas; the reply is the ids of terminals it has opened
 * progress        mark a step as done, or as not done
 * check           grade the running network
 * report          perform all steps of the unit in a separate machine and write a page
 * cancel_report   stop making the report
 * raise_hand      in a class, ask the teacher for help
 * lower_hand      the help is no longer needed
 * hand_in         in a class, pack what was done and give it to the teacher
 *
 * start and start_at set the start jitter ("5ms"): how much later commands may start that are started
 * together, each by a delay that the seed draws. */
export interface LessonCommand {
  do: "lesson";
  unit: string;
  action: "start" | "start_at" | "cancel_start" | "close" | "type" | "interrupt" | "raise_hand" | "lower_hand" | "perform" | "progress" | "check" | "report" | "cancel_report" | "hand_in";
  step?: number | null;
  done?: boolean;
  discard?: boolean;
  overwrite?: boolean;
  start_jitter?: string;
  id?: number;
}

/** Run a published figure of the gallery, or stop running one. */
export interface GalleryCommand {
  do: "gallery";
  action: "run" | "cancel";
  name?: string;
  id?: number;
}

export type AnyCommand =
  | HeartbeatCommand
  | EditCommand
  | AddressCommand
  | UndoCommand
  | RedoCommand
  | NewCommand
  | GenerateCommand
  | OpenCommand
  | SaveCommand
  | DraftCommand
  | RunCommand
  | StopCommand
  | OpenTerminalCommand
  | CloseTerminalCommand
  | TypeCommand
  | TypeTogetherCommand
  | SetLinkCommand
  | TakeTcCommand
  | TakeSettingsCommand
  | LinkUpCommand
  | WatchCommand
  | HistoryCommand
  | NumbersCommand
  | PaceCommand
  | LetRunCommand
  | PauseCommand
  | StepCommand
  | StepToCommand
  | BreakCommand
  | ContinueCommand
  | WhatIfCommand
  | CancelContinueCommand
  | CostCommand
  | MarkerCommand
  | RenameBranchCommand
  | DropBranchCommand
  | RecordCommand
  | CompareCommand
  | DeleteRecordCommand
  | CaptureCommand
  | LessonCommand
  | GalleryCommand;

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
  | PacketsPush
  | BreakpointsPush
  | SettingsPush
  | BranchesPush
  | LessonsPush
  | FilesPush
  | ShowPush
  | MessagePush
  | QueueChartPush
  | SessionEventsPush
  | GalleryPush;

/** Names of options in the undo menu, where they are not their words. */
export const OPTION_NAMES: Readonly<Record<string, string>> = {
  address: "IP address",
  corrupt: "corruption",
  cpu: "processor",
  distribution: "jitter distribution",
  dpid: "DPID",
  duplicate: "duplication",
  fail_mode: "behaviour without a controller",
  frr: "frr.conf",
  ip: "IP address",
  ip_base: "IP base",
  kind: "type",
  listen_port: "DPCTL port",
  mac: "MAC address",
  mtu: "MTU",
  name: "name",
  netflow: "NetFlow",
  nic: "NIC",
  number: "port number",
  port: "controller port",
  protocols: "OpenFlow versions",
  reorder: "reordering",
  reorder_correlation: "reordering correlation",
  reorder_gap: "reordering gap",
  sflow: "sFlow",
  speed: "line rate",
  start_cli: "Start CLI",
  stp: "spanning tree",
  trunks: "tagged VLANs",
  vlan: "untagged VLAN",
  vlan_filtering: "VLAN filtering",
  vlan_interfaces: "VLAN interfaces",
};

/** Options that are conditions of a direction; all others belong to a port. */
export const CONDITIONS: readonly string[] = [
  "rate",
  "delay",
  "jitter",
  "delay_correlation",
  "distribution",
  "loss",
  "loss_correlation",
  "duplicate",
  "corrupt",
  "reorder",
  "reorder_correlation",
  "reorder_gap",
  "queue",
  "trace",
  "trace_once",
  "schedule",
  "schedule_repeat",
];

/** The settings that the form of a link has fields for; some vary in schedules. */
export const LINK_SETTINGS = [
  { word: "rate", label: "Rate", kind: "rate", varies: true },
  { word: "delay", label: "Delay", kind: "time", varies: true },
  { word: "jitter", label: "Jitter", kind: "time", varies: true },
  { word: "delay_correlation", label: "Delay correlation", kind: "fraction", varies: false },
  { word: "loss", label: "Loss", kind: "fraction", varies: true },
  { word: "loss_correlation", label: "Loss correlation", kind: "fraction", varies: false },
  { word: "duplicate", label: "Duplicated", kind: "fraction", varies: false },
  { word: "corrupt", label: "Corrupted", kind: "fraction", varies: false },
  { word: "reorder", label: "Reordered", kind: "fraction", varies: false },
  { word: "reorder_correlation", label: "Reordering correlation", kind: "fraction", varies: false },
  { word: "reorder_gap", label: "Reordering gap", kind: "count", varies: false },
] as const;

/** The queues that the default kernel has, and their labels. */
export const QUEUES = [
  ["fifo", "fifo (drop-tail)"],
  ["red", "RED"],
  ["codel", "CoDel"],
  ["fq_codel", "FQ_CoDel"],
  ["fq", "fq"],
  ["pie", "PIE"],
  ["fq_pie", "FQ_PIE"],
  ["cake", "CAKE"],
  ["sfq", "SFQ"],
  ["sfb", "SFB"],
  ["choke", "CHOKe"],
  ["drr", "DRR"],
  ["prio", "prio"],
  ["hfsc", "HFSC"],
  ["htb", "HTB"],
  ["tbf", "tbf"],
] as const;

/**
 * The live connection to the server: commands out, replies and pushes in.
 *
 * The server holds the state. When the connection is lost it is reopened automatically, and its first
 * push brings the whole state; commands that were in progress fail with a CommandError. A connection that
 * does not answer is "silent", and soon replaced: a lost network closes no connection.
 *
 *     await send({ do: "save" })           resolves to the reply; throws a CommandError if refused
 *     await perform({ do: "undo" })        the same, but a refusal shows a toast and gives null
 *     onPush("samples", (push) => ...)     calls back for every push of that kind, until unsubscribed
 *     await request("api/gallery")         an HTTP request; throws a CommandError if it fails
 */
import { create } from "zustand";
import type {
  AnyCommand,
  AnyPush,
  BranchNumbers,
  CaptureFile,
  Comparison,
  ErrorBody,
  EventStep,
  OpenedTerminal,
  RepeatedBranch,
  ReplayCost,
  SampleColumn,
  SavedFile,
} from "./protocol";
import { Heartbeat } from "./heartbeat";
import { closeToastsAbout, toast } from "./stores/toasts";

/** "signed out": only a JupyterHub can sign the user in again, at the next request for the page. */
export type Status = "connecting" | "open" | "silent" | "lost" | "refused" | "signed out";

interface Connection {
  status: Status;
  /** The name that the server has given this browser, as in `by` of documents. */
  client: string;
  version: string;
  folder: string;
}

export const useConnection = create<Connection>(() => ({
  status: "connecting",
  client: "",
  version: "",
  folder: "",
}));

/** The replies to commands whose reply is used. */
interface Replies {
  save: SavedFile;
  terminal: OpenedTerminal;
  capture: CaptureFile | null;
  compare: Comparison;
  step_to: EventStep;
  continue: string;
  what_if: RepeatedBranch;
  numbers: readonly BranchNumbers[];
  cost: ReplayCost;
  history: readonly SampleColumn[];
}

/** Whether this page shows a student's laboratory to the teacher, who can change nothing. */
export const LOOKS = globalThis.document?.documentElement.dataset.looks !== undefined;

const ONLY_LOOKING = { what: "you can only view this laboratory", hint: "only the student can change it" };

type CommandWord = AnyCommand["do"];
export type CommandOf<W extends CommandWord> = Omit<Extract<AnyCommand, { do: W }>, "id">;
export type ReplyTo<W extends CommandWord> = W extends keyof Replies ? Replies[W] : unknown;
export type PushOf<K extends AnyPush["push"]> = Extract<AnyPush, { push: K }>;

export class CommandError extends Error {
  readonly what: string;
  readonly hint: string;
  readonly code: string;
  readonly place: ErrorBody["place"];

  constructor(error: Partial<ErrorBody> & { what: string }) {
    super(error.what);
    this.what = error.what;
    this.hint = error.hint ?? "";
    this.code = error.code ?? "";
    this.place = error.place ?? null;
  }
}

interface PendingCommand {
  done: (reply: never) => void;
  fail: (error: CommandError) => void;
}

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 4000;
const CHECK_MS = 1000;
const RETRY_LIMIT_MS = 5000;
/** The code of errors that are over once the connection is back. */
const OFFLINE = "offline";

let socket: WebSocket | null = null;
let heartbeat = new Heartbeat(performance.now());
let lastId = 0;
let retryMs = FIRST_RETRY_MS;
const pending = new Map<number, PendingCommand>();
const listeners = new Map<string, Set<(push: never) => void>>();

/** Send a command and wait for its reply. */
export function send<W extends CommandWord>(command: { do: W } & CommandOf<W>): Promise<ReplyTo<W>> {
  return new Promise((done, fail) => {
    if (socket?.readyState !== WebSocket.OPEN) {
      const hint = "trying to reconnect; saved work is safe";
      fail(new CommandError({ what: "not connected to wanlab", hint, code: OFFLINE }));
      return;
    }
    lastId += 1;
    pending.set(lastId, { done: done as (reply: never) => void, fail });
    socket.send(JSON.stringify({ id: lastId, ...command }));
  });
}

/** Send a command and wait for its reply; if it is refused, tell the user and return null. */
export async function perform<W extends CommandWord>(command: CommandOf<W> & { do: W }): Promise<ReplyTo<W> | null> {
  try {
    return await send<W>(command);
  } catch (error) {
    showError(error);
    return null;
  }
}

/** Send a command; return whether it was carried out, and tell the user if it was not. */
export async function succeeds<W extends CommandWord>(command: CommandOf<W> & { do: W }): Promise<boolean> {
  try {
    await send<W>(command);
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

export function showError(error: unknown): void {
  const { what, hint } = explained(error);
  toast("error", what, hint, error instanceof CommandError ? error.code : "");
}

/** An error in one line, for a place where the content would be. */
export function errorText(error: unknown): string {
  const { what, hint } = explained(error);
  return hint === "" ? what : `${what} (${hint})`;
}

function explained(error: unknown): { what: string; hint: string } {
  if (error instanceof CommandError) return error;
  const hint = "reload the page; if it happens again, please report it";
  return { what: `internal error of the page: ${error instanceof Error ? error.message : String(error)}`, hint };
}

/** Send an HTTP request to the server. All URLs are relative to the page's. A CommandError says why it failed. */
export async function request(url: string, options: RequestInit = {}): Promise<Response> {
  if (LOOKS && (options.method ?? "GET") !== "GET") throw new CommandError(ONLY_LOOKING);
  const response = await fetch(url, { cache: "no-store", ...options }).catch(() => null);
  if (response === null) {
    throw new CommandError({ what: "wanlab does not answer", hint: "is `wanlab web` still running?" });
  }
  if (!response.ok) throw new CommandError(await refusal(response));
  return response;
}

/** Why the server has refused a request. Pages of proxies and of the access check are not JSON. */
async function refusal(response: Response): Promise<Partial<ErrorBody> & { what: string }> {
  const body = (await response.json().catch(() => null)) as ErrorBody | null;
  if (typeof body?.what === "string") return body;
  if (response.status === 401) return { what: "you are signed out", hint: "reload the page" };
  if (response.status === 403) {
    return {
      what: "this page no longer has access to wanlab",
      hint: "open the address that wanlab printed, or the link of your class, again",
    };
  }
  return { what: `wanlab answered with HTTP status ${response.status}`, hint: "reload the page" };
}

/** Subscribe to all pushes of a kind; the returned function unsubscribes. */
export function onPush<K extends AnyPush["push"]>(kind: K, listener: (push: PushOf<K>) => void): () => void {
  const set = listeners.get(kind) ?? new Set();
  listeners.set(kind, set);
  set.add(listener as (push: never) => void);
  return () => set.delete(listener as (push: never) => void);
}

/** The URL of a WebSocket of this server; `path` is relative to the page's. */
export function socketAddress(path: string): string {
  return new URL(path, window.location.href).href.replace(/^http/, "ws");
}

/** Open the connection, and reopen it whenever it is lost. */
export function connect(): void {
  const opened = new WebSocket(socketAddress("api/live"));
  socket = opened;
  heartbeat = new Heartbeat(performance.now());
  const timer = window.setInterval(() => check(opened), CHECK_MS);
  opened.onmessage = (event: MessageEvent<string>) => {
    if (socket !== opened) return;
    heartbeat.hear(performance.now());
    useConnection.setState(({ status }) => (status === "silent" ? { status: "open" } : {}));
    receive(JSON.parse(event.data) as Record<string, unknown>);
  };
  opened.onclose = () => {
    window.clearInterval(timer);
    if (socket === opened) lose();
  };
}

/** Check whether the connection still works; called once a second. */
function check(opened: WebSocket): void {
  if (socket !== opened) return;
  const verdict = heartbeat.check(performance.now());
  if (verdict === "ask" && opened.readyState === WebSocket.OPEN) void send({ do: "heartbeat" }).catch(() => undefined);
  else if (verdict === "silent") {
    useConnection.setState(({ status }) => (status === "open" ? { status: "silent" } : {}));
  } else if (verdict === "drop") {
    // Without a network, closing takes a minute: do not wait for it.
    opened.close();
    lose();
  }
}

/** Note that the connection is lost, and begin to reconnect. */
function lose(): void {
  socket = null;
  // Once refused, stay refused until a connection succeeds.
  useConnection.setState(({ status }) => ({
    status: status === "refused" || status === "signed out" ? status : "lost",
  }));
  for (const command of pending.values()) {
    command.fail(new CommandError({ what: "the connection to wanlab was lost", code: OFFLINE }));
  }
  pending.clear();
  void retry();
}

async function retry(): Promise<void> {
  await new Promise((done) => window.setTimeout(done, retryMs));
  retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
  // A restarted server has another token, so this page can only come back through its new address.
  try {
    const signal = AbortSignal.timeout(RETRY_LIMIT_MS);
    const response = await fetch("api/state", { cache: "no-store", signal });
    if (response.status === 401) useConnection.setState({ status: "signed out" });
    if (response.status === 403) useConnection.setState({ status: "refused" });
  } catch {
    // The server is down: the WebSocket will fail as well and retry again.
  }
  connect();
}

function receive(message: Record<string, unknown>): void {
  if (typeof message.reply === "number") {
    const command = pending.get(message.reply);
    pending.delete(message.reply);
    if (message.error !== undefined) command?.fail(new CommandError(message.error as ErrorBody));
    else command?.done(message.ok as never);
  } else if (typeof message.push === "string") {
    deliver(message as unknown as AnyPush);
  }
}

/** Deliver a push. A "state" push is also delivered in parts, so listeners for "run" get those too. */
function deliver(push: AnyPush): void {
  if (push.push === "state") {
    retryMs = FIRST_RETRY_MS;
    const { client, version, folder } = push;
    useConnection.setState({ status: "open", client, version, folder });
    closeToastsAbout(OFFLINE);
    notify(push);
    for (const part of Object.values(push)) {
      if (typeof part === "object" && part !== null && "push" in part) deliver(part as AnyPush);
    }
  } else {
    notify(push);
  }
}

function notify(push: AnyPush): void {
  for (const listener of listeners.get(push.push) ?? []) listener(push as never);
}

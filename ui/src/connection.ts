/**
 * The live connection to the server: commands out, replies and pushes in.
 *
 * The server's state is the truth. When the connection is lost it is made again, by itself, and the
 * first push then brings everything at once; commands that were under way fail, and say so.
 *
 *     await send({ do: "save" })                 its reply; throws a CommandError when refused
 *     await perform({ do: "undo" })              its reply; a toast and null when refused
 *     onPush("samples", (push) => ...)           every push of that kind, until the returned function is called
 */
import { create } from "zustand";
import type { AnyCommand, AnyPush, CaptureFile, Comparison, ErrorBody, OpenedTerminal, SavedFile } from "./protocol";
import { toast } from "./stores/toasts";

export type Status = "connecting" | "open" | "lost" | "refused";

interface Connection {
  status: Status;
  /** How the server calls this browser, in `by` of documents. */
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

/** What comes back for a command; for all others nothing that one needs. */
interface Replies {
  save: SavedFile;
  terminal: OpenedTerminal;
  capture: CaptureFile | null;
  compare: Comparison;
}

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

interface Waiting {
  done: (reply: never) => void;
  fail: (error: CommandError) => void;
}

const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 4000;

let socket: WebSocket | null = null;
let lastId = 0;
let retryMs = FIRST_RETRY_MS;
const waiting = new Map<number, Waiting>();
const listeners = new Map<string, Set<(push: never) => void>>();

/** Ask the server for something. */
export function send<W extends CommandWord>(command: { do: W } & CommandOf<W>): Promise<ReplyTo<W>> {
  return new Promise((done, fail) => {
    if (socket?.readyState !== WebSocket.OPEN) {
      const hint = "it is being looked for; nothing that was saved is lost";
      fail(new CommandError({ what: "there is no connection to wanlab", hint }));
      return;
    }
    lastId += 1;
    waiting.set(lastId, { done: done as (reply: never) => void, fail });
    socket.send(JSON.stringify({ id: lastId, ...command }));
  });
}

/** Ask the server for something, and tell the user when it is refused. */
export async function perform<W extends CommandWord>(
  command: CommandOf<W> & { do: W },
): Promise<ReplyTo<W> | null> {
  try {
    return await send<W>(command);
  } catch (error) {
    showError(error);
    return null;
  }
}

/** Ask the server for something, and tell the user when it is refused; whether it was done. */
export async function succeeds<W extends CommandWord>(
  command: CommandOf<W> & { do: W },
): Promise<boolean> {
  try {
    await send<W>(command);
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

export function showError(error: unknown): void {
  if (error instanceof CommandError) toast("error", error.what, error.hint);
  else toast("error", error instanceof Error ? error.message : String(error));
}

/** Hear all pushes of a kind; the function that is returned ends that. */
export function onPush<K extends AnyPush["push"]>(
  kind: K,
  heard: (push: PushOf<K>) => void,
): () => void {
  const set = listeners.get(kind) ?? new Set();
  listeners.set(kind, set);
  set.add(heard as (push: never) => void);
  return () => set.delete(heard as (push: never) => void);
}

/** The address of a WebSocket of this server. */
export function socketAddress(path: string): string {
  const scheme = window.location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${window.location.host}${path}`;
}

/** Open the connection, and keep it open. */
export function connect(): void {
  const opened = new WebSocket(socketAddress("/api/live"));
  socket = opened;
  opened.onmessage = (event: MessageEvent<string>) => {
    receive(JSON.parse(event.data) as Record<string, unknown>);
  };
  opened.onclose = () => {
    if (socket !== opened) return;
    socket = null;
    // Who was refused stays so until he is let in: the connection that fails meanwhile is no news.
    useConnection.setState(({ status }) => ({ status: status === "refused" ? status : "lost" }));
    for (const one of waiting.values()) {
      one.fail(new CommandError({ what: "the connection to wanlab was lost" }));
    }
    waiting.clear();
    void retry();
  };
}

async function retry(): Promise<void> {
  await new Promise((done) => window.setTimeout(done, retryMs));
  retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
  // A server that was started anew has another token: only its own address lets this page in again.
  try {
    const answer = await fetch("/api/state", { cache: "no-store" });
    if (answer.status === 401 || answer.status === 403) {
      useConnection.setState({ status: "refused" });
    }
  } catch {
    // Nobody is there: the WebSocket will fail as well, and come back here.
  }
  connect();
}

function receive(message: Record<string, unknown>): void {
  if (typeof message.reply === "number") {
    const one = waiting.get(message.reply);
    waiting.delete(message.reply);
    if (message.error !== undefined) one?.fail(new CommandError(message.error as ErrorBody));
    else one?.done(message.ok as never);
  } else if (typeof message.push === "string") {
    deliver(message as unknown as AnyPush);
  }
}

/** Everything at once is taken apart: whoever hears "run" also hears the first one. */
function deliver(push: AnyPush): void {
  if (push.push === "state") {
    retryMs = FIRST_RETRY_MS;
    const { client, version, folder } = push;
    useConnection.setState({ status: "open", client, version, folder });
    tell(push);
    for (const part of Object.values(push)) {
      if (typeof part === "object" && part !== null && "push" in part) deliver(part as AnyPush);
    }
  } else {
    tell(push);
  }
}

function tell(push: AnyPush): void {
  for (const heard of listeners.get(push.push) ?? []) heard(push as never);
}

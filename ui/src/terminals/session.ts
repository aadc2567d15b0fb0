/** A terminal: its screen and its connection to the server. Both outlive their place on the page.
 *
 *  The server sends output at most 64 KB ahead of what has been displayed here, so that a program that
 *  prints without end cannot fill this page.
 */

import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Terminal } from "@xterm/xterm";
import { create } from "zustand";
import { LOOKS, onPush, socketAddress, useConnection } from "../connection";
import type { KeysAck, OutputHistory } from "../protocol";
import { toast } from "../stores/toasts";
import { useView } from "../stores/view";
import { provideFileLinks } from "./links";
import { colours } from "./colours";
import { useTerminalFont } from "./font";
import { KeyQueue } from "./keys";
import { paneOf, terminalTab } from "./panes";
import { useTabs } from "./tabs";

const SCROLLBACK_LINES = 10_000;
const ACK_BYTES = 16_384;
const RETRY_MS = 500;
/** The close codes that mean that the terminal does not exist, or has ended. After all others, which
 *  servers, proxies and browsers have many of, this page reconnects. */
const ENDED_CODES = [4404, 4410];
/** Keys that take longer to arrive are shown. */
const SHOW_KEYS_MS = 1000;
/** A connection that carries nothing for longer is replaced, if the live connection works. Where that does
 *  not help, the next one gets twice the time: on a busy computer the first answer may take longer. */
const REPLACE_MS = 6000;
const MAX_REPLACE_MS = 96_000;
/** The name of this page's streams of keys; a reloaded page has another. */
const PAGE = Math.random().toString(36).slice(2);
/** Answers that a terminal sends by itself: attributes, positions, modes, sizes, colours, focus. */
// eslint-disable-next-line no-control-regex -- they begin with Esc
const ANSWER = /^\x1b(?:\[[?>=]?[\d;]*(?:\$y|[cRnt])|\[[IO]|\]\d|[P_^])/;
const MATCH_STYLE = {
  matchBackground: "#7a5d00",
  matchOverviewRuler: "#c79a00",
  activeMatchBackground: "#c26a00",
  activeMatchColorOverviewRuler: "#ff9020",
};

/** The keys of each terminal that have not arrived within SHOW_KEYS_MS. */
export const useWaitingKeys = create<Readonly<Record<string, string>>>(() => ({}));

const encoder = new TextEncoder();
const sessions = new Map<string, Session>();

export function sessionOf(id: string): Session {
  const known = sessions.get(id);
  if (known) return known;
  const created = new Session(id);
  sessions.set(id, created);
  return created;
}

/** The columns of a terminal's screen; undefined if it has none here. */
export function columnsOf(id: string): number | undefined {
  return sessions.get(id)?.terminal.cols;
}

/** Dispose of sessions whose tabs were closed. */
useTabs.subscribe((state) => {
  for (const [id, session] of sessions) {
    if (paneOf(state, terminalTab(id))) continue;
    session.dispose();
    sessions.delete(id);
  }
});

export class Session {
  readonly terminal: Terminal;
  readonly search = new SearchAddon();
  /** The element that is moved to wherever the terminal is shown. */
  readonly element = document.createElement("div");

  private readonly fitting = new FitAddon();
  private readonly endings: (() => void)[] = [];
  private readonly keys = new KeyQueue();
  private keysTimer = 0;
  private patience_ms = REPLACE_MS;
  private connectedAt_ms = 0;
  /** When the oldest waiting keys were typed. */
  private waitingSince_ms = 0;
  /** Whether the server has said where the stream of keys continues. */
  private acceptsKeys = false;
  private socket: WebSocket | null = null;
  /** False once the terminal has ended. */
  private mayReconnect = true;
  private shown = 0;
  /** Bytes of output from before this connection. Programs have had the answers to queries in them. */
  private history = 0;
  private isReplaying = false;
  private isOpen = false;
  private isDisposed = false;

  constructor(private readonly id: string) {
    this.element.className = "terminal-screen";
    this.element.dataset["terminal"] = id;
    this.terminal = new Terminal({
      allowProposedApi: true,
      cursorBlink: true,
      disableStdin: LOOKS,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--font-mono"),
      fontSize: useTerminalFont.getState().size,
      scrollback: SCROLLBACK_LINES,
      theme: colours(),
    });
    this.terminal.loadAddon(this.fitting);
    this.terminal.loadAddon(this.search);
    this.terminal.onData((text) => this.type(text));
    this.terminal.onBinary((text) => this.send(Uint8Array.from(text, (one) => one.charCodeAt(0))));
    this.terminal.onResize(({ rows, cols }) => this.sendMessage({ resize: [rows, cols] }));
    this.terminal.attachCustomKeyEventHandler((event) => this.handleKey(event));
    let wasInUse = false;
    this.element.addEventListener(
      "pointerdown",
      () => (wasInUse = this.element.contains(document.activeElement)),
      true,
    );
    provideFileLinks(this.terminal, () => wasInUse);
    this.endings.push(
      useView.subscribe(() => (this.terminal.options.theme = colours())),
      useTerminalFont.subscribe(({ size }) => this.setFont(size)),
      // After a reconnection, the server sends the output of this terminal again.
      onPush("state", ({ terminals }) => {
        if (terminals.terminals.some((one) => one.id === id)) this.reconnect();
      }),
      useConnection.subscribe(({ status }, before) => {
        if (status === "open" && before.status === "silent" && this.mayReconnect) this.connect();
      }),
      // A branch continues in a terminal that had ended.
      onPush("terminals", ({ terminals }) => {
        const isAlive = terminals.some((one) => one.id === id && one.status === null);
        if (isAlive && useConnection.getState().status === "open") this.connect();
      }),
    );
    this.connect();
  }

  mount(place: HTMLElement): () => void {
    place.append(this.element);
    if (!this.isOpen) this.terminal.open(this.element);
    this.isOpen = true;
    const watcher = new ResizeObserver(() => this.fit());
    watcher.observe(place);
    this.fit();
    return () => {
      watcher.disconnect();
      this.element.remove();
    };
  }

  focus(): void {
    this.terminal.focus();
  }

  fit(): void {
    // A hidden terminal has no size: keep the old one.
    if (!this.element.isConnected || this.element.clientWidth <= 40) return;
    const { viewportY, baseY } = this.terminal.buffer.active;
    this.fitting.fit();
    if (viewportY === baseY) this.terminal.scrollToBottom();
  }

  find(text: string, isBackwards: boolean, isIncremental: boolean): void {
    const options = { decorations: MATCH_STYLE, incremental: isIncremental };
    if (!text) this.search.clearDecorations();
    else if (isBackwards) this.search.findPrevious(text, options);
    else this.search.findNext(text, options);
  }

  openSearch(): void {
    this.element.dispatchEvent(new CustomEvent("find", { bubbles: true }));
  }

  endSearch(): void {
    this.search.clearDecorations();
    this.terminal.clearSelection();
  }

  copy(): void {
    const text = this.terminal.getSelection();
    if (!text) return;
    navigator.clipboard.writeText(text).catch(() => {
      toast("warning", "the browser does not allow this page to copy", "use the browser's context menu");
    });
  }

  paste(): void {
    navigator.clipboard
      .readText()
      .then((text) => this.terminal.paste(text))
      .catch(() => toast("warning", "the browser does not allow this page to paste", "press Ctrl+Shift+V"));
  }

  interrupt(): void {
    this.send(Uint8Array.of(3));
    this.focus();
  }

  dispose(): void {
    this.isDisposed = true;
    window.clearTimeout(this.keysTimer);
    this.showKeys("");
    for (const end of this.endings) end();
    this.socket?.close();
    this.terminal.dispose();
    this.element.remove();
  }

  /** Forget the keys that have not arrived. */
  discardKeys(): void {
    this.keys.clear();
    // Some may be on their way: only a new connection tells.
    this.reconnect();
    this.focus();
  }

  private reconnect(): void {
    const before = this.socket;
    this.socket = null;
    before?.close();
    this.connect();
  }

  private connect(): void {
    if (this.socket && this.socket.readyState <= WebSocket.OPEN) return;
    const path = `api/terminals/${encodeURIComponent(this.id)}?page=${PAGE}`;
    const socket = new WebSocket(socketAddress(path));
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.acceptsKeys = false;
    this.mayReconnect = true;
    this.connectedAt_ms = performance.now();
    // The server begins with a message. Without it, this connection leads nowhere.
    window.setTimeout(() => {
      const isStuck = this.socket === socket && !this.acceptsKeys && socket.readyState <= WebSocket.OPEN;
      if (!isStuck || this.isDisposed || useConnection.getState().status !== "open") return;
      this.patience_ms = Math.min(2 * this.patience_ms, MAX_REPLACE_MS);
      this.reconnect();
    }, this.patience_ms);
    socket.onopen = () => {
      if (this.socket !== socket) return;
      this.terminal.reset();
      this.shown = 0;
      if (this.isOpen) this.sendMessage({ resize: [this.terminal.rows, this.terminal.cols] });
    };
    socket.onmessage = (event: MessageEvent<ArrayBuffer | string>) => {
      if (this.socket !== socket) return;
      if (typeof event.data !== "string") this.receive(new Uint8Array(event.data), socket);
      else this.receiveText(JSON.parse(event.data) as OutputHistory | KeysAck);
    };
    socket.onclose = (event) => {
      if (this.socket !== socket || this.isDisposed) return;
      this.acceptsKeys = false;
      this.mayReconnect = !ENDED_CODES.includes(event.code);
      if (!this.mayReconnect) this.keys.clear();
      // If the server is down, `onPush` above reconnects once it is back.
      window.setTimeout(() => {
        if (!this.isDisposed && this.mayReconnect && useConnection.getState().status === "open") this.connect();
      }, RETRY_MS);
      this.watchKeys();
    };
  }

  private receiveText(message: OutputHistory | KeysAck): void {
    if ("history" in message) {
      this.history = message.history;
      this.isReplaying = this.history > 0;
      this.acceptsKeys = true;
      if (performance.now() - this.connectedAt_ms < REPLACE_MS) this.patience_ms = REPLACE_MS;
      for (const keys of this.keys.resume(message.keys)) this.socket?.send(keys);
    } else {
      this.keys.acknowledge(message.keys);
    }
    this.waitingSince_ms = performance.now();
    this.watchKeys();
  }

  /** Show keys that do not arrive, and replace a connection that does not carry them. */
  private watchKeys(): void {
    window.clearTimeout(this.keysTimer);
    if (this.keys.isEmpty) {
      this.showKeys("");
      return;
    }
    const waited_ms = performance.now() - this.waitingSince_ms;
    if (waited_ms >= SHOW_KEYS_MS) this.showKeys(this.keys.text());
    if (waited_ms >= this.patience_ms && this.acceptsKeys && useConnection.getState().status === "open")
      this.reconnect();
    this.keysTimer = window.setTimeout(() => this.watchKeys(), SHOW_KEYS_MS);
  }

  private showKeys(text: string): void {
    if ((useWaitingKeys.getState()[this.id] ?? "") !== text) useWaitingKeys.setState({ [this.id]: text });
  }

  private receive(data: Uint8Array, socket: WebSocket): void {
    const old = data.subarray(0, this.history);
    this.history -= old.length;
    const isLast = this.history === 0;
    if (old.length) this.display(old, socket, () => isLast && (this.isReplaying = false));
    if (old.length < data.length) this.display(data.subarray(old.length), socket);
  }

  private display(data: Uint8Array, socket: WebSocket, then: () => void = () => undefined): void {
    this.terminal.write(data, () => {
      then();
      this.shown += data.length;
      if (socket !== this.socket || this.shown < ACK_BYTES) return;
      this.sendMessage({ ack: this.shown });
      this.shown = 0;
    });
  }

  /** Send keys, and the terminal's answers to queries; but not those to queries of the past. */
  private type(text: string): void {
    if (!this.isReplaying || !ANSWER.test(text)) this.send(encoder.encode(text));
  }

  /** Send keys, or keep them until there is a connection. A program that has ended gets none. */
  private send(data: Uint8Array<ArrayBuffer>): void {
    if (!this.mayReconnect || LOOKS) return;
    if (this.keys.isEmpty) this.waitingSince_ms = performance.now();
    this.keys.add(data);
    if (this.acceptsKeys && this.socket?.readyState === WebSocket.OPEN) this.socket.send(data);
    this.watchKeys();
  }

  private sendMessage(message: { resize: [number, number] } | { ack: number }): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private setFont(size: number): void {
    this.terminal.options.fontSize = size;
    this.fit();
  }

  /** Handle the terminal's own shortcuts; returns false if the program must not get the key. */
  private handleKey(event: KeyboardEvent): boolean {
    // The way out of a terminal, for people without a mouse; see layout/regions.
    if (event.key === "F6") return false;
    // A program that has ended needs no keys except those that this terminal handles itself.
    const hasEnded = useTabs.getState().known[this.id]?.status !== null;
    if (event.key === "Tab" && hasEnded) return false;
    const isShortcut = event.ctrlKey && event.shiftKey && !event.altKey;
    if (event.ctrlKey && !event.altKey && ["=", "+", "-", "0"].includes(event.key)) {
      if (event.type === "keydown") changeFont(event.key);
      event.preventDefault();
      return false;
    }
    if (!isShortcut) return !(hasEnded && event.ctrlKey);
    if (event.code === "KeyC") {
      if (event.type === "keydown") this.copy();
      event.preventDefault();
      return false;
    }
    // The browser itself pastes into the focused element.
    if (event.code === "KeyV") return false;
    if (event.code === "KeyF") {
      if (event.type === "keydown") this.openSearch();
      event.preventDefault();
      return false;
    }
    return true;
  }
}

function changeFont(key: string): void {
  const { size } = useTerminalFont.getState();
  const newSize = key === "0" ? undefined : key === "-" ? size - 1 : size + 1;
  useTerminalFont.getState().set(newSize);
}

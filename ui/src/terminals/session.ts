/** One terminal: what shows it, and its connection to the server. Both outlive their place on the page.
 *
 *  The server sends what a terminal prints only as far as 64 KB ahead of what has been shown here, so a
 *  program that prints without end cannot fill this page.
 */

import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Terminal } from "@xterm/xterm";
import { onPush, socketAddress, useConnection } from "../connection";
import { toast } from "../stores/toasts";
import { useView } from "../stores/view";
import { provideFileLinks } from "./links";
import { colours } from "./colours";
import { useTerminalFont } from "./font";
import { paneOf, terminalTab } from "./panes";
import { useTabs } from "./tabs";

const SCROLLBACK_LINES = 10_000;
const ACK_BYTES = 16_384;
const RETRY_MS = 500;
/** The connection was lost; or this page was too slow, and what it missed is said again. All others are
 *  the server's word that the terminal has ended. */
const AGAIN = [1006, 1013];
const FOUND = {
  matchBackground: "#7a5d00",
  matchOverviewRuler: "#c79a00",
  activeMatchBackground: "#c26a00",
  activeMatchColorOverviewRuler: "#ff9020",
};

const encoder = new TextEncoder();
const sessions = new Map<string, Session>();

export function sessionOf(id: string): Session {
  const known = sessions.get(id);
  if (known) return known;
  const made = new Session(id);
  sessions.set(id, made);
  return made;
}

/** Whose tab has been closed has ended. */
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
  /** Wherever it stands on the page, it is this element that is moved there. */
  readonly element = document.createElement("div");

  private readonly fitting = new FitAddon();
  private readonly endings: (() => void)[] = [];
  private socket: WebSocket | null = null;
  private shown = 0;
  private isOpen = false;
  private isDisposed = false;

  constructor(private readonly id: string) {
    this.element.className = "terminal-screen";
    this.element.dataset["terminal"] = id;
    this.terminal = new Terminal({
      allowProposedApi: true,
      cursorBlink: true,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--font-mono"),
      fontSize: useTerminalFont.getState().size,
      scrollback: SCROLLBACK_LINES,
      theme: colours(),
    });
    this.terminal.loadAddon(this.fitting);
    this.terminal.loadAddon(this.search);
    this.terminal.onData((text) => this.send(encoder.encode(text)));
    this.terminal.onBinary((text) => this.send(Uint8Array.from(text, (one) => one.charCodeAt(0))));
    this.terminal.onResize(({ rows, cols }) => this.tell({ resize: [rows, cols] }));
    this.terminal.attachCustomKeyEventHandler((event) => this.takeKey(event));
    provideFileLinks(this.terminal);
    this.endings.push(
      useView.subscribe(() => (this.terminal.options.theme = colours())),
      useTerminalFont.subscribe(({ size }) => this.setFont(size)),
      // After the connection was lost: the server says again what this terminal has shown.
      onPush("state", ({ terminals }) => {
        if (terminals.terminals.some((one) => one.id === id)) this.connect();
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
    // Without a size (behind another tab) it stays as it was.
    if (this.element.isConnected && this.element.clientWidth > 40) this.fitting.fit();
  }

  find(text: string, isBackwards: boolean, isIncremental: boolean): void {
    const options = { decorations: FOUND, incremental: isIncremental };
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
      toast("warning", "the browser does not let this page copy", "select, and use the browser's own menu");
    });
  }

  paste(): void {
    navigator.clipboard
      .readText()
      .then((text) => this.terminal.paste(text))
      .catch(() => toast("warning", "the browser does not let this page paste", "press Ctrl+Shift+V"));
  }

  interrupt(): void {
    this.send(Uint8Array.of(3));
    this.focus();
  }

  dispose(): void {
    this.isDisposed = true;
    for (const end of this.endings) end();
    this.socket?.close();
    this.terminal.dispose();
    this.element.remove();
  }

  private connect(): void {
    if (this.socket && this.socket.readyState <= WebSocket.OPEN) return;
    const socket = new WebSocket(socketAddress(`/api/terminals/${encodeURIComponent(this.id)}`));
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.terminal.reset();
      this.shown = 0;
      if (this.isOpen) this.tell({ resize: [this.terminal.rows, this.terminal.cols] });
    };
    socket.onmessage = (event: MessageEvent<ArrayBuffer>) => this.take(new Uint8Array(event.data), socket);
    socket.onclose = (event) => {
      if (this.socket !== socket || this.isDisposed || !AGAIN.includes(event.code)) return;
      // Where the server is away the live connection tells when it is there again (`onPush` above).
      window.setTimeout(() => {
        if (!this.isDisposed && useConnection.getState().status === "open") this.connect();
      }, RETRY_MS);
    };
  }

  private take(data: Uint8Array, socket: WebSocket): void {
    this.terminal.write(data, () => {
      this.shown += data.length;
      if (socket !== this.socket || this.shown < ACK_BYTES) return;
      this.tell({ ack: this.shown });
      this.shown = 0;
    });
  }

  private send(data: Uint8Array<ArrayBuffer>): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(data);
  }

  private tell(message: { resize: [number, number] } | { ack: number }): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private setFont(size: number): void {
    this.terminal.options.fontSize = size;
    this.fit();
  }

  /** Keys of the terminal's own; false: the program does not get them. */
  private takeKey(event: KeyboardEvent): boolean {
    const isOurs = event.ctrlKey && event.shiftKey && !event.altKey;
    if (event.ctrlKey && !event.altKey && ["=", "+", "-", "0"].includes(event.key)) {
      if (event.type === "keydown") changeFont(event.key);
      event.preventDefault();
      return false;
    }
    if (!isOurs) return true;
    if (event.code === "KeyC") {
      if (event.type === "keydown") this.copy();
      event.preventDefault();
      return false;
    }
    // The browser pastes by itself, into what has the focus.
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
  const wanted = key === "0" ? undefined : key === "-" ? size - 1 : size + 1;
  useTerminalFont.getState().set(wanted);
}

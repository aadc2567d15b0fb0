/** A terminal at an earlier instant: its recorded output on a separate screen. */
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import type { RecordedTerminal } from "../protocol";
import type { Instant } from "../stores/branches";
import { useView } from "../stores/view";
import { colours } from "./colours";
import { useTerminalFont } from "./font";
import { isOpenAt, recordsOf } from "./recordings";
import { columnsOf } from "./session";

/** More than this of the output before an instant is not drawn. */
const MAX_DRAWN = 256 << 10;

/** The output to write so that a screen that shows `from_ns` (-1: an empty one) shows `at_ns`. */
export function outputBetween({ output }: RecordedTerminal, from_ns: number, at_ns: number): string {
  const chunks = output.filter((chunk) => chunk.at_ns > from_ns && chunk.at_ns <= at_ns);
  let first = chunks.length;
  for (let length = 0; first > 0 && length < MAX_DRAWN; first -= 1) length += chunks[first - 1]!.text.length;
  return chunks
    .slice(first)
    .map(({ text }) => text)
    .join("");
}

export class PastScreen {
  private readonly terminal: Terminal;
  private readonly fitting = new FitAddon();
  private readonly watcher = new ResizeObserver(() => this.fit());
  private readonly endings: (() => void)[] = [];
  private written: Instant | null = null;
  private wanted: Instant | null = null;

  constructor(
    private readonly id: string,
    private readonly place: HTMLElement,
    /** Called with whether the terminal was open at the instant that is drawn. */
    private readonly onDrawn: (isOpen: boolean) => void,
  ) {
    this.terminal = new Terminal({
      allowProposedApi: true,
      cursorInactiveStyle: "outline",
      disableStdin: true,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--font-mono"),
      fontSize: useTerminalFont.getState().size,
      scrollback: 10_000,
      theme: colours(),
    });
    this.terminal.loadAddon(this.fitting);
    this.terminal.open(place);
    if (this.terminal.textarea)
      this.terminal.textarea.setAttribute("aria-label", "Terminal at the instant that is shown");
    this.watcher.observe(place);
    this.endings.push(useView.subscribe(() => (this.terminal.options.theme = colours())));
    this.fit();
  }

  /** Draw an instant; of several in a row, the last. */
  async show(instant: Instant): Promise<void> {
    this.wanted = instant;
    const records = await recordsOf(instant);
    if (this.wanted !== instant) return;
    const record = records.find(({ id }) => id === this.id);
    const isOpen = record !== undefined && isOpenAt(record, instant.at_ns);
    const isLater =
      this.written !== null && this.written.branch === instant.branch && this.written.at_ns <= instant.at_ns;
    if (!isLater) this.terminal.reset();
    if (record !== undefined && isOpen) {
      const text = outputBetween(record, isLater ? this.written!.at_ns : -1, instant.at_ns);
      this.terminal.write(Uint8Array.from(text, (letter) => letter.charCodeAt(0)));
    }
    this.written = instant;
    this.onDrawn(isOpen);
  }

  dispose(): void {
    this.wanted = null;
    for (const end of this.endings) end();
    this.watcher.disconnect();
    this.terminal.dispose();
  }

  private fit(): void {
    const size = this.place.clientWidth > 40 ? this.fitting.proposeDimensions() : undefined;
    // The width of the original screen, because edited lines wrap there.
    if (size === undefined) return;
    const columns = columnsOf(this.id) ?? size.cols;
    if (columns === this.terminal.cols && size.rows === this.terminal.rows) return;
    this.terminal.resize(columns, size.rows);
    // A screen that was drawn with another size, as when it was hidden, would show other lines.
    this.written = null;
    if (this.wanted !== null) void this.show(this.wanted);
  }
}

/** File names in the output of a terminal: a click opens the file in a tab.
 *
 *  In a terminal that is not in use, the first click only gives it the focus.
 */
import type { ILink, Terminal } from "@xterm/xterm";

/** Names of files that can be shown or downloaded. */
const NAME = /(?:[\w.~+-]*\/)*[\w.+-]+\.(?:pdf|png|svg|jpe?g|csv|dat|json|txt|log|pcapng|pcap|mn|yaml|md|sh|py)\b/g;

export function namesIn(line: string): { name: string; at: number }[] {
  return [...line.matchAll(NAME)].map((match) => ({ name: match[0], at: match.index }));
}

let open: (name: string) => void = () => undefined;

/** Set what a click does. */
export function onFileLink(opened: (name: string) => void): void {
  open = opened;
}

/** `isInUse`: whether the terminal had the focus before the click. */
export function provideFileLinks(terminal: Terminal, isInUse: () => boolean): void {
  terminal.registerLinkProvider({
    provideLinks(row, callback) {
      const line = terminal.buffer.active.getLine(row - 1)?.translateToString(true) ?? "";
      const links = namesIn(line).map(({ name, at }): ILink => ({
        text: name,
        range: { start: { x: at + 1, y: row }, end: { x: at + name.length, y: row } },
        activate: () => {
          if (isInUse()) open(name);
        },
      }));
      callback(links.length ? links : undefined);
    },
  });
}

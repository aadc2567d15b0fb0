/** Keys that were typed and that the server has not acknowledged yet.
 *
 *  The keys of a page for a terminal are a stream of bytes. The server counts those that have arrived, so
 *  that after a lost connection exactly the others are sent again.
 */

const MAX_SHOWN = 60;
const NAMES: Readonly<Record<string, string>> = { "\r": "⏎", "\t": "⇥", "\x7f": "⌫" };

export class KeyQueue {
  private waiting: Uint8Array<ArrayBuffer>[] = [];
  /** How many bytes the server has acknowledged. */
  private acknowledged = 0;

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  add(keys: Uint8Array<ArrayBuffer>): void {
    this.waiting.push(keys);
  }

  /** Forget the keys up to this byte of the stream: they have arrived. */
  acknowledge(received: number): void {
    let left = received - this.acknowledged;
    this.acknowledged = received;
    while (left > 0 && this.waiting.length > 0) {
      const [first] = this.waiting as [Uint8Array<ArrayBuffer>];
      if (first.length > left) {
        this.waiting[0] = first.slice(left);
        return;
      }
      left -= first.length;
      this.waiting.shift();
    }
  }

  /** The keys to send over a new connection, whose server has received the stream up to this byte. */
  resume(received: number): readonly Uint8Array<ArrayBuffer>[] {
    this.acknowledge(received);
    return [...this.waiting];
  }

  clear(): void {
    this.waiting = [];
  }

  /** The waiting keys as text: "ls⏎". */
  text(): string {
    const all = this.waiting.flatMap((keys) => [...keys]);
    // eslint-disable-next-line no-control-regex -- arrow keys and the like
    const plain = new TextDecoder().decode(Uint8Array.from(all)).replace(/\x1b(?:[[O][0-9;]*[A-Za-z~]|.)?/g, "⎋");
    const text = Array.from(plain, shown).join("");
    return text.length <= MAX_SHOWN ? text : `…${text.slice(-MAX_SHOWN)}`;
  }
}

function shown(letter: string): string {
  const code = letter.charCodeAt(0);
  return NAMES[letter] ?? (code < 32 ? `^${String.fromCharCode(code + 64)}` : letter);
}

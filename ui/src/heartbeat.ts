/** Decide whether a connection still works: it is asked for a reply now and then, and silence counts.
 *
 *  A lost network closes no WebSocket, so without this a page looks alive for minutes. Only unanswered
 *  questions count, because browsers delay the timers of hidden pages: silence alone proves nothing.
 */

const ASK_EVERY_MS = 5000;
/** An answer that takes longer is reported. With ASK_EVERY_MS, a loss is shown within 10 s. */
const SILENT_AFTER_MS = 4500;
const DROP_AFTER_MS = 10_000;

export type Verdict = "fine" | "ask" | "silent" | "drop";

export class Heartbeat {
  private isSilent = false;
  private heardAt_ms: number;
  /** When the oldest unanswered question was asked. A new connection has to answer, too. */
  private askedAt_ms: number | null;

  constructor(now_ms: number) {
    this.heardAt_ms = now_ms;
    this.askedAt_ms = now_ms;
  }

  /** Note any message of the server. */
  hear(now_ms: number): void {
    this.heardAt_ms = now_ms;
    this.askedAt_ms = null;
    this.isSilent = false;
  }

  /** What to do now; called about once a second. */
  check(now_ms: number): Verdict {
    if (this.askedAt_ms === null) {
      if (now_ms - this.heardAt_ms < ASK_EVERY_MS) return "fine";
      this.askedAt_ms = now_ms;
      return "ask";
    }
    const waited_ms = now_ms - this.askedAt_ms;
    // After a long sleep of the page, an answer may be waiting behind this call: report first.
    if (this.isSilent && waited_ms >= DROP_AFTER_MS) return "drop";
    if (waited_ms < SILENT_AFTER_MS) return "fine";
    this.isSilent = true;
    return "silent";
  }
}

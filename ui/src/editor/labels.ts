/** Find places for texts so that they cover neither each other nor the nodes.
 *
 *  Each text has a few places that it may take, the best first. In their order, texts take the first free
 *  one, or else the one that covers least. This is quick, stable when something far away changes, and good
 *  enough for drawings of a few dozen links (Imhof 1975 describes the same by hand).
 */

export interface Box {
  /** The upper left corner. */
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Candidate<T> {
  choice: T;
  boxes: readonly Box[];
}

export interface Wanted<T> {
  key: string;
  candidates: readonly Candidate<T>[];
}

/** The choice for each text. */
export function placeTexts<T>(wanted: readonly Wanted<T>[], obstacles: readonly Box[]): Map<string, T> {
  const taken = [...obstacles];
  const chosen = new Map<string, T>();
  for (const { key, candidates } of wanted) {
    let best: Candidate<T> | undefined;
    let least = Infinity;
    for (const candidate of candidates) {
      const covered = coveredBy(candidate.boxes, taken);
      if (covered >= least) continue;
      [best, least] = [candidate, covered];
      if (covered === 0) break;
    }
    if (best === undefined) continue;
    chosen.set(key, best.choice);
    taken.push(...best.boxes);
  }
  return chosen;
}

/** The area that boxes have in common with others. */
export function coveredBy(boxes: readonly Box[], others: readonly Box[]): number {
  let sum = 0;
  for (const one of boxes) {
    for (const other of others) {
      const width = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x);
      const height = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y);
      if (width > 0 && height > 0) sum += width * height;
    }
  }
  return sum;
}

import { encode } from "uqr";

/** The light modules that a reader needs around a code. */
const QUIET = 4;

/** A QR code as an SVG path in units of one module, and its width and height with the margin. */
export function qrCode(text: string): { path: string; size: number } {
  const { data, size } = encode(text, { ecc: "M", border: QUIET });
  const runs = data.flatMap((row, y) => darkRuns(row).map(([x, width]) => `M${x},${y}h${width}v1h-${width}z`));
  return { path: runs.join(""), size };
}

/** The runs of dark modules of a row: where each begins, and how many it has. */
function darkRuns(row: readonly boolean[]): [number, number][] {
  const runs: [number, number][] = [];
  row.forEach((isDark, x) => {
    if (!isDark) return;
    if (row[x - 1]) runs.at(-1)![1] += 1;
    else runs.push([x, 1]);
  });
  return runs;
}

/** Format values of curves: 956000000 bit/s is "956 Mbit/s", 0.0231 s is "23.1 ms". */

const UP = ["", "k", "M", "G", "T"];
const DOWN = ["", "m", "µ", "n"];
/** Units that take no prefix. */
const PLAIN = new Set(["", "1", "%", "packets", "packet", "ms"]);

interface Scale {
  factor: number;
  unit: string;
}

/** The SI prefix for a value. */
export function scaleFor(size: number, unit: string): Scale {
  const value = Math.abs(size);
  if (PLAIN.has(unit) || value === 0 || !Number.isFinite(value)) return { factor: 1, unit: unit === "1" ? "" : unit };
  if (value >= 1) {
    const step = Math.min(Math.floor(Math.log10(value) / 3 + 1e-9), UP.length - 1);
    return { factor: 1000 ** step, unit: `${UP[step]}${unit}` };
  }
  // Only times have prefixes below one; there is no millibyte.
  if (unit !== "s") return { factor: 1, unit };
  const step = Math.min(Math.ceil(-Math.log10(value) / 3 - 1e-9), DOWN.length - 1);
  return { factor: 1000 ** -step, unit: `${DOWN[step]}${unit}` };
}

export function valueText(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return "–";
  // A value that is rounded up to the next prefix gets that prefix: 999.6 Mbit/s is "1 Gbit/s".
  const scale = scaleFor(Number(value.toPrecision(3)), unit);
  return `${digits(value / scale.factor)} ${scale.unit}`.trim();
}

/** Labels of the ticks of an axis, all with the same prefix. */
export function ticks(values: readonly number[], unit: string): string[] {
  const scale = scaleFor(Math.max(...values.map(Math.abs)), unit);
  return values.map((value) => `${+(value / scale.factor).toPrecision(6)} ${scale.unit}`.trim());
}

function digits(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1000) return String(value);
  return Math.abs(value) < 999.5 ? value.toPrecision(3).replace(/e\+?(-?\d+)$/, "e$1") : String(Math.round(value));
}

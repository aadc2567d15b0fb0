/** Format times and speeds of the network's clock. */

/** 12345678900 is "12.346 s", from a minute on "2:05.346", from an hour on "1:02:05.346". */
export function clockText(now_ns: number): string {
  const ms = Math.floor(now_ns / 1e6);
  const [seconds, rest] = [Math.floor(ms / 1000), String(ms % 1000).padStart(3, "0")];
  if (seconds < 60) return `${seconds}.${rest} s`;
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}.${rest}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}.${rest}`;
}

/** A tick of a time axis, as the clock shows it: "0.5 s", from a minute on "19:26", with as many decimals
 *  of a second as the distance between ticks needs. */
export function tickText(at_s: number, step_s: number): string {
  const decimals = Math.max(0, -Math.floor(Math.log10(Math.max(step_s, 1e-9)) + 1e-9));
  if (at_s < 60) return `${+at_s.toFixed(decimals)} s`;
  const two = (value: number) => String(value).padStart(2, "0");
  const rounded = +at_s.toFixed(decimals);
  const [minutes, rest] = [Math.floor(rounded / 60), rounded % 60];
  const seconds = decimals === 0 ? two(Math.round(rest)) : rest.toFixed(decimals).padStart(decimals + 3, "0");
  if (minutes < 60) return `${minutes}:${seconds}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${seconds}`;
}

/** Network seconds per real second: "×0.07", "×1.0", "×12". */
export function speedText(speed: number): string {
  if (speed > 0 && speed < 0.095) return `×${speed.toPrecision(1)}`;
  if (speed < 0.1) return `×${speed.toFixed(2)}`;
  if (speed < 10) return `×${speed.toFixed(1)}`;
  return `×${Math.round(speed)}`;
}

/** The stops of the speed slider; "as fast as possible" comes after the last one. */
export const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20] as const;

/** The stop nearest to a speed. */
export function stopFor(pace: "real" | "fast", speed: number): number {
  if (pace === "fast") return SPEEDS.length;
  const far = (stop: number) => Math.abs(Math.log(stop / speed));
  return SPEEDS.reduce((best, stop, index) => (far(stop) < far(SPEEDS[best]!) ? index : best), 0);
}

export function stopTitle(stop: number): string {
  const speed = SPEEDS[stop];
  if (speed === undefined) return "as fast as possible";
  return speed === 1 ? "real time" : `×${speed}`;
}

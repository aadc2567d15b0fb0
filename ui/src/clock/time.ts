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

/** Network seconds per real second: "×0.07", "×1.0", "×12". */
export function speedText(speed: number): string {
  if (speed < 0.1) return `×${speed.toFixed(2)}`;
  if (speed < 10) return `×${speed.toFixed(1)}`;
  return `×${Math.round(speed)}`;
}

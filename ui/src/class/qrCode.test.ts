import { expect, test } from "vitest";
import { qrCode } from "./qrCode";

/** Fill a grid with the rectangles of a path. */
function modules(path: string, size: number): string[] {
  const rows = Array.from({ length: size }, () => Array<string>(size).fill("."));
  for (const [, x, y, width] of path.matchAll(/M(\d+),(\d+)h(\d+)v1h-\d+z/g)) {
    for (let column = Number(x); column < Number(x) + Number(width); column += 1) rows[Number(y)]![column] = "#";
  }
  return rows.map((row) => row.join(""));
}

test("a code has its three finder patterns inside a quiet zone", () => {
  const { path, size } = qrCode("http://127.0.0.1:8765/?token=0123456789abcdef0123456789abcdef");
  const rows = modules(path, size);
  const finder = ["#######", "#.....#", "#.###.#", "#.###.#", "#.###.#", "#.....#", "#######"];
  const at = (x: number, y: number) => rows.slice(y, y + 7).map((row) => row.slice(x, x + 7));
  const far = size - 4 - 7;
  expect([at(4, 4), at(far, 4), at(4, far)]).toEqual([finder, finder, finder]);
  expect(at(far, far)).not.toEqual(finder);
  for (const edge of [...rows.slice(0, 4), ...rows.slice(-4)]) expect(edge).toBe(".".repeat(size));
  for (const row of rows) expect(row.slice(0, 4) + row.slice(-4)).toBe("........");
});

test("different links have different codes", () => {
  expect(qrCode("http://a/?token=1").path).not.toBe(qrCode("http://a/?token=2").path);
});

import { expect, it, vi } from "vitest";

vi.mock("../connection", () => ({ onPush: () => () => undefined, useConnection: { subscribe: () => undefined } }));
vi.stubGlobal("window", { matchMedia: () => ({ matches: false, addEventListener: () => undefined }) });
vi.stubGlobal("document", { documentElement: { dataset: {} } });

const { linkNear } = await import("./nearby");
const link = (id: string, a: string, b: string) => ({ id, a, b, options: {}, a_options: {}, b_options: {} });
const LINKS = { one: link("one", "a", "b"), two: link("two", "b", "c") };
const PLACES = new Map([
  ["a", { x: 0, y: 0 }],
  ["b", { x: 100, y: 0 }],
  ["c", { x: 100, y: 100 }],
]);

it("the nearest link is found, if it is near", () => {
  expect(linkNear({ x: 50, y: 4 }, 1, LINKS, PLACES)).toBe("one");
  expect(linkNear({ x: 98, y: 60 }, 1, LINKS, PLACES)).toBe("two");
  expect(linkNear({ x: 50, y: 20 }, 1, LINKS, PLACES)).toBeNull();
  expect(linkNear({ x: 50, y: 20 }, 0.2, LINKS, PLACES)).toBe("one");
});

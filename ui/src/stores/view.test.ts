import { expect, it, vi } from "vitest";

const system = { matches: false, change: () => undefined as void };
const page = { documentElement: { dataset: {} as Record<string, string> } };
const storage = new Map([["wanlab.view", JSON.stringify({ state: { isSystemDark: true }, version: 0 })]]);
vi.stubGlobal("document", page);
vi.stubGlobal("window", {
  innerHeight: 800,
  localStorage: { getItem: (key: string) => storage.get(key) ?? null, setItem: () => undefined },
  matchMedia: () =>
    Object.assign(system, { addEventListener: (_: string, change: () => void) => (system.change = change) }),
});
vi.stubGlobal("localStorage", window.localStorage);

const { isDark, useView } = await import("./view");

it("follows the system when its theme changes, and tells terminals and charts", () => {
  const seen: boolean[] = [];
  useView.subscribe((now) => seen.push(isDark(now)));
  // Not what was stored at an earlier visit.
  expect(isDark()).toBe(false);
  expect(page.documentElement.dataset["theme"]).toBe("light");
  system.matches = true;
  system.change();
  expect(seen).toEqual([true]);
  expect(page.documentElement.dataset["theme"]).toBe("dark");
});

it("a chosen theme stays whatever the system does", () => {
  useView.setState({ theme: "light" });
  system.matches = false;
  system.change();
  system.matches = true;
  system.change();
  expect(isDark()).toBe(false);
  expect(page.documentElement.dataset["theme"]).toBe("light");
});

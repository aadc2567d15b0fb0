import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { CheckResult } from "../protocol";
import { CheckResults } from "./CheckResults";

function shown(changes: Partial<CheckResult>): string {
  const result = { what: "it", points: 0, of: 1, measured: "", expected: "", hint: "", passed: false, ...changes };
  return renderToStaticMarkup(createElement(CheckResults, { results: [result], onClose: () => undefined }));
}

it("a right value without points is not shown as a wrong one", () => {
  const markup = shown({ passed: true, measured: "0", expected: "0", hint: "its points count later" });
  expect(markup).not.toContain("✗");
  expect(markup).not.toContain("measured");
  expect(markup).toContain("its points count later");
});

it("a wrong value is shown beside the expected one, and a missing text without values", () => {
  const wrong = shown({ measured: "12 ms", expected: "10 to 11 ms", hint: "look" });
  expect(wrong).toContain("✗");
  expect(wrong).toContain("measured 12 ms, expected 10 to 11 ms");
  expect(shown({ measured: "-", expected: "any" })).not.toContain("measured");
});

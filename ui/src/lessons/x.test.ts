import { it } from "vitest";
import { read } from "./markdown";
const found = import.meta.glob<string>("../../../src/wanlab/labs/*/lesson.md", { query: "?raw", import: "default", eager: true });
it("x", () => { for (const [p, t] of Object.entries(found)) {
  const prose = read(t, "/x").html.replace(/<pre[\s\S]*?<\/pre>/g, "").replace(/<(code|annotation|button)[\s\S]*?<\/\1>/g, "").replace(/<[^>]*>/g, "").replace(/\b\w*\$ /g, "");
  const m = prose.match(/\$[^$]*\$/g); if (m) throw new Error(p + m);
}});

import { addressesShown } from "../stores/ports";
import { useShallow } from "zustand/react/shallow";
import type { DrawnLink, DrawnNode } from "../protocol";
import { useDocument } from "../stores/document";
import { edit } from "../stores/edits";
import { usePort } from "../stores/ports";
import { select } from "../stores/selection";
import { withOption } from "../editor/conditions";
import { TextField } from "./Field";
import { optionName, orNothing, textOf } from "./options";
import * as units from "./units";

/** The links of a node; a click shows the properties of one. A router has an address for each port. */
export function LinkList({ node, withAddresses = false }: { node: DrawnNode; withAddresses?: boolean }) {
  const links = useDocument(
    useShallow((state) => Object.values(state.links).filter(({ a, b }) => a === node.id || b === node.id)),
  );
  return (
    <section className="link-list" aria-label="Links">
      <h3 className="field-title">{withAddresses ? "Ports" : "Links"}</h3>
      {links.length === 0 && <p className="hint">None yet. Press L to link this node.</p>}
      {links.map((link) => (
        <LinkRow key={link.id} link={link} node={node} withAddress={withAddresses} />
      ))}
    </section>
  );
}

function LinkRow({ link, node, withAddress }: { link: DrawnLink; node: DrawnNode; withAddress: boolean }) {
  const end = link.a === node.id ? "a" : "b";
  const other = useDocument((state) => state.nodes[end === "a" ? link.b : link.a]);
  const port = usePort(link.id, end);
  if (other === undefined) return null;
  const isControl = other.kind === "controller" || node.kind === "controller";
  return (
    <div className="link-row">
      <button type="button" className="link-row-button" onClick={() => select([link.id])}>
        <span>{port?.name ?? (isControl ? "OpenFlow" : "port")}</span>
        <span className="link-row-other">
          {isControl && node.kind === "controller" ? "" : "→"} {other.name}
        </span>
        {!withAddress && <span className="link-row-address">{addressesShown(port)}</span>}
      </button>
      {withAddress && (
        <TextField
          field={`${link.id} ip`}
          title={`Address of ${port?.name ?? "the port"}`}
          value={textOf(link[`${end}_options`], "ip")}
          placeholder="no address"
          check={units.address}
          onChange={(text) => setPortOption(link, end, "ip", orNothing(text))}
        />
      )}
    </div>
  );
}

export function setPortOption(link: DrawnLink, end: "a" | "b", word: string, value: unknown): void {
  const { links, nodes } = useDocument.getState();
  const now = links[link.id] ?? link;
  const key = `${end}_options` as const;
  const changed = { ...now, [key]: withOption(now[key], word, value) };
  void edit(`Set ${optionName(word)} at ${nodes[now[end]]?.name ?? "a port"}`, { links: [changed] });
}

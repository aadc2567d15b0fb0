import { alignSelected, deleteSelected, distributeSelected, duplicateSelected, linkName } from "../editor/actions";
import { Icon } from "../editor/icons";
import { KINDS, kindOf } from "../editor/kinds";
import { useProblemsOf } from "../editor/problems";
import type { DrawnNode } from "../protocol";
import { SetInTerminals } from "./SetInTerminals";
import { useDocument } from "../stores/document";
import { useSelection } from "../stores/selection";
import { FieldProblems } from "./Field";
import { FrameForm } from "./FrameForm";
import { Conditions, LinkForm } from "./LinkForm";
import { NetworkForm } from "./NetworkForm";
import { ControllerForm, HostForm, LabelForm, RouterForm, SwitchForm } from "./NodeForms";
import type { ReactNode } from "react";

const FORMS = { host: HostForm, switch: SwitchForm, router: RouterForm, controller: ControllerForm };

/** Properties of the selection, or of the network if nothing is selected. */
export function Inspector() {
  const ids = useSelection((state) => state.ids);
  const { nodes, links, labels, frames } = useDocument();
  const selected = [...ids].filter((id) => [nodes, links, labels, frames].some((known) => id in known));
  const [only] = selected;
  if (only === undefined) {
    return (
      <Form title="Network" kind="preferences">
        <NetworkForm />
      </Form>
    );
  }
  if (selected.length > 1) return <SelectionForm ids={selected} />;
  return <ElementForm key={only} id={only} />;
}

function ElementForm({ id }: { id: string }) {
  const node = useDocument((state) => state.nodes[id]);
  const link = useDocument((state) => state.links[id]);
  const label = useDocument((state) => state.labels[id]);
  const frame = useDocument((state) => state.frames[id]);
  const problems = useProblemsOf(id);
  return (
    <FieldProblems value={problems}>
      {node !== undefined && <NodeForm node={node} />}
      {link !== undefined && (
        <Form title={linkName(link)} kind="link">
          <div className="inspector-form">
            <LinkForm link={link} />
          </div>
        </Form>
      )}
      {label !== undefined && (
        <Form title="Label" kind="text on the canvas">
          <div className="inspector-form">
            <LabelForm label={label} />
          </div>
        </Form>
      )}
      {frame !== undefined && (
        <Form title="Frame" kind="behind the nodes">
          <div className="inspector-form">
            <FrameForm frame={frame} />
          </div>
        </Form>
      )}
    </FieldProblems>
  );
}

function NodeForm({ node }: { node: DrawnNode }) {
  const kind = kindOf(node);
  const Fields = FORMS[node.kind];
  return (
    <Form title={node.name} kind={KINDS[kind].title} icon={<Icon name={kind} size={20} />}>
      <div className="inspector-form">
        <SetInTerminals node={node.id} />
        <Fields node={node} />
      </div>
    </Form>
  );
}

function SelectionForm({ ids }: { ids: readonly string[] }) {
  const { nodes, links } = useDocument();
  const chosen = ids.flatMap((id) => (links[id] ? [links[id]] : []));
  const dataLinks = chosen.filter(({ a, b }) => nodes[a]?.kind !== "controller" && nodes[b]?.kind !== "controller");
  const placed = ids.length - chosen.length;
  return (
    <Form title={`${ids.length} elements`} kind="selected">
      <div className="inspector-form">
        {placed > 1 && (
          <>
            <h3 className="field-title">Align</h3>
            <div className="button-grid">
              {(["left", "centre", "right", "top", "middle", "bottom"] as const).map((edge) => (
                <button key={edge} type="button" className="button" onClick={() => alignSelected(edge)}>
                  {edge}
                </button>
              ))}
            </div>
            <h3 className="field-title">Distribute</h3>
            <div className="button-grid">
              <button type="button" className="button" onClick={() => distributeSelected("x")}>
                horizontally
              </button>
              <button type="button" className="button" onClick={() => distributeSelected("y")}>
                vertically
              </button>
            </div>
          </>
        )}
        {dataLinks.length > 1 && (
          <>
            <h3 className="field-title">{dataLinks.length} links</h3>
            <Conditions links={dataLinks} />
          </>
        )}
        <div className="button-grid">
          <button type="button" className="button" onClick={duplicateSelected}>
            Duplicate
          </button>
          <button type="button" className="button button-dangerous" onClick={deleteSelected}>
            Delete
          </button>
        </div>
      </div>
    </Form>
  );
}

function Form({ title, kind, icon, children }: { title: string; kind: string; icon?: ReactNode; children: ReactNode }) {
  return (
    <section className="inspector" aria-label="Properties">
      <header className="inspector-head">
        {icon}
        <h2>{title}</h2>
        <span className="hint">{kind}</span>
      </header>
      {children}
    </section>
  );
}

/** Problems of one thing, and the way to it. */
import { useShallow } from "zustand/react/shallow";
import type { DrawingProblem } from "../protocol";
import { useDocument } from "../stores/document";
import { select } from "../stores/selection";
import { showSide } from "../stores/view";
import { show } from "./viewport";

export function useProblemsOf(id: string): readonly DrawingProblem[] {
  return useDocument(useShallow((state) => state.problems.filter(({ place }) => place.id === id)));
}

export function told(problems: readonly DrawingProblem[]): string {
  return problems.map(({ what, hint }) => (hint === "" ? what : `${what}: ${hint}`)).join("\n");
}

/** Select the thing that a problem is about, bring it into view, and put the cursor into its field. */
export function goTo({ place }: DrawingProblem): void {
  const { nodes, links, labels } = useDocument.getState();
  const thing = nodes[place.id] ?? labels[place.id];
  const link = links[place.id];
  const ends = link === undefined ? [] : [nodes[link.a], nodes[link.b]].filter((it) => it !== undefined);
  if (thing !== undefined) show(thing);
  else if (ends[0] !== undefined && ends[1] !== undefined) {
    show({ x: (ends[0].x + ends[1].x) / 2, y: (ends[0].y + ends[1].y) / 2 });
  }
  select(thing === undefined && link === undefined ? [] : [place.id]);
  openProperties(place.field);
}

/** The properties of what is selected; with a field, the cursor goes there, else into the first. */
export function openProperties(field?: string): void {
  showSide("properties");
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const form = document.querySelector<HTMLElement>(".inspector");
      const fields = [...(form?.querySelectorAll<HTMLElement>("[data-field]") ?? [])];
      const wanted = fields.find((it) => it.dataset.field === field) ??
        fields.find((it) => field !== undefined && field.startsWith(it.dataset.field ?? " ")) ??
        fields[0];
      wanted?.closest("details")?.setAttribute("open", "");
      wanted?.focus();
      if (wanted instanceof HTMLInputElement || wanted instanceof HTMLTextAreaElement) wanted.select();
    }),
  );
}

/** The problems of an element, and how to go to it. */
import type { DrawingProblem } from "../protocol";
import { useDocument } from "../stores/document";
import { select } from "../stores/selection";
import { showSide } from "../stores/view";
import { show } from "./viewport";

const NONE: readonly DrawingProblem[] = [];
let indexed: readonly DrawingProblem[] = NONE;
let byId = new Map<string, readonly DrawingProblem[]>();

/** The problems by element. All elements ask for theirs after every change, so they are sorted once. */
export function problemsById(problems: readonly DrawingProblem[]): ReadonlyMap<string, readonly DrawingProblem[]> {
  if (problems !== indexed) {
    indexed = problems;
    byId = new Map();
    for (const problem of problems) byId.set(problem.place.id, [...(byId.get(problem.place.id) ?? []), problem]);
  }
  return byId;
}

export function useProblemsOf(id: string): readonly DrawingProblem[] {
  return useDocument((state) => problemsById(state.problems).get(id) ?? NONE);
}

export function problemText(problems: readonly DrawingProblem[]): string {
  return problems.map(({ what, hint }) => (hint === "" ? what : `${what}: ${hint}`)).join("\n");
}

/** Select the element with a problem, scroll it into view, and focus the field. */
export function goTo({ place }: DrawingProblem): void {
  const { nodes, links, labels } = useDocument.getState();
  const element = nodes[place.id] ?? labels[place.id];
  const link = links[place.id];
  const ends = link === undefined ? [] : [nodes[link.a], nodes[link.b]].filter((node) => node !== undefined);
  if (element !== undefined) show(element);
  else if (ends[0] !== undefined && ends[1] !== undefined) {
    show({ x: (ends[0].x + ends[1].x) / 2, y: (ends[0].y + ends[1].y) / 2 });
  }
  select(element === undefined && link === undefined ? [] : [place.id]);
  openProperties(place.field);
}

/** Show the properties of the selection, and focus a field or else the first one. */
export function openProperties(field?: string): void {
  showSide("properties");
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const form = document.querySelector<HTMLElement>(".inspector");
      const fields = [...(form?.querySelectorAll<HTMLElement>("[data-field]") ?? [])];
      const target =
        fields.find((input) => input.dataset.field === field) ??
        fields.find((input) => field !== undefined && field.startsWith(input.dataset.field ?? " ")) ??
        fields[0];
      target?.closest("details")?.setAttribute("open", "");
      target?.focus();
      if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) target.select();
    }),
  );
}

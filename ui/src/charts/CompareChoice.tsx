import { branchInView, compareWith, useBranches } from "../stores/branches";

/** Choose another branch to draw in every chart; hidden as long as there is only one branch. */
export function CompareChoice() {
  const branches = useBranches((state) => state.branches);
  const compared = useBranches((state) => state.compared);
  const inView = useBranches(branchInView);
  if (branches.length < 2) return null;
  return (
    <label className="clock-choice">
      <span>compare with</span>
      <select
        aria-label="Compare with branch"
        title="Draw another branch of the session, dashed, in every chart"
        value={compared ?? ""}
        onChange={(event) => compareWith(event.target.value || null)}
      >
        <option value="">no other branch</option>
        {branches.map(({ id, name }) => (
          <option key={id} value={id} disabled={id === inView}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

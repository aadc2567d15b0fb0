import { useDocument } from "../stores/document";

/** Everything that is wrong with the document. */
export function ProblemList() {
  const problems = useDocument((state) => state.problems);
  if (problems.length === 0) return <p className="empty">No problems.</p>;
  return (
    <ul className="problem-list">
      {problems.map(({ what, hint }, index) => (
        <li key={index}>
          {what} {hint}
        </li>
      ))}
    </ul>
  );
}

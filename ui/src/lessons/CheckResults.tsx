import type { CheckResult } from "../protocol";

interface Props {
  results: readonly CheckResult[];
  onClose: () => void;
}

/** Nothing was found, and anything would do. */
const NOTHING = ["", "-", "any"];

/** What a check has found; a hint for each point that is missing. */
export function CheckResults({ results, onClose }: Props) {
  const points = results.reduce((sum, result) => sum + result.points, 0);
  const of = results.reduce((sum, result) => sum + result.of, 0);
  return (
    <section className="check-results" aria-label="Result of the check" aria-live="polite">
      <h2>
        {points} of {of} points
        <button type="button" className="icon-button" aria-label="Close the result" onClick={onClose}>
          ✕
        </button>
      </h2>
      <ul>
        {results.map((result) => {
          const isGood = result.points >= result.of;
          return (
            <li key={result.what} className={isGood ? "is-good" : "is-missing"}>
              <p>
                <span aria-hidden="true">{isGood ? "✓" : "✗"}</span> {result.what}
                <small>
                  {result.points} of {result.of}
                </small>
              </p>
              {!isGood && !NOTHING.includes(result.found) && (
                <p className="check-found">
                  found {result.found}
                  {!NOTHING.includes(result.wanted) && `, wanted ${result.wanted}`}
                </p>
              )}
              {!isGood && result.hint && <p className="check-hint">{result.hint}</p>}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

import type { CheckResult } from "../protocol";

interface Props {
  results: readonly CheckResult[];
  onClose: () => void;
}

/** Texts that mean that there is no value. */
const NO_VALUE = ["", "-", "any"];

/** The results of a check, with a hint for each part that lost points. */
export function CheckResults({ results, onClose }: Props) {
  const points = results.reduce((sum, result) => sum + result.points, 0);
  const of = results.reduce((sum, result) => sum + result.of, 0);
  return (
    <section className="check-results" aria-label="Check results" aria-live="polite">
      <h2>
        {points} of {of} points
        <button type="button" className="icon-button" aria-label="Close the results" onClick={onClose}>
          ✕
        </button>
      </h2>
      <ul>
        {results.map((result) => {
          const isGood = result.points >= result.of;
          return (
            <li key={result.what} className={isGood ? "is-good" : "is-missing"}>
              <p>
                <span aria-hidden="true">{isGood ? "✓" : result.passed ? "–" : "✗"}</span> {result.what}
                <small>
                  {result.points} of {result.of}
                </small>
              </p>
              {!result.passed && !NO_VALUE.includes(result.measured) && (
                <p className="check-found">
                  measured {result.measured}
                  {!NO_VALUE.includes(result.expected) && `, expected ${result.expected}`}
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

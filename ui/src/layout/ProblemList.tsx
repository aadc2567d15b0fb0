import { perform } from "../connection";
import { goTo } from "../editor/problems";
import { linkName } from "../editor/actions";
import { Icon } from "../editor/icons";
import { useDocument, type DocumentState } from "../stores/document";
import { useRunning } from "../stores/running";
import type { DrawingProblem } from "../protocol";

/** All problems of the document; a click goes to the element. */
export function ProblemList() {
  const state = useDocument();
  const { warnings, phase } = useRunning(({ run }) => run);
  if (state.problems.length + warnings.length === 0) {
    return <p className="empty">No problems. The network can be run.</p>;
  }
  return (
    <>
      {state.problems.some(({ fix }) => fix === "address") && <AddressFix />}
      <ul className="problem-list" aria-label="Problems">
        {state.problems.map((problem, index) => (
          <li key={index}>
            <button type="button" className="problem" onClick={() => goTo(problem)}>
              <span className={`problem-icon problem-${problem.severity}`}>
                <Icon name="warning" size={16} />
              </span>
              <span className="problem-where">{where(problem, state)}</span>
              <span>
                {problem.what}
                {problem.hint !== "" && <span className="hint"> {problem.hint}</span>}
              </span>
            </button>
          </li>
        ))}
        {warnings.map((warning) => (
          <li key={warning} className="problem">
            <span className="problem-icon problem-warning">
              <Icon name="warning" size={16} />
            </span>
            <span className="problem-where">{phase === "stopped" ? "last run" : "running network"}</span>
            <span>{warning}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Offers to solve all problems with addresses and routes at once. */
function AddressFix() {
  return (
    <p className="problem-fix">
      <button
        type="button"
        className="button"
        title="A subnet for each network, addresses for routers and hosts, default routes, and routes between routers"
        onClick={() => void perform({ do: "address" })}
      >
        Address this network
      </button>
    </p>
  );
}

function where({ place }: DrawingProblem, { nodes, links, labels }: DocumentState): string {
  const link = links[place.id];
  if (link !== undefined) return linkName(link);
  return nodes[place.id]?.name ?? (labels[place.id] ? "label" : "network");
}

import { useState } from "react";
import { errorText, request } from "../connection";
import type { StudentRow, UnitState } from "../protocol";
import { ago, currentUnit, help, isRunning, short, total, unitName } from "./state";

interface Props {
  student: StudentRow;
  nowS: number;
  columns: number;
  onChanged: () => void;
  /** Called with why a network could not be stopped, and with "" at the next attempt. */
  onProblem: (text: string) => void;
}

/** A student's line in the table and, on request, a line with all units. */
export function StudentLines({ student, nowS, columns, onChanged, onProblem }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const unit = currentUnit(student);
  const grade = total(student.grades);
  const id = `details-${student.seed}-${student.name.replace(/\W+/g, "-")}`;
  return (
    <tbody>
      <tr>
        <th scope="row">
          <button
            type="button"
            className="class-more"
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setIsOpen(!isOpen)}
          >
            <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {student.name}
          </button>
        </th>
        <td>
          <NeedsHelp student={student} nowS={nowS} />
        </td>
        <td>
          {student.is_online ? (
            <>
              <span className="class-chip class-chip-good">online</span>{" "}
              <a
                className="button"
                href={`look/${student.number}/`}
                target={`wanlab-look-${student.number}`}
                aria-label={`Look at the laboratory of ${student.name}`}
                title="View this laboratory without changing it; the student sees that you do"
              >
                Look
              </a>
            </>
          ) : (
            <span className="class-soft">{ago(student.seen_s, nowS)}</span>
          )}
        </td>
        <td>
          <Network student={student} onChanged={onChanged} onProblem={onProblem} />
        </td>
        <td>
          {unit ? <span className={student.open_unit ? "" : "class-soft"}>{unitName(unit.unit)}</span> : <Nothing />}
        </td>
        <td>{unit && unit.steps > 0 ? <Steps unit={unit} /> : <Nothing />}</td>
        <td>{unit && unit.of !== null ? <Points points={unit.points ?? 0} of={unit.of} /> : <Nothing />}</td>
        <td>{student.hand_ins.length ? student.hand_ins.map((one) => unitName(one.unit)).join(", ") : <Nothing />}</td>
        <td>{grade ? <Points points={grade.points} of={grade.of} /> : <Nothing />}</td>
      </tr>
      <tr id={id} hidden={!isOpen}>
        <td colSpan={columns}>{isOpen && <Units student={student} />}</td>
      </tr>
    </tbody>
  );
}

/** A raised hand, or how long no step has been done. */
function NeedsHelp({ student, nowS }: Pick<Props, "student" | "nowS">) {
  const needed = help(student, nowS);
  if (needed === null) return <Nothing />;
  const minutes = Math.floor(needed.forS / 60);
  const asks = minutes < 1 ? "asks for help" : `asks for help, ${minutes} min`;
  return (
    <span className="class-chip class-chip-bad">{needed.kind === "asks" ? asks : `no step for ${minutes} min`}</span>
  );
}

function Nothing() {
  return (
    <span className="class-soft">
      <span aria-hidden="true">–</span>
      <span className="class-hidden">none</span>
    </span>
  );
}

function Network({ student, onChanged, onProblem }: Pick<Props, "student" | "onChanged" | "onProblem">) {
  const [isStopping, setIsStopping] = useState(false);
  if (!isRunning(student))
    return student.phase === "failed" ? <span className="class-chip class-chip-bad">failed</span> : <Nothing />;
  const stop = async () => {
    if (!window.confirm(`Stop the network of ${student.name}? Its programs end; files are kept.`)) return;
    setIsStopping(true);
    onProblem("");
    try {
      await request(`api/class/stop/${encodeURIComponent(student.name)}`, { method: "POST" });
    } catch (error) {
      onProblem(`The network of ${student.name} was not stopped: ${errorText(error)}.`);
    } finally {
      setIsStopping(false);
      onChanged();
    }
  };
  return (
    <span className="class-network">
      {student.phase === "running" ? `${student.nodes} ${student.nodes === 1 ? "node" : "nodes"}` : student.phase}
      <button
        type="button"
        className="button"
        disabled={isStopping || student.phase === "stopping"}
        aria-label={`Stop the network of ${student.name}`}
        onClick={() => void stop()}
      >
        Stop
      </button>
    </span>
  );
}

function Steps({ unit }: { unit: UnitState }) {
  const text = `${unit.done} of ${unit.steps}`;
  return (
    <span className="class-steps">
      <progress max={unit.steps} value={unit.done} aria-label={`${text} steps of ${unitName(unit.unit)}`} />
      {text}
    </span>
  );
}

function Points({ points, of }: { points: number; of: number }) {
  const kind = of > 0 && points >= of ? "class-chip class-chip-good" : "class-chip";
  return (
    <span className={kind}>
      {short(points)} of {short(of)}
    </span>
  );
}

/** All units in which a student has done, handed in or been graded for something. */
function Units({ student }: { student: StudentRow }) {
  const names = [
    ...new Set([student.units, student.hand_ins, student.grades].flatMap((rows) => rows.map((row) => row.unit))),
  ];
  const disk = `${Math.round(student.disk_bytes / 1e6)} of ${Math.round(student.disk_limit_bytes / 1e6)} MB`;
  return (
    <div className="class-units">
      {names.length > 0 && (
        <table>
          <caption className="class-hidden">Units of {student.name}</caption>
          <thead>
            <tr>
              {["Unit", "Steps", "Check", "Handed in", "Grade", "Checks not passed"].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((name) => {
              const unit = student.units.find((one) => one.unit === name);
              const handedIn = student.hand_ins.find((one) => one.unit === name);
              const grade = student.grades.find((one) => one.unit === name);
              return (
                <tr key={name}>
                  <th scope="row">{unitName(name)}</th>
                  <td>{unit ? <Steps unit={unit} /> : <Nothing />}</td>
                  <td>{unit && unit.of !== null ? <Points points={unit.points ?? 0} of={unit.of} /> : <Nothing />}</td>
                  <td>
                    {handedIn ? new Date(handedIn.at_s * 1000).toLocaleString() : <Nothing />}
                    {handedIn && handedIn.count > 1 && <span className="class-soft"> ({handedIn.count} times)</span>}
                  </td>
                  <td>
                    {grade ? <Points points={grade.points} of={grade.of} /> : <Nothing />}
                    {grade?.late && <span className="class-chip class-chip-bad">late</span>}
                  </td>
                  <td>{grade?.error || grade?.missed || <Nothing />}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      <p className="class-soft">
        {names.length === 0 && "Nothing done yet. "}Seed {student.seed}; folder {disk}.
      </p>
    </div>
  );
}

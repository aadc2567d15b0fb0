/**
 * Form fields. Input is checked while it is typed and becomes an edit on Enter or when the field loses
 * the focus; Escape reverts it. Invalid input is kept, too: the problem is then shown at the field and
 * at the element, and nothing that was typed is lost.
 */
import { createContext, useContext, useEffect, useId, useState, type ReactNode } from "react";
import type { DrawingProblem } from "../protocol";
import type { Check } from "./units";

/** The problems of the element whose form this is. */
const Problems = createContext<readonly DrawingProblem[]>([]);
export const FieldProblems = Problems.Provider;

function useProblem(field: string, alias?: readonly string[]): string {
  const problem = useContext(Problems).find(
    ({ place }) =>
      place.field === field || place.field.startsWith(`${field}.`) || (alias?.includes(place.field) ?? false),
  );
  if (problem === undefined) return "";
  return problem.hint === "" ? problem.what : `${problem.what}: ${problem.hint}`;
}

interface Common {
  /** The field's name in the document: "name", "options.ip". */
  field: string;
  title: string;
  hint?: string | undefined;
  /** Other fields whose problems are shown here. */
  alias?: readonly string[];
  isDisabled?: boolean | undefined;
}

interface TextProps extends Common {
  value: string;
  onChange: (value: string) => void;
  check?: Check;
  /** The default that an empty field stands for: "10.0.0.1/8 (automatic)". */
  placeholder?: string | undefined;
  suggestions?: readonly string[];
  lines?: number;
  /** "mono" for commands and addresses. */
  face?: "mono";
}

export function TextField(props: TextProps) {
  const { field, title, value, onChange, check, placeholder, suggestions, lines, face } = props;
  const id = useId();
  const [draft, setDraft] = useState(value);
  const [isTyping, setIsTyping] = useState(false);
  const known = useProblem(field, props.alias);
  useEffect(() => setDraft(value), [value]);

  // Only a name must not be empty; any other empty field means the default.
  const inputError = draft === "" && field !== "name" ? "" : (check?.(draft) ?? "");
  const wrong = isTyping || known === "" ? inputError : known;
  const commit = () => {
    setIsTyping(false);
    const typed = lines === undefined ? draft.trim() : draft;
    if (typed !== value) onChange(typed);
  };
  const shared = {
    id,
    className: `input ${face === "mono" ? "input-mono" : ""}`,
    value: draft,
    placeholder,
    disabled: props.isDisabled,
    spellCheck: false,
    autoComplete: "off",
    "data-field": field,
    "aria-invalid": wrong !== "",
    "aria-describedby": `${id}-note`,
    onBlur: commit,
  };
  const input = (text: string) => {
    setDraft(text);
    setIsTyping(true);
  };
  return (
    <Row id={id} title={title} wrong={wrong} hint={props.hint}>
      {lines === undefined ? (
        <input
          {...shared}
          list={suggestions === undefined ? undefined : `${id}-list`}
          onChange={(event) => input(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") commit();
            else if (event.key === "Escape" && isTyping) {
              event.stopPropagation();
              event.preventDefault();
              setDraft(value);
              setIsTyping(false);
            }
          }}
        />
      ) : (
        <textarea {...shared} rows={lines} onChange={(event) => input(event.target.value)} />
      )}
      {suggestions !== undefined && (
        <datalist id={`${id}-list`}>
          {suggestions.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
    </Row>
  );
}

interface ChoiceProps extends Common {
  value: string;
  choices: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}

export function Choice({ field, title, value, choices, onChange, hint, isDisabled }: ChoiceProps) {
  const id = useId();
  const wrong = useProblem(field);
  const isKnown = choices.some(([word]) => word === value);
  return (
    <Row id={id} title={title} wrong={wrong} hint={hint}>
      <select
        id={id}
        className="input"
        value={value}
        disabled={isDisabled}
        data-field={field}
        aria-invalid={wrong !== ""}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChange(event.target.value)}
      >
        {!isKnown && <option value={value}>{value === "" ? "different" : value}</option>}
        {choices.map(([word, shown]) => (
          <option key={word} value={word}>
            {shown}
          </option>
        ))}
      </select>
    </Row>
  );
}

interface FlagProps extends Common {
  value: boolean;
  onChange: (value: boolean) => void;
}

export function Flag({ field, title, value, onChange, hint, isDisabled }: FlagProps) {
  const wrong = useProblem(field);
  const id = useId();
  return (
    <div className="field field-flag">
      <label>
        <input
          type="checkbox"
          checked={value}
          disabled={isDisabled}
          data-field={field}
          aria-describedby={`${id}-note`}
          onChange={(event) => onChange(event.target.checked)}
        />
        <span>{title}</span>
      </label>
      <FieldNote id={id} wrong={wrong} hint={hint} />
    </div>
  );
}

interface RowsProps extends Common {
  /** The texts of each row, one per column. */
  rows: readonly (readonly string[])[];
  columns: readonly { title: string; placeholder?: string; check?: Check }[];
  onChange: (rows: readonly (readonly string[])[]) => void;
  addTitle: string;
}

/** A list with a row of fields for each entry, a button to remove it, and one to add another. */
export function Rows({ field, title, rows, columns, onChange, addTitle, hint }: RowsProps) {
  const id = useId();
  const wrong = useProblem(field);
  const [extra, setExtra] = useState(0);
  useEffect(() => setExtra(0), [rows]);
  const shown = [...rows, ...Array.from({ length: extra }, () => columns.map(() => ""))];
  const set = (row: number, column: number, text: string) => {
    const changed = shown.map((cells, index) =>
      index === row ? cells.map((cell, at) => (at === column ? text : cell)) : cells,
    );
    const kept = changed.filter((cells) => cells.some((cell) => cell !== ""));
    if (JSON.stringify(kept) !== JSON.stringify(rows)) onChange(kept);
  };
  return (
    <fieldset className="rows">
      <legend className="field-title">{title}</legend>
      {shown.map((cells, row) => (
        <div className="rows-line" key={`${row} of ${shown.length}`}>
          {columns.map((column, at) => (
            <Cell
              key={column.title}
              field={at === 0 ? field : undefined}
              label={`${column.title} ${row + 1}`}
              value={cells[at] ?? ""}
              placeholder={column.placeholder}
              check={column.check}
              onChange={(text) => set(row, at, text)}
            />
          ))}
          <button
            type="button"
            className="icon-button"
            aria-label={`Remove ${title} ${row + 1}`}
            onClick={() =>
              row < rows.length ? onChange(rows.filter((_, index) => index !== row)) : setExtra(extra - 1)
            }
          >
            ✕
          </button>
        </div>
      ))}
      <button type="button" className="link-button" data-field={field} onClick={() => setExtra(extra + 1)}>
        + {addTitle}
      </button>
      <FieldNote id={id} wrong={wrong} hint={hint} />
    </fieldset>
  );
}

interface CellProps {
  field: string | undefined;
  label: string;
  value: string;
  placeholder: string | undefined;
  check: Check | undefined;
  onChange: (text: string) => void;
}

function Cell({ field, label, value, placeholder, check, onChange }: CellProps) {
  const [draft, setDraft] = useState(value);
  useEffect(() => setDraft(value), [value]);
  const wrong = draft === "" ? "" : (check?.(draft) ?? "");
  return (
    <input
      className="input input-mono"
      aria-label={label}
      aria-invalid={wrong !== ""}
      title={wrong}
      data-field={field}
      value={draft}
      placeholder={placeholder}
      spellCheck={false}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={() => onChange(draft.trim())}
      onKeyDown={(event) => event.key === "Enter" && onChange(draft.trim())}
    />
  );
}

function Row({
  id,
  title,
  wrong,
  hint,
  children,
}: {
  id: string;
  title: string;
  wrong: string;
  hint?: string | undefined;
  children: ReactNode;
}) {
  return (
    <div className="field">
      <label className="field-title" htmlFor={id}>
        {title}
      </label>
      {children}
      <FieldNote id={id} wrong={wrong} hint={hint} />
    </div>
  );
}

function FieldNote({ id, wrong, hint }: { id: string; wrong: string; hint?: string | undefined }) {
  return (
    <span id={`${id}-note`} className={wrong === "" ? "hint" : "wrong"} aria-live="polite">
      {wrong === "" ? hint : wrong}
    </span>
  );
}

/** A collapsible part of a form. `isOpen`: whether it is open at first. */
export function Section({ title, isOpen, children }: { title: string; isOpen: boolean; children: ReactNode }) {
  return (
    <details className="section" open={isOpen}>
      <summary>{title}</summary>
      <div className="section-body">{children}</div>
    </details>
  );
}

import { useEffect, useState, type FormEvent } from "react";
import { clockText } from "../clock/time";
import { send } from "../connection";
import { linkName } from "../editor/actions";
import type { Direction } from "../editor/conditions";
import { Dialog } from "../layout/Dialog";
import { closeDialog } from "../layout/dialogs";
import { QUEUES, type DrawnLink } from "../protocol";
import { branchInView, endOf, useBranches } from "../stores/branches";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { costText } from "../timeline/Actions";
import { optionsWith, PROPERTIES, QUEUE, valueNow } from "./properties";
import { repeatWith, useWhatIf } from "./whatIf";

/** Choose another value for a link, and from when on. */
export function WhatIfDialog() {
  const id = useWhatIf((state) => state.link);
  const link = useDocument((state) => state.links[id]);
  const branch = useBranches(branchInView);
  if (link === undefined || branch === null) return null;
  return <Form link={link} branch={branch} />;
}

function Form({ link, branch }: { link: DrawnLink; branch: string }) {
  const nodes = useDocument((state) => state.nodes);
  const shown = useBranches((state) => state.shown);
  const [direction, setDirection] = useState<Direction>("both");
  const [word, setWord] = useState<string>(QUEUE);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [isFromShown, setFromShown] = useState(shown !== null);
  const property = PROPERTIES.find((one) => one.word === word)!;
  const now = valueNow(link, direction, word);
  const others = QUEUES.filter(([kind]) => kind !== now);
  const text = texts[word] ?? (word === QUEUE ? others[0]![0] : "");
  const wrong = text === "" ? "" : property.check(text);
  const at_ns = isFromShown && shown !== null ? shown.at_ns : 0;
  const cost = useCost(branch);
  const names = [link.a, link.b].map((end) => nodes[end]?.name ?? "?");
  const isComplete = text.trim() !== "" && wrong === "" && text.trim() !== now;

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isComplete) return;
    closeDialog();
    const options = optionsWith(link, direction, word, text);
    void repeatWith({ branch, at_ns, link: link.id, options, end: direction === "both" ? null : direction });
  };
  return (
    <Dialog title={`What if ${linkName(link)} were different?`} size="small" onClose={closeDialog}>
      <form className="text-form" onSubmit={submit}>
        <label>
          Property
          <select value={word} autoFocus onChange={(event) => setWord(event.target.value)}>
            {PROPERTIES.map((one) => (
              <option key={one.word} value={one.word}>
                {one.title}
              </option>
            ))}
          </select>
        </label>
        <label>
          Direction
          <select value={direction} onChange={(event) => setDirection(event.target.value as Direction)}>
            <option value="both">both ways</option>
            <option value="a">{names.join(" → ")}</option>
            <option value="b">{[...names].reverse().join(" → ")}</option>
          </select>
        </label>
        <label>
          Value
          {word === QUEUE ? (
            <select value={text} onChange={(event) => setTexts({ ...texts, [word]: event.target.value })}>
              {others.map(([kind, title]) => (
                <option key={kind} value={kind}>
                  {title}
                </option>
              ))}
            </select>
          ) : (
            <input
              value={text}
              spellCheck={false}
              autoComplete="off"
              placeholder={now}
              aria-invalid={wrong !== ""}
              aria-describedby="what-if-note"
              onChange={(event) => setTexts({ ...texts, [word]: event.target.value })}
            />
          )}
        </label>
        <p id="what-if-note" className={wrong === "" ? "hint" : "wrong"} role="status">
          {wrong === "" ? `Now: ${now}` : wrong}
        </p>
        {shown !== null && (
          <label>
            From
            <select
              value={isFromShown ? "shown" : "start"}
              onChange={(event) => setFromShown(event.target.value === "shown")}
            >
              <option value="start">the start</option>
              <option value="shown">{clockText(shown.at_ns)}, the instant shown</option>
            </select>
          </label>
        )}
        <p className="hint">
          Everything that you did {at_ns === 0 ? "" : "after that "}happens again with this value, in a new branch
          {cost === null ? "" : `, in about ${costText(cost)}`}. The charts then show both.
        </p>
        <button type="submit" className="button button-first" disabled={!isComplete}>
          Repeat with this value
        </button>
      </form>
    </Dialog>
  );
}

/** How long the whole branch is expected to take again. */
function useCost(id: string): number | null {
  const [cost, setCost] = useState<number | null>(null);
  useEffect(() => {
    let isOver = false;
    const { branches, live } = useBranches.getState();
    const branch = branches.find((one) => one.id === id);
    if (branch === undefined) return undefined;
    const at_ns = Math.round(endOf(branch, live, useRunning.getState().clock.now_ns));
    void send({ do: "cost", branch: id, at_ns }).then(
      ({ real_s }) => isOver || setCost(real_s),
      () => undefined, // the branch was removed meanwhile
    );
    return () => {
      isOver = true;
    };
  }, [id]);
  return cost;
}

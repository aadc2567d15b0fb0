import type { DrawnFrame } from "../protocol";
import { useDocument } from "../stores/document";
import { edit } from "../stores/edits";
import { Choice, TextField } from "./Field";
import * as units from "./units";

const COLOURS: readonly (readonly [DrawnFrame["colour"], string])[] = [
  ["", "Grey"],
  ["blue", "Blue"],
  ["green", "Green"],
  ["yellow", "Yellow"],
  ["red", "Red"],
  ["purple", "Purple"],
];
const MAX_SIZE = 100_000;

/** Properties of a frame. */
export function FrameForm({ frame }: { frame: DrawnFrame }) {
  const change = (changes: Partial<DrawnFrame>) => {
    const now = useDocument.getState().frames[frame.id] ?? frame;
    void edit("Change frame", { frames: [{ ...now, ...changes }] });
  };
  const size = (side: "width" | "height", title: string) => (
    <TextField
      field={side}
      title={title}
      value={String(Math.round(frame[side]))}
      check={units.whole(1, MAX_SIZE)}
      onChange={(text) => {
        const value = Number(text);
        if (value >= 1 && value <= MAX_SIZE) change({ [side]: value });
      }}
    />
  );
  return (
    <>
      <TextField field="text" title="Text" value={frame.text} lines={3} onChange={(text) => change({ text })} />
      <Choice
        field="colour"
        title="Colour"
        value={frame.colour}
        choices={COLOURS}
        onChange={(colour) => change({ colour: colour as DrawnFrame["colour"] })}
      />
      {size("width", "Width")}
      {size("height", "Height")}
    </>
  );
}

import { useState, type FormEvent } from "react";
import { Dialog } from "../layout/Dialog";
import { closeDialog } from "../layout/dialogs";
import { PRESETS } from "../editor/presets";
import { generate } from "./topologies";

interface Shape {
  word: string;
  title: string;
  sizes: readonly { name: string; title: string; value: number; step?: number }[];
}

const SHAPES: readonly Shape[] = [
  { word: "single", title: "Single: hosts on one switch", sizes: [{ name: "k", title: "Hosts", value: 4 }] },
  {
    word: "linear",
    title: "Linear: a chain of switches",
    sizes: [
      { name: "k", title: "Switches", value: 4 },
      { name: "n", title: "Hosts per switch", value: 1 },
    ],
  },
  {
    word: "tree",
    title: "Tree",
    sizes: [
      { name: "depth", title: "Depth (levels of switches)", value: 2 },
      { name: "fanout", title: "Fanout", value: 3 },
    ],
  },
  {
    word: "ring",
    title: "Ring",
    sizes: [
      { name: "k", title: "Switches", value: 5 },
      { name: "n", title: "Hosts per switch", value: 1 },
    ],
  },
  {
    word: "torus",
    title: "Torus",
    sizes: [
      { name: "x", title: "Rows", value: 3 },
      { name: "y", title: "Columns", value: 3 },
    ],
  },
  {
    word: "dumbbell",
    title: "Dumbbell: pairs over one bottleneck",
    sizes: [{ name: "pairs", title: "Pairs", value: 3 }],
  },
  {
    word: "parking_lot",
    title: "Parking lot: a chain of bottlenecks",
    sizes: [{ name: "hops", title: "Bottlenecks", value: 3 }],
  },
  { word: "fat_tree", title: "Fat tree", sizes: [{ name: "k", title: "Pods", value: 4, step: 2 }] },
  {
    word: "waxman",
    title: "Waxman: random",
    sizes: [
      { name: "k", title: "Switches", value: 12 },
      { name: "seed", title: "Seed", value: 1 },
    ],
  },
];

/** Draw a network of a known shape. */
export function GenerateDialog() {
  const [at, setAt] = useState(0);
  const [sizes, setSizes] = useState<Readonly<Record<string, number>>>({});
  const [preset, setPreset] = useState(0);
  const shape = SHAPES[at]!;
  const sizeOf = ({ name, value }: { name: string; value: number }) => sizes[`${shape.word} ${name}`] ?? value;
  const draw = async (event: FormEvent) => {
    event.preventDefault();
    const words = [
      ...shape.sizes.map((size) => `${size.name}=${sizeOf(size)}`),
      ...Object.entries(PRESETS[preset]!.options).map(([name, value]) => `${name}=${value}`),
    ];
    if (await generate([shape.word, ...words].join(","))) closeDialog();
  };
  return (
    <Dialog title="Generate a network" size="small" onClose={closeDialog}>
      <form className="breakpoint-form" onSubmit={(event) => void draw(event)}>
        <label>
          Shape
          <select autoFocus value={at} onChange={(event) => setAt(Number(event.target.value))}>
            {SHAPES.map(({ word, title }, index) => (
              <option key={word} value={index}>
                {title}
              </option>
            ))}
          </select>
        </label>
        {shape.sizes.map((size) => (
          <label key={`${shape.word} ${size.name}`}>
            {size.title}
            <input
              type="number"
              min={size.step ?? 1}
              step={size.step ?? 1}
              required
              value={sizeOf(size)}
              onChange={(event) => setSizes({ ...sizes, [`${shape.word} ${size.name}`]: event.target.valueAsNumber })}
            />
          </label>
        ))}
        <label>
          {["dumbbell", "parking_lot"].includes(shape.word)
            ? "Conditions of the bottlenecks"
            : "Conditions of the links"}
          <select value={preset} onChange={(event) => setPreset(Number(event.target.value))}>
            {PRESETS.map(({ title }, index) => (
              <option key={title} value={index}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" className="button button-first">
          Draw
        </button>
      </form>
    </Dialog>
  );
}

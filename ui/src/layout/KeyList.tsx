const KEYS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "Tools (on the canvas)",
    [
      ["V", "select"],
      ["H  S  O  R  C", "host, switch, Open vSwitch, router, controller"],
      ["X", "label"],
      ["Enter", "with a tool in hand: place it in the middle"],
      ["L", "link: from the selected node; Tab to the other, Enter"],
      ["Esc", "put the tool away, select nothing"],
    ],
  ],
  [
    "Nodes",
    [
      ["Tab", "from node to node"],
      ["Arrows", "move what is selected (with Shift by one point)"],
      ["Enter", "properties; a terminal while it runs"],
      ["F2", "name"],
      ["T", "terminal, while it runs"],
      ["Menu key, Shift+F10", "what a right click offers"],
      ["Del", "delete"],
    ],
  ],
  [
    "Document",
    [
      ["Ctrl+Z, Ctrl+Y", "undo, redo"],
      ["Ctrl+X  C  V  D", "cut, copy, paste, duplicate"],
      ["Ctrl+A", "select all"],
      ["Ctrl+S, Ctrl+Shift+S", "save, save as"],
      ["Ctrl+O, Ctrl+Alt+N", "open, new"],
      ["Ctrl+,", "preferences"],
    ],
  ],
  [
    "View",
    [
      ["F", "fit into the window"],
      ["Ctrl+plus, minus, 0", "zoom"],
      ["Wheel, Ctrl+wheel", "scroll, zoom"],
      ["Space and drag", "scroll; so does the middle button"],
      ["Ctrl+B, Ctrl+J", "right side, bottom"],
    ],
  ],
  [
    "Terminals",
    [
      ["Ctrl+Shift+C, V", "copy, paste"],
      ["Ctrl+Shift+F", "find"],
      ["Ctrl+plus, minus, 0", "size of the letters"],
    ],
  ],
];

export function KeyList() {
  return (
    <div className="key-list">
      {KEYS.map(([title, keys]) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl>
            {keys.map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

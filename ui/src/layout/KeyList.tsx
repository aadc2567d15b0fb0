const KEYS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "Tools (on the canvas)",
    [
      ["V", "select"],
      ["H  S  O  R  C", "host, switch, Open vSwitch, router, controller"],
      ["X  B", "label, frame"],
      ["Enter", "with a tool selected: place a node in the middle"],
      ["L", "link from the selected node: Tab to another, then Enter"],
      ["Esc", "cancel the tool, clear the selection"],
    ],
  ],
  [
    "Nodes",
    [
      ["Tab", "go to the next node"],
      ["Arrows", "move the selection (with Shift by one pixel)"],
      ["Enter", "open properties, or a terminal while the network runs"],
      ["F2", "rename"],
      ["T", "open a terminal while the network runs"],
      ["Menu key, Shift+F10", "open the context menu"],
      ["Del", "delete"],
    ],
  ],
  [
    "Timeline",
    [
      ["Arrows, PageUp, PageDown", "look at an earlier or later instant"],
      ["Ctrl+left, Ctrl+right", "go from event to event"],
      ["Home, End", "the start, back to now"],
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
      ["F", "fit to window"],
      ["Ctrl+plus, minus, 0", "zoom"],
      ["Wheel, Ctrl+wheel", "scroll, zoom"],
      ["Space and drag", "scroll; so does the middle mouse button"],
      ["F6, Shift+F6", "go to the next or previous region, even from a terminal"],
      ["Ctrl+B, Ctrl+J", "show or hide the side and bottom panels"],
    ],
  ],
  [
    "Terminals",
    [
      ["Ctrl+Shift+C, V", "copy, paste"],
      ["F6", "leave the terminal"],
      ["Ctrl+Shift+F", "find"],
      ["Ctrl+plus, minus, 0", "font size"],
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

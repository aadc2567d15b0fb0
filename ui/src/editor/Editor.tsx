/** The editor: palette and canvas. */
export default function Editor() {
  return <div className="canvas-area" />;
}

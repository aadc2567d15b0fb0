/** Properties of what is selected. */
export function Inspector() {
  return <p className="empty">Select something to see its properties.</p>;
}

/** Live charts of what is selected. */
export function Charts() {
  return <p className="empty">Run the network and select a link to see its charts.</p>;
}

/** The terminals: tabs and panes of the bottom dock. */
export function TerminalDock() {
  return <p className="empty">Right-click a node of a running network to open a terminal.</p>;
}

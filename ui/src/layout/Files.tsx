/** The working folder. */
export function Files() {
  return <p className="empty">Files of the working folder.</p>;
}

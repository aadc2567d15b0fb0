/** The course: list of labs and the lesson beside the lab. */
export function Lessons() {
  return <p className="empty">The lessons will be listed here.</p>;
}

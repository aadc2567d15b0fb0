/** The clock: time, speed, pace. */
export function ClockBar() {
  return <div className="clock-bar" />;
}

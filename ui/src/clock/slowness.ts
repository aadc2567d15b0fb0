/** Why time passes slowly: the port that carries most. */
import { shownRate, useTraffic } from "../stores/traffic";
import { useRunning } from "../stores/running";

const SLOW = 0.05;
const FAST_BPS = 1e9;

/** "slow: 417 Gbit/s at h1-eth0" while so much traffic makes time pass slowly; "" otherwise. */
export function useSlowness(): string {
  const isSlow = useRunning(
    ({ clock }) =>
      clock.is_moving &&
      clock.clock === "virtual" &&
      clock.speed > 0 &&
      clock.speed <= SLOW &&
      clock.wanted_speed > SLOW,
  );
  const busiest = useTraffic(({ links }) => {
    if (!isSlow) return "";
    let [most, end] = [FAST_BPS, ""];
    for (const [link, { a_bps, b_bps }] of Object.entries(links)) {
      if (a_bps > most) [most, end] = [a_bps, `${link} a`];
      if (b_bps > most) [most, end] = [b_bps, `${link} b`];
    }
    return end === "" ? "" : `${end} ${shownRate(most)}`;
  });
  const [link, end, ...rate] = busiest.split(" ");
  const port = useRunning(({ ports }) => ports[`${link} ${end}`]?.name);
  return port === undefined ? "" : `slow: ${rate.join(" ")} at ${port}`;
}

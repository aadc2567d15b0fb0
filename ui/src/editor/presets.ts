/** Conditions of common kinds of links. Delays are one way. They are typical values to start from. */

export const NO_CONDITIONS = { rate: null, delay: null, jitter: null, loss: null };

export const PRESETS: readonly { title: string; options: Readonly<Record<string, string>> }[] = [
  { title: "A cable (no limit, no delay)", options: {} },
  { title: "DSL (16 Mbit/s, 10 ms)", options: { rate: "16Mbps", delay: "10ms" } },
  { title: "LTE (20 Mbit/s, 25 ± 5 ms)", options: { rate: "20Mbps", delay: "25ms", jitter: "5ms" } },
  {
    title: "Geostationary satellite (10 Mbit/s, 270 ms, 0.1 % loss)",
    options: { rate: "10Mbps", delay: "270ms", loss: "0.1%" },
  },
  { title: "Transatlantic (1 Gbit/s, 40 ms)", options: { rate: "1Gbps", delay: "40ms" } },
];

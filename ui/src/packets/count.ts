/** How many packets of a file are listed, in words. */

interface Counts {
  shown: number;
  /** How many packets of the file have been compared with the filter. */
  examined: number;
  total: number;
  isFiltered: boolean;
}

/** "1,000 of 4,748 packets", "12 packets found among 1,000 of 4,748" */
export function countText({ shown, examined, total, isFiltered }: Counts): string {
  const packets = (count: number) => `${number(count)} ${count === 1 ? "packet" : "packets"}`;
  if (!isFiltered) return shown < total ? `${number(shown)} of ${packets(total)}` : packets(shown);
  const among = examined < total ? ` among ${number(examined)} of ${number(total)}` : ` of ${number(total)}`;
  return `${packets(shown)} found${among}`;
}

function number(value: number): string {
  return value.toLocaleString("en");
}

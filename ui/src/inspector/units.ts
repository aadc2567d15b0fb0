/**
 * Checks of form fields while they are typed. The rules are those of src/wanlab/units.py; the server
 * checks again, and knows more.
 *
 * Each check returns what is wrong, as a sentence without a full stop, or "".
 */
export type Check = (text: string) => string;

const QUANTITY = /^\s*(\d{1,20}(?:\.\d{1,20})?)\s*([^\s\d.+-]\S*)?\s*$/;
const RATE = /^(?:[kKMmGgTt]?(?:bps|bit|bits|bit\/s|bits\/s|b\/s))$/;
const TIME = /^(?:ns|us|µs|μs|ms|s|[num]?secs?)$/;
const SIZE = /^(?:B|bytes?|[kK]B|MB|GB|[KMG]iB)$/;

function quantity(noun: string, units: RegExp, advice: string): Check {
  return (text) => {
    if (text.trim().startsWith("-")) return `a ${noun} cannot be negative`;
    const match = QUANTITY.exec(text);
    if (match === null) return `not a ${noun}: ${advice}`;
    if (match[2] === undefined) return `the unit is missing: ${advice}`;
    return units.test(match[2]) ? "" : `“${match[2]}” is not a unit of ${noun}: ${advice}`;
  };
}

export const rate = quantity("rate", RATE, "write for example 10Mbps (bps, kbps, Mbps, Gbps, Tbps)");
export const time = quantity("time", TIME, "write for example 20ms (ns, us, ms, s)");
export const size = quantity("size", SIZE, "write for example 64KiB (B, KB, KiB, MB, MiB, GB, GiB)");

export const fraction: Check = (text) => {
  const percent = /^\s*(\d{1,3}(?:\.\d+)?)\s*%\s*$/.exec(text);
  const number = percent === null ? Number.NaN : Number(percent[1]);
  if (Number.isNaN(number)) return "not a percentage: write for example 0.1%";
  return number <= 100 ? "" : "must be at most 100%";
};

export function whole(min: number, max: number): Check {
  return (text) => {
    if (!/^\s*\d{1,15}\s*$/.test(text)) return "must be a whole number";
    const number = Number(text);
    return number < min || number > max ? `must be from ${min} to ${max}` : "";
  };
}

export function decimal(min: number, max: number): Check {
  return (text) => {
    const number = /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isNaN(number)) return "must be a number";
    return number < min || number > max ? `must be from ${min} to ${max}` : "";
  };
}

/** A share of a processor, or the name of a model or of its file, which the server checks. */
export const processor: Check = (text) => (/^\s*[A-Za-z]|\.ya?ml\s*$/.test(text) ? "" : decimal(0, 1)(text));

/** 10.0.0.1 or fe80::1, with or without a prefix length. */
export const address: Check = (text) => {
  const [ip = "", prefix, ...more] = text.trim().split("/");
  const is4 = isIpv4(ip);
  if (more.length > 0 || !(is4 || isIpv6(ip))) return "not an IP address: write for example 10.0.0.1/8";
  if (prefix === undefined) return "";
  const max = is4 ? 32 : 128;
  const isPrefix = /^\d{1,3}$/.test(prefix) && Number(prefix) <= max;
  return isPrefix ? "" : `the prefix length must be from /0 to /${max}`;
};

/** The address of a host: "none" is for a host that is to have none, not even by rule. */
export const hostAddress: Check = (text) => (text === "none" ? "" : address(text));

export const plainAddress: Check = (text) =>
  text.includes("/") ? "must be an address without a prefix length" : address(text);

export const network4: Check = (text) => {
  const ip = text.trim().split("/")[0] ?? "";
  return isIpv4(ip) && address(text) === "" ? "" : "not an IPv4 network: write for example 10.0.0.0/8";
};

export const mac: Check = (text) => {
  if (!/^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$/.test(text.trim())) {
    return "not a MAC address: write for example 00:00:00:00:00:01";
  }
  return Number.parseInt(text.trim().slice(0, 2), 16) % 2 === 0
    ? ""
    : "a multicast address: the first byte must be even";
};

export const name: Check = (text) => {
  if (text === "") return "a name is required";
  return /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text)
    ? ""
    : "must begin with a letter or digit; then _ . - are allowed, too";
};

export const dpid: Check = (text) =>
  /^[0-9A-Fa-f]{1,16}$/.test(text.trim()) ? "" : "must be 1 to 16 hexadecimal digits";

/** 127.0.0.1:9996 */
export const target: Check = (text) => {
  const at = text.lastIndexOf(":");
  const ip = text.slice(0, at).replace(/^\[|\]$/g, "");
  const isTarget = at > 0 && plainAddress(ip) === "" && whole(1, 65535)(text.slice(at + 1)) === "";
  return isTarget ? "" : "must be an address and a port: write for example 127.0.0.1:9996";
};

/** 10.0.2.0/24 via 10.0.1.2; the `ip` command checks the rest. */
export const route: Check = (text) => {
  const [to = "", ...words] = text.trim().split(/\s+/);
  const isThere = to === "default" || address(to) === "";
  return isThere && (words.includes("via") || words.includes("dev"))
    ? ""
    : "not a route: write for example 10.0.2.0/24 via 10.0.1.2";
};

/** 10.0.0.254, or the arguments of `ip route add default`. */
export const gateway: Check = (text) =>
  /^(via|dev)\s/.test(text.trim())
    ? ""
    : plainAddress(text) === ""
      ? ""
      : "not an address: write for example 10.0.0.254";

export const vlanList: Check = (text) =>
  text.split(/[\s,]+/).every((part) => whole(1, 4094)(part) === "")
    ? ""
    : "must be VLAN IDs from 1 to 4094: write for example 10, 20";

function isIpv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
}

function isIpv6(text: string): boolean {
  if (!/^[0-9A-Fa-f:.]+$/.test(text) || !text.includes(":")) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1) ?? "";
  const isMixed = last.includes(".");
  if (isMixed && !isIpv4(last)) return false;
  const plain = isMixed ? groups.slice(0, -1) : groups;
  const count = plain.length + (isMixed ? 2 : 0);
  return plain.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group)) && (halves.length === 2 ? count < 8 : count === 8);
}

import { describe, expect, test } from "vitest";
import * as units from "./units";

function isRight(check: units.Check, texts: readonly string[]) {
  for (const text of texts) expect([text, check(text)]).toEqual([text, ""]);
}
function isWrong(check: units.Check, texts: readonly string[]) {
  for (const text of texts) expect([text, check(text) !== ""]).toEqual([text, true]);
}

describe("a field accepts the texts that wanlab's units accept", () => {
  test("rates", () => {
    isRight(units.rate, ["10Mbps", "1gbit", "1.5 Mbit/s", "100kb/s", "9600bps"]);
    isWrong(units.rate, ["10", "10MBps", "-1Mbps", "fast", "Mbps", ""]);
  });
  test("times", () => {
    isRight(units.time, ["20ms", "1s", "250us", "5 µs", "1.5ms", "10msec"]);
    isWrong(units.time, ["20", "20 min", "-1ms", "ms"]);
  });
  test("sizes", () => {
    isRight(units.size, ["1500B", "64KB", "64kB", "1MiB", "2 GB"]);
    isWrong(units.size, ["64", "64Kb", "64 packets"]);
  });
  test("fractions", () => {
    isRight(units.fraction, ["1%", "0.1 %", "100%", "0%"]);
    isWrong(units.fraction, ["1", "0.1", "101%", "-1%", "%"]);
  });
  test("addresses", () => {
    isRight(units.address, ["10.0.0.1", "10.0.0.1/8", "fe80::1/64", "::1", "::ffff:10.0.0.1", "1:2:3:4:5:6:7:8"]);
    isWrong(units.address, ["10.0.0", "10.0.0.256", "10.0.0.1/33", "10.0.0.1/8/8", "1::2::3", "1:2:3:4:5:6:7", "h1"]);
    isRight(units.hostAddress, ["10.0.0.1/8", "none"]);
    isWrong(units.hostAddress, ["10.0.0", "nothing"]);
  });
  test("MACs", () => {
    isRight(units.mac, ["00:00:00:00:00:01", "02:aB:00:00:00:01"]);
    isWrong(units.mac, ["01:00:00:00:00:01", "00:00:00:00:01", "00-00-00-00-00-01"]);
  });
  test("routes and gateways", () => {
    isRight(units.route, ["10.0.2.0/24 via 10.0.1.2", "default via 10.0.0.1", "10.0.0.0/8 dev r1-eth0"]);
    isWrong(units.route, ["10.0.2.0/24", "10.0.2 via 10.0.1.2"]);
    isRight(units.gateway, ["10.0.0.254", "via 10.0.0.254 dev h1-eth0"]);
    isWrong(units.gateway, ["10.0.0.254/8", "router"]);
  });
  test("numbers in their limits", () => {
    isRight(units.whole(1, 65535), ["1", "6633", "65535"]);
    isWrong(units.whole(1, 65535), ["0", "65536", "1.5", "a", ""]);
    isRight(units.decimal(0, 1), ["0.5", "1"]);
    isWrong(units.decimal(0, 1), ["1.1", "half"]);
    isRight(units.processor, ["0.5", "server-2019", "free", "./7.yaml"]);
    isWrong(units.processor, ["2", "-1", "50%"]);
    isRight(units.vlanList, ["10", "10, 20", "10 20"]);
    isWrong(units.vlanList, ["0", "10;20", "4095"]);
  });
  test("names, DPIDs and targets", () => {
    isRight(units.name, ["h1", "core-1", "a.b_c"]);
    isWrong(units.name, ["", "h 1", "-h", "h1/2"]);
    isRight(units.dpid, ["1", "00000000000000a1"]);
    isWrong(units.dpid, ["g", "12345678901234567"]);
    isRight(units.target, ["127.0.0.1:9996", "[::1]:6343"]);
    isWrong(units.target, ["127.0.0.1", "127.0.0.1:0", "host:9996"]);
  });
});

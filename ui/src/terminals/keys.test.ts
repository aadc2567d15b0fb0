import { expect, it } from "vitest";
import { KeyQueue } from "./keys";

const bytes = (text: string) => new TextEncoder().encode(text);
const texts = (keys: readonly Uint8Array[]) => keys.map((one) => new TextDecoder().decode(one));

function queueOf(...keys: string[]): KeyQueue {
  const queue = new KeyQueue();
  for (const one of keys) queue.add(bytes(one));
  return queue;
}

it("keeps keys until they are acknowledged", () => {
  const queue = queueOf("ab", "cd");
  queue.acknowledge(3);
  expect(queue.text()).toBe("d");
  queue.acknowledge(4);
  expect(queue.isEmpty).toBe(true);
});

it("sends over a new connection what the server has not received", () => {
  const queue = queueOf("ls", "\r");
  expect(texts(queue.resume(1))).toEqual(["s", "\r"]);
  queue.acknowledge(3);
  expect(queue.isEmpty).toBe(true);
});

it("sends everything that waits to a server that has forgotten the stream", () => {
  const queue = queueOf("ab");
  queue.acknowledge(2);
  queue.add(bytes("cd"));
  expect(texts(queue.resume(0))).toEqual(["cd"]);
  queue.acknowledge(2);
  expect(queue.isEmpty).toBe(true);
});

it("does not forget new keys when discarded ones turn out to have arrived", () => {
  const queue = queueOf("rm *\r");
  queue.clear();
  expect(queue.resume(5)).toEqual([]);
  queue.add(bytes("x"));
  expect(queue.text()).toBe("x");
});

it("names keys that are not letters", () => {
  expect(queueOf("ls", "\r", "\x03", "\x1b[A", "é").text()).toBe("ls⏎^C⎋é");
});

// JIT, garbage collection, worker threads, child processes, timers: prints the same everywhere.
const { Worker, isMainThread, parentPort } = require("worker_threads");
const { execFileSync } = require("child_process");
const { createHash } = require("crypto");

if (!isMainThread) {
  let sum = 0;
  for (let i = 0; i < 2e5; i++) sum = (sum * 31 + i) % 1000003;
  parentPort.postMessage(sum);
} else {
  const hash = createHash("sha256");
  let keep = [];
  for (let i = 0; i < 30000; i++) {
    keep.push({ i, text: "x".repeat(i % 50) });
    if (keep.length > 5000) keep = [];
    hash.update(String(Math.sqrt(i)));
  }
  console.log(hash.digest("hex"), execFileSync("echo", ["child"]).toString().trim());
  const workers = [1, 2, 3].map(() => new Worker(__filename));
  Promise.all(workers.map((w) => new Promise((done) => w.on("message", done)))).then((sums) => {
    setTimeout(() => console.log(sums.join(" ")), 20);
  });
}

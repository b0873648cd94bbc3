// A coordinator with its page, agents, and the command beside them: real processes in a directory of their own.
import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const PATIENCE_MS = 120_000;
export const SIZES = { phone: { width: 360, height: 740 }, desk: { width: 1440, height: 900 } };
export const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

/** Waits until a condition gives something. */
export async function eventually(what, condition) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`still waiting: ${what}`);
    await pause(20);
  }
}

export class Pool {
  #binary = process.env.SPEEDUP;
  #directory = mkdtempSync(join(tmpdir(), "speedup-browser-"));
  #processes = [];

  get #environment() {
    return { ...process.env, XDG_STATE_HOME: this.#directory, USER: "alice" };
  }

  static async start(agents) {
    const pool = new Pool();
    pool.#spawn("coordinator", ["coordinator", "start", "--bind", "127.0.0.1:0", "--web", "127.0.0.1:0"]);
    await eventually("the coordinator listens", () => pool.#log("coordinator").includes("the web page is"));
    for (let number = 1; number <= agents; number += 1) {
      const id = `4d2c7c1e5f0b4f0c9d3e${String(number).padStart(12, "0")}`;
      const state = join(pool.#directory, `agent-${number}`);
      pool.#spawn(`agent-${number}`, ["agent", "start", "--share-machine", "--host-id", id, "--boot-id", `boot-${number}`, "--state", state]);
    }
    await eventually("the agents join", () => pool.json(["hosts", "list"]).length === agents);
    return pool;
  }

  #log(name) {
    return readFileSync(join(this.#directory, `${name}.log`), "utf8");
  }

  #spawn(name, words) {
    const log = openSync(join(this.#directory, `${name}.log`), "w");
    const stdio = ["ignore", "ignore", log];
    this.#processes.push(spawn(this.#binary, words, { env: this.#environment, stdio }));
    closeSync(log);
  }

  speedup(words) {
    return execFileSync(this.#binary, words, { env: this.#environment, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  json(words) {
    return JSON.parse(this.speedup([...words, "--format", "json"]));
  }

  submit(name, text) {
    const plan = join(this.#directory, `${name}.toml`);
    writeFileSync(plan, text);
    return this.json(["submit", plan]).experiment;
  }

  link() {
    return this.json(["page"]).link;
  }

  async stop() {
    const ended = this.#processes.map((one) => new Promise((done) => { one.once("exit", done); one.kill("SIGKILL"); }));
    await Promise.all(ended);
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

// For each page: what the server takes and sends, what the browser makes of it (elements, tasks longer than 50 ms, frames of a
// scroll from end to end), and what its stream sends.
import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { eventually } from "./pool.mjs";

const STREAM_MS = 10_000;
const ROUNDS = 9;
const AGENTS = 10_000;
// More than all hosts take as JSON.
const MAX_ANSWER = 256 << 20;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
const binary = process.env.SPEEDUP;
const state = process.env.XDG_STATE_HOME;
const MILLION = `[experiment]\nname = "under-way"\n[versions.old]\nbaseline = true\n[versions.new]\n[benchmarks.one]\ncommand = ["true"]
[repetitions]\nruns = 500000\n[independence]\npolicy = "any"\n`;

const read = (name) => readFileSync(join(state, name), "utf8");

/** Milliseconds of a command from its start to its end, the median of nine. */
function asked(...words) {
  const times = Array.from({ length: ROUNDS }, () => {
    const begin = performance.now();
    speedup(...words);
    return performance.now() - begin;
  });
  return Math.round(times.sort((a, b) => a - b)[ROUNDS >> 1]);
}

/** A process, and what it starts, whose output is kept. */
function begin(name, command, words) {
  const log = openSync(join(state, name), "w");
  const child = spawn(command, words, { stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  return child;
}

const speedup = (...words) => JSON.parse(execFileSync(binary, [...words, "--format", "json"], { encoding: "utf8", maxBuffer: MAX_ANSWER }));

/** Milliseconds from the request to its last byte, the median of nine, and the bytes. */
async function served(page, path) {
  return page.evaluate(async ([path, rounds]) => {
    const times = [];
    let bytes = 0;
    for (let round = 0; round < rounds; round += 1) {
      const begin = performance.now();
      bytes = (await (await fetch(path)).text()).length;
      times.push(performance.now() - begin);
    }
    return { served_ms: Math.round(times.sort((a, b) => a - b)[rounds >> 1]), bytes };
  }, [path, ROUNDS]);
}

/** Scrolls to the end and back, and tells the frames and the longest tasks since the page was loaded. */
async function scrolled(page) {
  return page.evaluate(async () => {
    const frames = [];
    const height = document.documentElement.scrollHeight - innerHeight;
    let last = await new Promise(requestAnimationFrame);
    for (let step = 0; step <= 180; step += 1) {
      scrollTo(0, height * (1 - Math.abs(1 - step / 90)));
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
    }
    frames.sort((a, b) => a - b);
    return {
      frame_ms: Math.round(frames[frames.length >> 1]),
      longest_frame_ms: Math.round(frames.at(-1)),
      long_tasks_ms: globalThis.longTasks.map(Math.round),
      elements: document.querySelectorAll("*").length,
    };
  });
}

/** What the page's stream sends while one looks. */
async function streamed(page) {
  return page.evaluate(async (patience) => {
    const source = document.querySelector("[data-live]")?.dataset.live;
    if (!source) return {};
    let [bytes, parts] = [0, 0];
    try {
      const response = await fetch(source, { signal: AbortSignal.timeout(patience) });
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        bytes += piece.length;
        parts += piece.split("event:").length - 1;
      }
    } catch (error) {
      if (error.name !== "TimeoutError") throw error;
    }
    return { stream_parts: parts, stream_bytes: bytes };
  }, STREAM_MS);
}

const children = [begin("coordinator.log", binary, ["coordinator", "start", "--insecure", "--bind", "127.0.0.1:0", "--web", "127.0.0.1:0"])];
try {
  const address = await eventually("the coordinator listens", () => read("coordinator.log").match(/listening on (\S+)/)?.[1]);
  children.push(begin("pool.log", "cargo", ["bench", "--quiet", "-p", "speedup-coordinator", "--bench", "pool", "--", address, String(AGENTS)]));
  await eventually("the agents join", () => read("pool.log").includes("agents joined"));
  const [finished] = speedup("list");
  writeFileSync(join(state, "million.toml"), MILLION);
  const { experiment } = speedup("submit", join(state, "million.toml"));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  page.setDefaultTimeout(300_000);
  await page.addInitScript(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((one) => one.duration)))
      .observe({ type: "longtask", buffered: true });
  });
  await page.goto(speedup("page").link);
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  const of = (id) => `/experiments/${id}`;
  for (const path of ["/", "/hosts", of(experiment), of(finished.experiment), `${of(finished.experiment)}/report`, "/events"]) {
    await page.goto(new URL(path, page.url()).href);
    console.log(JSON.stringify({ path, ...await served(page, path), ...await scrolled(page), ...await streamed(page) }));
  }
  await page.goto(new URL(of(experiment), page.url()).href);
  console.log(await page.locator("[data-part=progress] .lead").innerText());
  await browser.close();
  for (const words of [["list"], ["explain", experiment], ["explain", experiment, "0"], ["explain", finished.experiment], ["hosts", "list"]]) {
    console.log(JSON.stringify({ command: words[0], of: words.slice(1).join(" ").slice(0, 12), took_ms: asked(...words) }));
  }
} finally {
  children.reverse().forEach((child) => process.kill(-child.pid, "SIGTERM"));
}

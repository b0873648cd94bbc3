// How the page holds with a large pool and a large experiment: for each page the time of the server, bytes, elements, the long
// tasks of the browser and the frames of a scroll from end to end, and what its stream sends in ten seconds. It prints figures.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { eventually } from "./pool.mjs";

const STREAM_MS = 10_000;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
const binary = process.env.SPEEDUP;
const state = process.env.XDG_STATE_HOME;
if (!existsSync(join(state, "speedup/coordinator/journal"))) throw new Error(`${state} has no coordinator's data`);

const log = join(state, "coordinator.log");
const words = ["coordinator", "start", "--bind", "127.0.0.1:0", "--web", "127.0.0.1:0"];
const coordinator = spawn(binary, words, { stdio: ["ignore", "ignore", openSync(log, "w")] });
const speedup = (...words) => JSON.parse(execFileSync(binary, [...words, "--output", "json"], { encoding: "utf8" }));

/** Milliseconds from the request to its last byte, and the bytes: the median of nine. */
async function served(page, path) {
  return page.evaluate(async (path) => {
    const times = [];
    let bytes = 0;
    for (let round = 0; round < 9; round += 1) {
      const begin = performance.now();
      bytes = (await (await fetch(path)).text()).length;
      times.push(performance.now() - begin);
    }
    return { server_ms: times.sort((a, b) => a - b)[4], bytes };
  }, path);
}

/** Scrolls to the end and back within three seconds, and tells the longest tasks and frames. */
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
    const [median, most] = [frames[frames.length >> 1], frames.at(-1)];
    return { frame_ms: median, longest_frame_ms: most, long_tasks: globalThis.longTasks, elements: document.querySelectorAll("*").length };
  });
}

/** What the page's stream sends. */
async function streamed(page) {
  return page.evaluate(async (patience) => {
    const source = document.querySelector("[data-live]")?.dataset.live;
    if (!source) return { stream_events: 0, stream_bytes: 0 };
    const response = await fetch(source, { signal: AbortSignal.timeout(patience) });
    let [bytes, events] = [0, 0];
    try {
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        bytes += piece.length;
        events += piece.split("\nevent:").length - (piece.startsWith("event:") ? 0 : 1);
      }
    } catch (error) {
      if (error.name !== "TimeoutError") throw error;
    }
    return { stream_events: events, stream_bytes: bytes };
  }, STREAM_MS);
}

try {
  await eventually("the coordinator listens", () => readFileSync(log, "utf8").includes("the web page is"));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  page.setDefaultTimeout(600_000);
  await page.addInitScript(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((one) => one.duration)))
      .observe({ type: "longtask", buffered: true });
  });
  await page.goto(speedup("page").link);
  const [experiment] = speedup("list").experiments;
  const paths = ["/", "/hosts", `/experiments/${experiment.experiment}`, "/events"];
  for (const path of paths) {
    await page.goto(new URL(path, page.url()).href);
    const figures = { path, ...await served(page, path), ...await scrolled(page), ...await streamed(page) };
    console.log(JSON.stringify(figures));
  }
  await browser.close();
} finally {
  coordinator.kill("SIGTERM");
}

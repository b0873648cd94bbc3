// What a person sees and does: live progress, every action, by keyboard alone, on a phone and on a desk, in light and in
// dark, with and without script; nothing for axe to complain of, nothing on the console, nothing from elsewhere.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { FLAGS, Pool, SIZES, eventually } from "./pool.mjs";
import { unreadable } from "./text.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pictures = process.env.SCREENSHOTS;
if (pictures) mkdirSync(pictures, { recursive: true });

function plan(name, seconds, runs) {
  return `[experiment]\nname = "${name}"\ndescription = "How long a ${name} takes."\nseed = 1\n[versions.old]\nbaseline = true\nenv = { T = "${seconds}" }\n`
    + `[versions.new]\nenv = { T = "${seconds / 2}" }\n`
    + `[benchmarks.sleep]\nshell = "sleep $T"\n[benchmarks.doze]\nshell = "sleep $T; sleep 0.01"\n`
    + `[repetitions]\nruns = ${runs}\n[independence]\npolicy = "any"\n`;
}

/** An experiment whose benchmarks are drawn at random from a few. */
function drawnPlan(name, runs) {
  const benchmarks = [1, 2, 3, 4, 5, 6].map((at) => `[benchmarks.nap-${at}]\nshell = "sleep $T; sleep 0.00${at}"\n`);
  return plan(name, 0.03, runs).replace(/\[benchmarks\.sleep\][^]*(?=\[repetitions\])/, `${benchmarks.join("")}[population]\nsample = 5\n`);
}

/** A window of its own, watched: what it says on its console and where it turns to. */
async function window(browser, options = {}) {
  const context = await browser.newContext({ viewport: SIZES.desk, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => asked.add(new URL(request.url()).origin));
  return page;
}
const complaints = [];
const asked = new Set();

/** Moves the focus by Tab until it is on an element, as one without a mouse does. */
async function tabTo(page, selector) {
  for (let presses = 0; presses < 80; presses += 1) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`${selector} is not reached by keyboard`);
}

async function looksRight(page, name) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= viewport.width, `${name} is ${wide} px wide on ${viewport.width}`);
      // The policy of the page lets no script in: the debugger may evaluate one.
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const found = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
      assert.deepEqual(found, [], `${name}, ${size}, ${colorScheme}`);
      if (pictures) await page.screenshot({ path: join(pictures, `${name}-${size}-${colorScheme}.png`), fullPage: true });
      assert.deepEqual((await unreadable(page)).wrong, [], `${name}, ${size}, ${colorScheme}`);
    }
  }
  await page.setViewportSize(SIZES.desk);
}

async function signIn(page, pool) {
  await page.goto(pool.link());
  await looksRight(page, "sign-in");
  await tabTo(page, "button.main");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Experiments" }).waitFor();
}

const phase = (page) => page.locator("[data-part=progress] .badge").innerText();
const turns = (page, word) => eventually(`it is ${word}`, async () => (await phase(page)) === word);
const percent = async (page) => Number.parseInt(await page.locator("[data-part=progress] .lead strong").innerText(), 10);

async function experimentByKeyboard(page, pool) {
  const id = pool.submit("nap", plan("nap", 0.4, 30));
  await page.getByRole("link", { name: "nap" }).waitFor();
  await tabTo(page, `#e-${id}`);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "nap", level: 1 }).waitFor();

  const loads = [];
  page.on("framenavigated", (frame) => loads.push(frame.url()));
  const before = await percent(page);
  await eventually("progress without loading", async () => (await percent(page)) > before);
  await page.locator("[data-part=report] table").waitFor();
  await eventually("an estimate", async () => /\[\d/.test(await page.locator("[data-part=report]").innerText()));
  assert.deepEqual(loads, [], "the page was not loaded again");
  assert.match(await page.locator("[data-part=progress]").innerText(), /About .* left at the pace so far/);
  assert.match(await page.locator("[data-part=report] .verdict").innerText(), /Independence|independen/);
  assert.match(await page.locator("main").innerText(), /How long a nap takes\./);
  await looksRight(page, "experiment");
  await page.getByText("sh -c sleep $T", { exact: true }).waitFor();
  await seenOnAPhone(page, "[data-part=report] .strips tbody tr");

  await tabTo(page, "#pause");
  await page.keyboard.press("Enter");
  await turns(page, "paused");
  assert.equal(pool.json(["list"])[0].phase, "paused");
  await tabTo(page, "#resume");
  await page.keyboard.press("Enter");
  await turns(page, "running");
  const runs = () => pool.json(["list"])[0].runs;
  const planned = runs();
  await tabTo(page, "#extend-ask");
  await page.keyboard.press("Enter");
  await tabTo(page, "#extend-runs");
  await page.keyboard.type("3");
  if (pictures) await page.screenshot({ path: join(pictures, "extend.png") });
  await Promise.all([page.waitForEvent("load"), page.keyboard.press("Enter")]);
  assert.equal(runs(), planned + 12);
  await tabTo(page, "#cancel-ask");
  await page.keyboard.press("Enter");
  await tabTo(page, "#cancel-do");
  if (pictures) await page.screenshot({ path: join(pictures, "cancel.png") });
  await page.keyboard.press("Enter");
  await eventually("it is over", async () => (await phase(page)) === "cancelled");
  await eventually("the stream ends", async () => (await page.locator("#link").innerText()).includes("any more"));
  const events = pool.json(["events", id]).map((event) => [event.what, event.by]);
  assert.deepEqual(events, [
    ["finished", null], ["cancelled", "alice"], ["extended", "alice"], ["resumed", "alice"], ["paused", "alice"],
    ...events.slice(5),
  ]);
  await page.getByRole("link", { name: "Whole report" }).click();
  await page.getByRole("heading", { level: 1, name: "nap" }).waitFor();
  await looksRight(page, "report");
}

/** What a row says stands within the width of a phone. */
async function seenOnAPhone(page, rows) {
  await page.setViewportSize(SIZES.phone);
  // An update may put another row in its place while it is looked at; the old one then stands nowhere.
  let right = 0;
  await eventually("the row stands on the page", async () => {
    right = await page.locator(rows).first().evaluate((row) => Math.max(...[...row.children].map((one) => one.getBoundingClientRect().right)));
    return right > 0;
  });
  assert.ok(right <= SIZES.phone.width, `${rows} reaches to ${right}`);
  await page.setViewportSize(SIZES.desk);
}

/** The share of benchmarks that is truly faster, where they are drawn from a population. */
async function drawnFromAPopulation(page, pool) {
  const id = pool.submit("drawn", drawnPlan("drawn", 12));
  await page.goto(new URL(`/experiments/${id}`, page.url()).href);
  await turns(page, "finished");
  await page.getByRole("heading", { name: /^Truly faster benchmarks/ }).waitFor();
  const curve = page.locator(".truly-faster svg.forest");
  assert.match(await curve.innerHTML(), /faster by more than/);
  assert.match(await page.locator("[data-part=progress]").innerText(), /Finished .* after/);
  await eventually("nothing can be done about it any more", async () => (await page.locator("#pause").count()) === 0);
  await looksRight(page, "population");
}

/** Lists by what they are asked for, with links and forms alone. */
async function choosesFromLists(page) {
  await page.getByRole("link", { name: "Experiments", exact: true }).first().click();
  await page.locator("#name").fill("PLAI");
  await page.locator("#phase").selectOption("cancelled");
  await page.locator("#sort").selectOption("failed");
  await page.locator("#show").click();
  assert.deepEqual(await page.locator(".list tbody th").allInnerTexts(), ["plain"]);
  await page.locator("#phase").selectOption("paused");
  await page.locator("#show").click();
  await page.getByText("No experiment matches.").waitFor();
  await page.goto(new URL("/hosts?state=idle", page.url()).href);
  assert.ok((await page.locator("[data-part=hosts] tbody tr").count()) > 0);
  await page.getByRole("link", { name: "quarantined" }).click();
  await page.getByText("No host here is quarantined.").waitFor();
  await page.getByRole("link", { name: "all", exact: true }).click();
  await page.getByRole("link", { name: "most runs served" }).click();
  await page.getByText("Among the first 2 000 by name.").waitFor();
  const served = (await page.locator("[data-part=hosts] td.number").allInnerTexts()).map((text) => Number(text.replace(/\D/g, "")));
  assert.ok(served.length > 1);
  assert.deepEqual(served, [...served].sort((a, b) => b - a), "most first");
  await page.goto(new URL("/events", page.url()).href);
  await page.locator("#find").fill("DRAINED");
  await page.getByRole("button", { name: "Show" }).click();
  const done = await page.locator("[data-part=events] tbody td:nth-child(3)").allInnerTexts();
  assert.ok(done.length > 0 && done.every((words) => words === "host drained"), String(done));
  await page.locator("#find").fill("nothing of this kind");
  await page.keyboard.press("Enter");
  await page.getByText("No event here has these words.").waitFor();
}

async function hostsByKeyboard(page, pool) {
  await page.getByRole("link", { name: "Hosts" }).click();
  await page.getByRole("heading", { level: 1, name: "Hosts" }).waitFor();
  await looksRight(page, "hosts");
  await tabTo(page, "tbody a[id^=h-]");
  await page.keyboard.press("Enter");
  await page.locator("#drain").waitFor();
  await looksRight(page, "host");
  await tabTo(page, "#drain");
  await page.keyboard.press("Enter");
  await page.getByText("drained by alice").waitFor();
  assert.equal(pool.json(["events"])[0].what, "host drained");
  await tabTo(page, "#resume");
  await page.keyboard.press("Enter");
  await page.locator("#drain").waitFor();
  await tabTo(page, "#quarantine-ask");
  await page.keyboard.press("Enter");
  await tabTo(page, "#quarantine-reason");
  await page.keyboard.type("its <fan> is loud");
  // What is typed stays while the page is kept up to date.
  await page.locator("#quarantine-reason").evaluate((field) => put(field.closest("[data-part]"), field.closest("[data-part]").innerHTML));
  assert.equal(await page.locator("#quarantine-reason").inputValue(), "its <fan> is loud");
  if (pictures) await page.screenshot({ path: join(pictures, "quarantine.png") });
  await tabTo(page, "#quarantine-do");
  await Promise.all([page.waitForEvent("load"), page.keyboard.press("Enter")]);
  await page.getByText("its <fan> is loud").waitFor();
  assert.equal(pool.json(["events"])[0].what, "host quarantined");
  await tabTo(page, "#resume");
  await page.keyboard.press("Enter");
  await page.locator("#drain").waitFor();
}

async function withoutScript(browser, pool) {
  const page = await window(browser, { javaScriptEnabled: false });
  const id = pool.submit("plain", plan("plain", 0.3, 20));
  await page.goto(pool.link());
  await page.getByRole("button").click();
  await page.getByRole("link", { name: "plain" }).click();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("paused", { exact: true }).first().waitFor();
  assert.equal(await page.locator("meta[http-equiv=refresh]").count(), 1);
  await page.getByRole("link", { name: "Whole report" }).click();
  await page.getByRole("heading", { level: 1, name: "plain" }).waitFor();
  await page.goBack();
  await page.locator("#cancel-ask").click();
  await page.getByRole("button", { name: "Cancel the experiment" }).click();
  await eventually("it is cancelled", () => pool.json(["list"]).find((one) => one.experiment === id).cancelled);
  await choosesFromLists(page);
  await page.context().close();
}

async function test(browser, pool) {
  const page = await window(browser);
  await signIn(page, pool);
  await experimentByKeyboard(page, pool);
  await hostsByKeyboard(page, pool);
  await drawnFromAPopulation(page, pool);
  for (const name of ["Events", "Access", "Experiments"]) {
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await looksRight(page, name.toLowerCase());
  }
  for (const [name, path] of [["hosts-sorted", "/hosts?sort=served"], ["events-found", "/events?find=host"]]) {
    await page.goto(new URL(path, page.url()).href);
    await looksRight(page, name);
  }
  await withoutScript(browser, pool);
  assert.deepEqual(complaints, [], "the console is silent");
  assert.deepEqual([...asked], [new URL(page.url()).origin], "nothing is loaded from elsewhere");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
}

const pool = await Pool.start(3);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
try {
  await test(browser, pool);
  console.log("the page does what it should in a browser");
} finally {
  await browser.close();
  await pool.stop();
}

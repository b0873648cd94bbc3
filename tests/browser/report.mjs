// The pages of a few reports, as people see them: on a phone and on a desk, in light and in dark, every text can be read;
// no table scrolls sideways on a desk; many benchmarks make no endless page; and what did not change can be left out.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { FLAGS, SIZES } from "./pool.mjs";
import { unreadable } from "./text.mjs";

/** Of several candidates; with all drawings; with every section; of the first release; without a single run; with the worst names and words. */
const REPORTS = ["drawn", "figures", "rich", "first", "empty", "hostile"];
const BENCHMARKS = 60;
const MOST_PX = 5_500;
const reports = process.env.REPORTS;
const pictures = process.env.SCREENSHOTS;
if (pictures) mkdirSync(pictures, { recursive: true });

/** The report of a few benchmarks as one of many: their rows again, and their drawings. */
async function manyBenchmarks(page) {
  await page.evaluate((many) => {
    const grow = (parent, part) => {
      const parts = [...parent.querySelectorAll(part)];
      for (let at = parts.length; at < many && parts.length > 0; at += 1) parent.append(parts[at % parts.length].cloneNode(true));
    };
    document.querySelectorAll(".strips tbody").forEach((rows) => grow(rows, ":scope > tr"));
    document.querySelectorAll("section > details tbody").forEach((rows) => grow(rows, ":scope > tr"));
    document.querySelectorAll(".drawings").forEach((runs) => grow(runs, ":scope > details"));
  }, BENCHMARKS);
}

async function looksRight(page, name, size, colorScheme) {
  const viewport = SIZES[size];
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  const what = `${name}, ${size}, ${colorScheme}`;
  if (pictures) await page.screenshot({ path: join(pictures, `report-${name}-${size}-${colorScheme}.png`), fullPage: true });
  const { checked, wrong } = await unreadable(page);
  assert.ok(checked > 50, `${what}: ${checked} texts`);
  assert.deepEqual(wrong, [], what);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= viewport.width, `${what} is ${wide} px wide`);
  if (size === "desk") {
    const sideways = await page.evaluate(() => [...document.querySelectorAll(".scroll")]
      .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => `${one.scrollWidth} of ${one.clientWidth} px: ${one.ariaLabel}`));
    assert.deepEqual(sideways, [], `${what}: what scrolls sideways`);
  }
  if (pictures) await page.screenshot({ path: join(pictures, `report-${name}-${size}-${colorScheme}-open.png`), fullPage: true });
}

async function folds(page) {
  await page.setViewportSize(SIZES.desk);
  await manyBenchmarks(page);
  const high = await page.evaluate(() => document.documentElement.scrollHeight);
  const candidates = await page.locator(".strips").count();
  if (pictures) await page.screenshot({ path: join(pictures, `report-many-${candidates}.png`), fullPage: true });
  assert.ok(high <= MOST_PX * candidates, `${BENCHMARKS} benchmarks and ${candidates} candidates take ${high} px`);
  const rows = page.locator(".strips tbody tr:visible");
  const all = await rows.count();
  for (const only of await page.locator("input.only").all()) await only.check();
  const changed = await rows.count();
  assert.ok(changed < all && changed > 0, `${changed} of ${all} changed`);
  // A verdict that the adjustment takes back is a change all the same.
  assert.equal(await page.locator(".strips tbody tr:visible", { hasNotText: /faster|slower/ }).count(), 0);
  // A word of the contents leads to what is folded, and unfolds it.
  await page.getByRole("link", { name: "Method" }).click();
  await page.locator("#method").waitFor({ state: "visible" });
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
try {
  const page = await browser.newPage();
  for (const name of REPORTS) {
    const place = pathToFileURL(join(reports, `${name}.html`)).href;
    for (const size of Object.keys(SIZES)) {
      for (const colorScheme of ["light", "dark"]) {
        await page.goto(place);
        await looksRight(page, name, size, colorScheme);
      }
    }
    if (["drawn", "figures"].includes(name)) {
      await page.goto(place);
      await folds(page);
    }
  }
  console.log("every text of the reports can be read");
} finally {
  await browser.close();
}

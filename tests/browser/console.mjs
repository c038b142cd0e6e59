// Opens the pages of the console in Chromium, light and dark, wide and narrow, with and without scripts.
//
// Environment: MODULES, a folder with playwright-core and axe-core; CHROMIUM, the browser; LINK, a sign-in link;
// ADDRESSES, paths of checks, one a line; PICTURES, a folder for pictures of the pages, or nothing. Prints one line of
// JSON: the number of pages, and everything that is wrong.

import { createRequire } from "node:module";
import { join } from "node:path";
import { readFileSync } from "node:fs";

const { MODULES, CHROMIUM, LINK, ADDRESSES, PICTURES } = process.env;
const require = createRequire(join(MODULES, "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const origin = new URL(LINK).origin;
const widths = [1440, 768, 360];
const wrong = [];
let pages = 0;

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });

function watched(page, label) {
  page.on("request", (request) => {
    if (!request.url().startsWith(origin)) wrong.push(`${label()}: asks ${request.url()}`);
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(`${label()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`${label()}: ${error}`));
}

async function audited(page, label) {
  pages += 1;
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, nodes } of found.violations) {
    wrong.push(`${label}: ${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
  }
  const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  if (inner > outer) wrong.push(`${label}: ${inner} pixels wide in a window of ${outer}`);
}

// The cookie of one sign-in serves all contexts: the link is good once.
const first = await browser.newContext();
const door = await first.newPage();
let at = "sign-in";
watched(door, () => at);
await door.goto(LINK);
await door.waitForURL(`${origin}/console`);
const state = await first.storageState();
const cookie = state.cookies[0];
if (!cookie?.httpOnly || cookie.sameSite !== "Strict") wrong.push("the cookie is open to scripts or other sites");

// A person clicks through, once with scripts and once without.
for (const javaScriptEnabled of [true, false]) {
  const context = await browser.newContext({ storageState: state, javaScriptEnabled });
  const page = await context.newPage();
  watched(page, () => `scripts ${javaScriptEnabled}, ${at}`);
  const reach = async (step, heading, act) => {
    at = step;
    await act();
    const text = await page.locator("h1").first().textContent();
    if (!text.includes(heading)) wrong.push(`${step}: the heading is "${text}", not "${heading}"`);
  };
  const address = ADDRESSES.split("\n")[0].split("/").at(-1);
  await reach("home", "Check an address", () => page.goto(`${origin}/console`));
  await reach("search", address, async () => {
    await page.locator("input[name=q]").fill(address);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/console\/check\//);
  });
  await reach("a flow opens", address, async () => {
    const flow = page.locator("details.flow > summary").first();
    await flow.focus();
    await page.keyboard.press("Enter");
    await page.locator("details.flow[open] .steps").first().waitFor();
  });
  await reach("back", "Check an address", () => page.goBack());
  for (const [name, heading] of [
    ["Transfer", "Check a transfer"], ["Checks", "Earlier checks"], ["Sources", "Sources"], ["Chains", "Chains"],
    ["Policy", "Risk policy"], ["Usage", "Usage"], ["Keys", "API keys"],
  ]) {
    await reach(name, heading, async () => {
      await page.locator("nav").getByRole("link", { name, exact: true }).click();
      await page.waitForURL(new RegExp(`/${name.toLowerCase()}$`));
    });
  }
  await reach("a new key", "The new key", async () => {
    await page.locator("input[name=name]").fill("<b>till</b>");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.locator("pre.secret").waitFor();
  });
  const id = (await page.locator("pre.secret").textContent()).split("_")[2];
  await reach("revoking", "API keys", async () => {
    await page.getByRole("link", { name: "Back to the keys" }).click();
    const row = page.locator("tr", { hasText: id });
    await row.locator("summary").click();
    await row.getByRole("button").click();
    await page.waitForURL(/\/keys$/);
    if ((await page.locator("tr", { hasText: id }).locator("button").count()) > 0) wrong.push("the key stays");
  });
  await context.close();
}

// Every page in every look.
const paths = ["", "/transfer", "/checks", "/sources", "/chains", "/policy", "/usage", "/keys", "/search?q=lantern", "/nothing"];
const all = [...paths.map((path) => `/console${path}`), ...ADDRESSES.split("\n").filter(Boolean)];
for (const colorScheme of ["light", "dark"]) {
  const context = await browser.newContext({ storageState: state, colorScheme });
  const page = await context.newPage();
  watched(page, () => `${colorScheme}, ${at}`);
  for (const path of all) {
    at = path;
    await page.setViewportSize({ width: widths[0], height: 900 });
    const response = await page.goto(origin + path);
    if (response.status() !== (path.endsWith("/nothing") ? 404 : 200)) wrong.push(`${path}: ${response.status()}`);
    await page.evaluate(() => document.querySelectorAll("details").forEach((part) => (part.open = true)));
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      await audited(page, `${colorScheme}, ${width}, ${path}`);
      if (PICTURES) {
        const name = `${path.replace(/[^a-z0-9]+/gi, "-").slice(1, 60)}-${width}-${colorScheme}.png`;
        await page.screenshot({ path: join(PICTURES, name), fullPage: true });
      }
    }
  }
  await context.close();
}

// Signed out everywhere, the cookie is of no use.
const last = await browser.newContext({ storageState: state });
const page = await last.newPage();
at = "signing out";
await page.goto(`${origin}/console/keys`);
await page.getByRole("button", { name: "Sign out everywhere" }).click();
const after = await page.goto(`${origin}/console`);
if (after.status() !== 401) wrong.push(`signed out, and still answered with ${after.status()}`);

await browser.close();
const expected = /status of 40[14]/;
console.log(JSON.stringify({ pages, wrong: wrong.filter((text) => !expected.test(text)) }));

// Opens the pages of the console in Chromium, light and dark, wide and narrow, with and without scripts.
//
// Environment: MODULES, a folder with playwright-core and axe-core; CHROMIUM, the browser; LINK, a sign-in link;
// ADDRESSES, paths of checks, one a line, those of each kind of chain first, as many as KINDS says; DEPOSIT, chain,
// transaction and output of a transfer; LARGE, a sign-in link of another server, and the path of a check with very many
// flows there; PICTURES, a folder for pictures of all pages, and DOCS, one for those of the documentation, or nothing. Prints one line of JSON: the number of pages,
// everything that is wrong, and the times of the large check in milliseconds: until the first byte, and of each frame
// while the page scrolls.

import { createRequire } from "node:module";
import { join } from "node:path";
import { readFileSync } from "node:fs";

const { MODULES, CHROMIUM, LINK, ADDRESSES, KINDS, DEPOSIT, LARGE, PICTURES, DOCS } = process.env;
const require = createRequire(join(MODULES, "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const origin = new URL(LINK).origin;
const checks = ADDRESSES.split("\n").filter(Boolean);
const widths = [1440, 768, 360];
const wrong = [];
let pages = 0;

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });

function watched(page, label) {
  page.on("request", (request) => {
    const own = [origin, LARGE && new URL(LARGE.split(" ")[0]).origin].filter(Boolean);
    if (!own.some((host) => request.url().startsWith(`${host}/`))) wrong.push(`${label()}: asks ${request.url()}`);
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

// Signs in by a link, and returns the state of the browser: the link is good once.
async function signedIn(link) {
  const context = await browser.newContext();
  const page = await context.newPage();
  watched(page, () => "sign-in");
  await page.goto(link);
  await page.waitForURL(`${new URL(link).origin}/console`);
  const state = await context.storageState();
  await context.close();
  return state;
}

// The cookie of one sign-in serves all contexts.
let at = "sign-in";
const state = await signedIn(LINK);
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
  // The check of an address of each kind of chain.
  for (const path of checks.slice(0, Number(KINDS))) {
    const address = path.split("/").at(-1);
    await reach(`home before ${path}`, "Check an address", () => page.goto(`${origin}/console`));
    await reach(`search of ${path}`, address, async () => {
      await page.locator("input[name=q]").fill(address);
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/console\/check\//);
    });
    await reach(`flows of ${path}`, address, async () => {
      const flows = page.locator("details.flow > summary");
      for (let index = 0; index < (await flows.count()); index += 1) {
        // Risky flows are open at first.
        if (await page.locator("details.flow").nth(index).locator(".steps").isVisible()) continue;
        await flows.nth(index).focus();
        await page.keyboard.press("Enter");
        await page.locator("details.flow").nth(index).locator(".steps").waitFor();
      }
    });
    await reach(`activity of ${path}`, address, async () => {
      await page.getByText(/^As a table: /).first().click();
      await page.locator("details[open] table").first().waitFor();
    });
    for (const [name, kind] of [["Save the picture (SVG)", ".svg"], ["PNG", ".png"]]) {
      const [download] = await Promise.all([
        page.waitForEvent("download"), page.getByRole("link", { name, exact: true }).click(),
      ]);
      if (!download.suggestedFilename().endsWith(kind)) wrong.push(`${name} is ${download.suggestedFilename()}`);
    }
    const between = page.locator(".picture.wide svg a");
    if ((await between.count()) > 0) {
      const follow = async () => {
        await between.first().focus();
        await page.keyboard.press("Enter");
      };
      if (javaScriptEnabled) {
        // The flows open on the same page; the link keeps the focus, and readers who do not see the page are told.
        await reach(`the next hop of ${path}`, address, async () => {
          await follow();
          await page.locator("section.hop .picture.wide svg").waitFor();
          await page.getByRole("status").filter({ hasText: "are shown below" }).waitFor({ state: "attached" });
          if (!(await between.first().evaluate((link) => link === document.activeElement))) wrong.push(`${at}: no focus`);
        });
        await reach(`back to ${path}`, address, async () => {
          await page.goBack();
          await page.locator("section.hop").waitFor({ state: "detached" });
        });
      } else {
        await reach(`the next hop of ${path}`, "", async () => {
          await follow();
          await page.waitForURL(/#flows$/);
        });
        await reach(`back to ${path}`, address, () => page.goBack());
      }
    }
    await reach(`the kept answer of ${path}`, address, async () => {
      await page.getByRole("link", { name: "Link to this answer" }).click();
      await page.waitForURL(/\/console\/checks\//);
    });
    await reach(`back, twice, from ${path}`, "Check an address", async () => {
      await page.goBack();
      await page.goBack();
    });
  }
  // A deposit, and a withdrawal before it is sent.
  const [chain, transaction, output] = DEPOSIT.split(" ");
  const receiver = checks[0].split("/").at(-1);
  await reach("a deposit", "", async () => {
    await page.goto(`${origin}/console/search?q=${transaction}`);
    const form = page.locator("form.fields").first();
    await form.locator("select[name=blockchain]").selectOption(chain);
    await form.locator("input[name=place]").fill(output);
    await form.getByRole("button").click();
    await page.getByText("deposit of").first().waitFor();
  });
  await reach("a planned withdrawal", receiver, async () => {
    await page.goto(`${origin}/console/transfer`);
    const form = page.locator("form.fields").nth(1);
    await form.locator("select[name=blockchain]").selectOption(chain);
    await form.locator("input[name=to]").fill(receiver);
    await form.locator("input[name=amount]").fill("1000");
    await form.getByRole("button").click();
    await page.locator("section.answer").waitFor();
  });
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
const [chain, transaction, output] = DEPOSIT.split(" ");
const deposit = `/console/transfer?blockchain=${chain}&transaction=${transaction}&place=${output}&direction=deposit`;
const all = [...paths.map((path) => `/console${path}`), deposit, ...checks];
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
        await page.evaluate(() => document.querySelectorAll("details.flow").forEach((part) => (part.open = false)));
        await page.screenshot({ path: join(PICTURES, name), fullPage: true });
        await page.evaluate(() => document.querySelectorAll("details.flow").forEach((part) => (part.open = true)));
      }
    }
  }
  await context.close();
}

// The pictures of the documentation.
if (DOCS) {
  const shown = [
    ["check", checks[0], "light", 1520], ["flows", checks[1], "dark", 1000], ["keys", "/console/keys", "light", 900],
  ];
  for (const [name, path, colorScheme, height] of shown) {
    const context = await browser.newContext({ storageState: state, colorScheme, viewport: { width: 1440, height } });
    const page = await context.newPage();
    await page.goto(origin + path);
    await page.evaluate(() => document.querySelectorAll("details.flow").forEach((part) => (part.open = true)));
    await page.evaluate(() => document.activeElement?.blur());
    await page.screenshot({ path: join(DOCS, `${name}.png`) });
    await context.close();
  }
}

// A check with very many flows, scrolled from its beginning to its end.
const times = {};
if (LARGE) {
  const [link, path] = LARGE.split(" ");
  const context = await browser.newContext({ storageState: await signedIn(link), viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  at = "very many flows";
  watched(page, () => at);
  await page.goto(new URL(link).origin + path);
  await audited(page, at);
  if (PICTURES) await page.screenshot({ path: join(PICTURES, "many-flows-1440-light.png") });
  Object.assign(times, await page.evaluate(async () => {
    const { requestStart, responseStart, responseEnd, domComplete } = performance.getEntriesByType("navigation")[0];
    const rounded = (number) => Math.round(number * 10) / 10;
    const measured = {
      firstByte: rounded(responseStart - requestStart),
      loaded: rounded(responseEnd - requestStart),
      drawn: rounded(domComplete - responseEnd),
    };
    for (const isOpen of [false, true]) {
      document.querySelectorAll("details").forEach((part) => (part.open = isOpen));
      scrollTo(0, 0);
      const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
      await next();
      const frames = [];
      let before = await next();
      const end = document.documentElement.scrollHeight;
      const step = Math.max(40, end / 600);
      for (let y = 0; y < end; y += step) {
        scrollTo(0, y);
        const now = await next();
        frames.push(now - before);
        before = now;
      }
      frames.sort((one, other) => one - other);
      const at = (part) => rounded(frames[Math.min(frames.length - 1, Math.floor(frames.length * part))]);
      measured[isOpen ? "framesOpened" : "frames"] = { count: frames.length, p50: at(0.5), p99: at(0.99), most: at(1) };
    }
    return measured;
  }));
  await page.getByRole("link", { name: "960 more flows" }).first().click();
  await page.getByRole("link", { name: "Next flows" }).waitFor();
  await audited(page, `${at}, further ones`);
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
console.log(JSON.stringify({ pages, wrong: wrong.filter((text) => !expected.test(text)), times }));

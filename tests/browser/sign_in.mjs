// A person signs in to the console at an issuer and out again, in Chromium, without scripts of the pages.
//
// Environment: MODULES, a folder with playwright-core and axe-core; CHROMIUM, the browser; CONSOLE, the URL of a page of the
// console; NAME, the person as the console tells it; PICTURES, a folder for pictures of the pages, or nothing. Prints one
// line of JSON: everything that is wrong.

import { createRequire } from "node:module";
import { join } from "node:path";
import { readFileSync } from "node:fs";

const { MODULES, CHROMIUM, CONSOLE, NAME, PICTURES } = process.env;
const require = createRequire(join(MODULES, "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const wrong = [];
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });

for (const colorScheme of ["light", "dark"]) {
  const context = await browser.newContext({ colorScheme, viewport: { width: 360, height: 800 } });
  const page = await context.newPage();
  page.on("pageerror", (error) => wrong.push(`${error}`));
  const shown = async (step, heading) => {
    const text = await page.locator("h1").first().textContent();
    if (!text.includes(heading)) wrong.push(`${step}: the heading is "${text}", not "${heading}"`);
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    for (const { id, nodes } of found.violations) wrong.push(`${step}: ${id}: ${nodes[0].html.slice(0, 160)}`);
    const inner = await page.evaluate(() => document.documentElement.scrollWidth);
    if (inner > 360) wrong.push(`${step}: ${inner} pixels wide in a window of 360`);
    const name = `${step.replace(/[^a-z]+/g, "-")}-${colorScheme}.png`;
    if (PICTURES) await page.screenshot({ path: join(PICTURES, name), fullPage: true });
  };
  await page.goto(CONSOLE);
  await shown("sign-in", "Sign in");
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.waitForURL(CONSOLE);
  await shown("asked page", "Risk policy");
  if (!(await page.locator("header").textContent()).includes(NAME)) wrong.push(`the page does not name ${NAME}`);
  const cookies = await context.cookies(CONSOLE);
  const session = cookies.filter(({ name }) => name.startsWith("assay-console"));
  if (session.length !== 1) wrong.push(`cookies: ${session.map(({ name }) => name)}`);
  if (!session[0]?.httpOnly || session[0].sameSite !== "Strict") wrong.push("the cookie is open to scripts or other sites");
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await shown("signed out", "Signed out");
  const after = await page.goto(CONSOLE);
  if (after.status() !== 401) wrong.push(`signed out, and still answered with ${after.status()}`);
  await context.close();
}

await browser.close();
console.log(JSON.stringify({ wrong }));

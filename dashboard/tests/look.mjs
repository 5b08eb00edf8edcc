// Looks at a dashboard in Chromium as a person would, and prints what it shows as JSON: for tests/tests/dashboard.rs, which knows
// what is true.
//
//   node look.mjs ADDRESS SECRET URL [FOLDER]     SECRET unlocks the figures; URL is inspected and purged; FOLDER takes screenshots
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const [address, secret, url, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
    executablePath: process.env.MYRIAD_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
});
const seen = { complaints: [], elsewhere: [] };

async function begin(options) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, colorScheme: "light", ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on("console", (said) => ["error", "warning"].includes(said.type()) && seen.complaints.push(said.text()));
    page.on("pageerror", (error) => seen.complaints.push(String(error.stack ?? error)));
    page.on("request", (request) => {
        if (!request.url().startsWith(address) && !request.url().startsWith("data:")) seen.elsewhere.push(request.url());
    });
    return page;
}

/** Opens the link with the secret. */
async function open(options) {
    const page = await begin(options);
    await page.goto(`${address}#secret=${secret}`);
    await page.waitForSelector('#state[data-state="live"]');
    seen.address = page.url();
    for (const id of ["top-pages", "top-misses", "top-slow", "origins", "workers", "servers"]) {
        await page.waitForSelector(`#${id} tbody tr`);
    }
    // Three seconds are in the charts.
    await page.waitForFunction(() => document.querySelector("#chart-requests .nothing")?.hidden);
    return page;
}

/** Opens the address without a secret, tries another one, then types it. */
async function locked() {
    const page = await begin({});
    const before = seen.complaints.length;
    await page.goto(address);
    await page.waitForSelector("#locked:not([hidden])");
    seen.locked = await text(page, "#locked");
    await page.fill("#secret", "none of it");
    await page.press("#secret", "Enter");
    await page.waitForFunction(() => document.querySelector("#secret-said").textContent !== "");
    seen.locked_wrong = await text(page, "#secret-said");
    await page.fill("#secret", secret);
    await page.press("#secret", "Enter");
    await page.waitForSelector('#state[data-state="live"]');
    // A browser notes each 403 on its console.
    seen.refusals = seen.complaints.splice(before).filter((said) => /status of 403/.test(said)).length;
    await page.context().close();
}

const rows = (page, id) =>
    page.$$eval(`#${id} tbody tr`, (list) => list.map((row) => [...row.children].map((cell) => cell.innerText.trim())));
const text = (page, selector) => page.$eval(selector, (node) => node.innerText.trim());

async function panels(page) {
    seen.figures = Object.fromEntries(
        await page.$$eval(".figure", (list) => list.map((node) => [node.dataset.figure, [node.querySelector("b").innerText, node.querySelector("small").innerText]])),
    );
    seen.charts = await page.$$eval(".chart", (list) =>
        list.map((node) => ({
            id: node.id,
            sentence: node.querySelector(".sentence").innerText,
            drawn: node.querySelector("canvas") !== null,
            legend: node.querySelector(".legend").innerText,
        })),
    );
    for (const id of ["top-pages", "top-misses", "top-slow", "origins", "workers", "servers"]) seen[id] = await rows(page, id);
    seen.titles = await page.$$eval("#top-pages button.link, #top-misses button.link", (list) => list.map((node) => node.title));
    seen.zones = await text(page, "#zones");
    seen.leaks = await text(page, "#leaks");
    seen.cluster = await text(page, "#panel-cluster");
    seen.images = await page.$$eval("img, iframe, object, embed", (list) => list.length);
    seen.scripts = await page.$$eval("script", (list) => list.length);
}

async function keyboard(page) {
    await page.focus("#chart-requests .plot");
    await page.keyboard.press("ArrowLeft");
    seen.readout = await page.$eval("#chart-requests [aria-live]", (node) => node.textContent);
    await page.keyboard.press("Escape");
    const toggle = page.getByRole("button", { name: "Requests a second as a table", exact: true });
    await toggle.focus();
    await page.keyboard.press("Enter");
    seen.table = await page.$$eval("#chart-requests .numbers tbody tr", (list) => list.length);
    await page.keyboard.press("Enter");
}

async function history(page) {
    await page.getByLabel("Hour", { exact: true }).check();
    await page.waitForFunction(() => !document.querySelector("#history-off:not([hidden])"));
    await page.getByLabel("5 min", { exact: true }).check();
}

async function inspect(page) {
    await page.fill("#inspect-url", url);
    await page.press("#inspect-url", "Enter");
    await page.waitForSelector("#inspect-result .facts");
    seen.inspected = await text(page, "#inspect-result");
}

async function purge(page) {
    await page.fill("#purge-what", url);
    seen.purge_secret = await page.isVisible("#purge-secret");
    await page.click("#purge-button");
    await page.waitForFunction(() => !["", "Purging …"].includes(document.querySelector("#purge-said").textContent));
    seen.purged = await text(page, "#purge-said");
    // The log has it without its scheme and port.
    await page.waitForFunction((what) => what.replace(/:\d+\//, "/").endsWith(document.querySelector("#purge-log .what")?.textContent ?? "none"), url);
    seen.purge_log = await text(page, "#purge-log li");
}

async function accessibility(colorScheme, width) {
    const page = await open({ colorScheme, bypassCSP: true, viewport: { width, height: 900 } });
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
    await page.context().close();
    return found.violations
        .filter((one) => ["serious", "critical"].includes(one.impact))
        .map((one) => `${colorScheme} ${width}: ${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 5).join("; ")}`);
}

async function screenshots() {
    for (const width of [390, 820, 1440, 2200]) {
        for (const colorScheme of ["light", "dark"]) {
            const page = await open({ colorScheme, viewport: { width, height: width < 500 ? 844 : 1000 } });
            await page.fill("#inspect-url", url);
            await page.press("#inspect-url", "Enter");
            await page.waitForSelector("#inspect-result .facts");
            await page.evaluate(() => (document.activeElement.blur(), scrollTo(0, 0)));
            await page.screenshot({ path: `${folder}/${width}-${colorScheme}.png`, fullPage: true });
            await page.context().close();
        }
    }
}

await locked();
const page = await open({});
await panels(page);
seen.wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
await keyboard(page);
await history(page);
await inspect(page);
await purge(page);
await page.setViewportSize({ width: 390, height: 844 });
seen.narrow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
seen.axe = [...(await accessibility("light", 1440)), ...(await accessibility("dark", 1440)), ...(await accessibility("light", 390))];
if (folder) await screenshots();
await browser.close();
console.log(JSON.stringify(seen, null, 1));

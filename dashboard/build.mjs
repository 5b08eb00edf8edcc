// Builds the page: one HTML file, its style and script within it. `--check` fails where the committed file is another one.
import { readFileSync, writeFileSync } from "node:fs";
import { build, transform } from "esbuild";

const OUT = new URL("built/dashboard.html", import.meta.url);
const MOST_BYTES = 150 * 1024;
const read = (name) => readFileSync(new URL(name, import.meta.url), "utf8");

const bundle = await build({
    entryPoints: [new URL("src/main.ts", import.meta.url).pathname],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
});
const styles = read("node_modules/uplot/dist/uPlot.min.css") + read("src/style.css");
const style = (await transform(styles, { loader: "css", minify: true, charset: "utf8" })).code.trim();
const script = bundle.outputFiles[0].text.trim();
for (const [name, text] of [["script", script], ["style", style]]) {
    if (text.includes(`</${name}`)) throw new Error(`the ${name} would end itself`);
}
const licence = read("node_modules/uplot/LICENSE").trim();
const page = read("src/page.html")
    .replace(/<!--(?!licence)[^]*?-->\n?/g, "")
    .replace(/^\s+/gm, "")
    .replace("<!--licence-->", () => `<!-- The charts are drawn by uPlot:\n\n${licence}\n-->`)
    .replace("<style></style>", () => `<style>${style}</style>`)
    .replace("<script></script>", () => `<script>${script}</script>`);
const bytes = Buffer.byteLength(page);
if (bytes > MOST_BYTES) throw new Error(`the page has ${bytes} bytes, and at most ${MOST_BYTES} are allowed`);
if (process.argv.includes("--check")) {
    if (readFileSync(OUT, "utf8") !== page) {
        console.error("dashboard/built/dashboard.html is not what dashboard/src makes: run `npm run build` in dashboard/");
        process.exit(1);
    }
    console.log(`dashboard: the built page is what the source makes, ${bytes} bytes`);
} else {
    writeFileSync(OUT, page);
    console.log(`dashboard/built/dashboard.html: ${bytes} bytes`);
}

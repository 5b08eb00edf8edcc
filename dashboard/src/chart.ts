// Chart: a title, a summary, the drawing, a legend with figures, and the same data as a table.

import uPlot from "uplot";

import { extent, last, type Columns, type Name } from "./columns";
import { el, fill, write } from "./dom";
import { clock } from "./format";
import type { Known } from "./contract";

export interface Line {
    name: Name;
    label: string;
    /** Name of a colour in the style sheet, such as `--hit`. */
    color: string;
    /** Patterns that distinguish areas without colour. */
    marks?: "rising" | "falling" | "dots";
    dash?: number[];
    filled?: boolean;
}

export interface Plan {
    title: string;
    /** Formats a figure for the table and the axis. */
    format: (value: Known) => string;
    lines: Line[];
    stacked?: boolean;
    logarithmic?: boolean;
    /** Minimum upper bound of the axis. */
    top?: number;
    most?: number;
    summary: (columns: Columns) => string;
    height: number;
}

const ROWS = 12;

export class Chart {
    readonly node: HTMLElement;
    private readonly sentence = el("p", { class: "sentence" });
    private readonly plot: HTMLElement;
    private readonly values: HTMLElement[];
    private readonly table = el("div", { class: "numbers scrolls", tabindex: 0, role: "region", hidden: true });
    private readonly readout = el("span", { class: "unseen", "aria-live": "polite" });
    private readonly when = el("span", { class: "when" });
    private readonly nothing = el("p", { class: "nothing" }, "Waiting for figures …");
    private drawing: uPlot | null = null;
    private columns: Columns | null = null;

    constructor(private readonly plan: Plan) {
        this.values = plan.lines.map(() => el("b", {}, "–"));
        const legend = el(
            "ul",
            { class: "legend" },
            ...plan.lines.map((line, index) =>
                el(
                    "li",
                    {},
                    el("i", { class: `swatch ${line.marks ?? (line.dash ? "dashed" : "")}`, "data-color": line.color.slice(2) }),
                    line.label,
                    " ",
                    this.values[index],
                ),
            ),
        );
        const toggle = el("button", { class: "quiet", type: "button", "aria-pressed": "false" }, "Table");
        toggle.setAttribute("aria-label", `${plan.title} as a table`);
        toggle.addEventListener("click", () => this.showTable(toggle));
        this.plot = el("div", { class: "plot", tabindex: 0, role: "img" });
        this.plot.addEventListener("keydown", (event) => this.step(event));
        this.plot.style.setProperty("--height", `${plan.height}px`);
        this.table.setAttribute("aria-label", `Values: ${plan.title}`);
        this.node = el(
            "section",
            { class: "panel chart" },
            el("header", {}, el("h2", {}, plan.title), this.when, toggle),
            this.sentence,
            el("div", { class: "drawing" }, this.plot, this.nothing),
            this.table,
            legend,
            this.readout,
        );
        new ResizeObserver(() => this.resize()).observe(this.plot);
    }

    /** Draws the columns. */
    show(columns: Columns): void {
        const jumped = this.columns !== null && this.columns.step !== columns.step;
        this.columns = columns;
        const isEmpty = columns.at.length < 2;
        this.nothing.hidden = !isEmpty;
        write(this.sentence, isEmpty ? " " : this.plan.summary(columns));
        this.plot.setAttribute("aria-label", `${this.plan.title}. ${this.sentence.textContent}. The left and right arrow keys read the values.`);
        if (jumped) this.forget();
        if (!this.drawing) this.draw();
        this.drawing?.setData(this.data(columns) as uPlot.AlignedData);
        this.figures(this.drawing?.cursor.idx ?? null);
        if (!this.table.hidden) this.fillTable();
    }

    /** Draws again, with the current colours. */
    repaint(): void {
        this.forget();
        if (this.columns) this.show(this.columns);
    }

    private forget(): void {
        this.drawing?.destroy();
        this.drawing = null;
    }

    /** Columns in the order of the drawing: stacked lines are sums with the lines before them, last line first. */
    private data(columns: Columns): (number[] | Known[])[] {
        const lists = this.plan.lines.map((line) => columns[line.name]);
        if (!this.plan.stacked) return [columns.at, ...lists];
        let below: Known[] = columns.at.map(() => 0);
        const sums = lists.map((list) => {
            below = list.map((value, index) => (value == null ? null : value + (below[index] ?? 0)));
            return below;
        });
        return [columns.at, ...sums.reverse()];
    }

    private resize(): void {
        const width = this.plot.clientWidth;
        if (this.drawing && width > 0) this.drawing.setSize({ width, height: this.plan.height });
        else if (this.columns) this.show(this.columns);
    }

    private draw(): void {
        const width = this.plot.clientWidth;
        if (width === 0 || !this.columns) return;
        const style = getComputedStyle(this.plot);
        const color = (name: string): string => style.getPropertyValue(name).trim();
        const ground = color("--panel");
        const lines = this.plan.stacked ? [...this.plan.lines].reverse() : this.plan.lines;
        const axis: uPlot.Axis = {
            stroke: color("--muted"),
            font: `11px ${color("--sans")}`,
            grid: { stroke: color("--line"), width: 1 },
            ticks: { show: false },
        };
        const { logarithmic, most, top } = this.plan;
        const options: uPlot.Options = {
            width,
            height: this.plan.height,
            padding: [8, 18, 0, 0],
            legend: { show: false },
            cursor: {
                sync: { key: "time", setSeries: false },
                drag: { setScale: false, x: false, y: false },
                points: { size: 6, fill: (_, index) => color(lines[index - 1]?.color ?? "--ink") },
                y: false,
            },
            scales: {
                x: { time: true },
                y: logarithmic
                    ? { distr: 3, log: 10, range: (_, low, high) => decades(low, high) }
                    : { range: (_, __, high) => [0, most ?? Math.max((high ?? 0) * 1.08, top ?? 1)] },
            },
            axes: [
                { ...axis, grid: { show: false }, size: 26, gap: 4, space: 70, values: (_, splits, __, ___, step) => splits.map((at) => label(at, step)) },
                { ...axis, size: 50, gap: 6, space: 34, values: (_, splits) => splits.map((value: number | null) => (value == null ? "" : this.plan.format(value).replace(".0 %", " %"))) },
            ],
            series: [
                {},
                ...lines.map((line): uPlot.Series => {
                    const stroke = color(line.color);
                    const areas = this.plan.stacked || line.filled;
                    return {
                        label: line.label,
                        stroke,
                        width: this.plan.stacked ? 1 : 1.75,
                        points: { show: false },
                        ...(line.dash ? { dash: line.dash } : {}),
                        ...(areas ? { fill: areaFill(stroke, ground, line.marks, !this.plan.stacked) } : {}),
                    };
                }),
            ],
            hooks: { setCursor: [(plot) => this.figures(plot.cursor.idx ?? null)] },
        };
        this.drawing = new uPlot(options, this.data(this.columns) as uPlot.AlignedData, this.plot);
    }

    /** Shows figures in the legend: those at the pointer, else the newest. */
    private figures(index: number | null): void {
        const columns = this.columns;
        if (!columns) return;
        const at = index != null && this.drawing?.cursor.left != null && this.drawing.cursor.left >= 0 ? index : null;
        this.plan.lines.forEach((line, number) => {
            const list = columns[line.name];
            const value = at == null ? last(list) : (list[at] ?? null);
            const node = this.values[number];
            if (node) write(node, this.plan.format(value));
        });
        const seconds = at == null ? null : (columns.at[at] ?? null);
        write(this.when, seconds == null ? "" : clock(seconds * 1000));
    }

    /** Moves through the figures with the arrow keys, Home and Escape. */
    private step(event: KeyboardEvent): void {
        const [drawing, columns] = [this.drawing, this.columns];
        if (!drawing || !columns?.at.length) return;
        const newest = columns.at.length - 1;
        const now = drawing.cursor.left != null && drawing.cursor.left >= 0 ? (drawing.cursor.idx ?? newest) : newest;
        const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: newest }[event.key];
        if (event.key === "Escape") drawing.setCursor({ left: -10, top: -10 });
        if (to === undefined) return;
        event.preventDefault();
        const index = Math.max(0, Math.min(newest, to));
        const seconds = columns.at[index] ?? 0;
        drawing.setCursor({ left: drawing.valToPos(seconds, "x"), top: 10 });
        const said = this.plan.lines.map((line) => `${line.label} ${this.plan.format(columns[line.name][index] ?? null)}`);
        write(this.readout, `${clock(seconds * 1000)}: ${said.join(", ")}`);
    }

    private showTable(toggle: HTMLElement): void {
        this.table.hidden = !this.table.hidden;
        toggle.setAttribute("aria-pressed", String(!this.table.hidden));
        this.plot.parentElement?.toggleAttribute("hidden", !this.table.hidden);
        if (!this.table.hidden) this.fillTable();
        else this.resize();
    }

    /** Fills the table with rows of equal periods, the newest first: each row has the means of its period. */
    private fillTable(): void {
        const columns = this.columns;
        if (!columns) return;
        const per = Math.max(1, Math.ceil(columns.at.length / ROWS));
        const rows: HTMLElement[] = [];
        for (let to = columns.at.length; to > 0; to -= per) {
            const from = Math.max(0, to - per);
            const cells = this.plan.lines.map((line) => {
                const mean = extent(columns[line.name].slice(from, to))?.mean ?? null;
                return el("td", {}, this.plan.format(mean));
            });
            rows.push(el("tr", {}, el("th", { scope: "row" }, clock((columns.at[from] ?? 0) * 1000)), ...cells));
        }
        const head = ["From", ...this.plan.lines.map((line) => line.label)].map((text) => el("th", { scope: "col" }, text));
        const caption = el("caption", { class: "unseen" }, `${this.plan.title}: mean of each interval`);
        fill(this.table, [el("table", {}, caption, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows))]);
    }
}

/** Returns the bounds of whole decades around the figures, at least two decades. */
function decades(low: number | null, high: number | null): [number, number] {
    const from = 10 ** Math.floor(Math.log10(Math.max(low ?? 0.1, 0.01)));
    const to = 10 ** Math.ceil(Math.log10(Math.max(high ?? 10, 0.02) * 1.05));
    return [from, Math.max(to, from * 100)];
}

function label(seconds: number, step: number): string {
    if (step >= 86_400) return new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
    return clock(seconds * 1000, step < 60);
}

/** Returns the fill of an area: a light ground of its colour, with marks in that colour. */
function areaFill(color: string, ground: string, marks: Line["marks"], light: boolean): CanvasPattern | string {
    const canvas = document.createElement("canvas");
    const size = 8;
    canvas.width = canvas.height = size;
    const pen = canvas.getContext("2d");
    if (!pen) return color;
    if (light) {
        pen.globalAlpha = 0.14;
    } else {
        pen.fillStyle = ground;
        pen.fillRect(0, 0, size, size);
        pen.globalAlpha = marks ? 0.35 : 0.8;
    }
    pen.fillStyle = color;
    pen.fillRect(0, 0, size, size);
    pen.globalAlpha = 0.95;
    pen.strokeStyle = color;
    pen.lineWidth = 1.6;
    const [left, right] = marks === "falling" ? [0, size] : [size, 0];
    if (marks === "dots") {
        pen.fillRect(1, 1, 2, 2);
        pen.fillRect(5, 5, 2, 2);
    } else if (marks) {
        for (const shift of [-size, 0, size]) {
            pen.beginPath();
            pen.moveTo(left + shift, 0);
            pen.lineTo(right + shift, size);
            pen.stroke();
        }
    }
    return pen.createPattern(canvas, "repeat") ?? color;
}

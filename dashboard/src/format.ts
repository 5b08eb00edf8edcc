// Human-readable formats of figures. Most of them have at most four digits.

import type { Known } from "./contract";

export const NONE = "–";

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** Formats a count: `1,234`, `12.3k`, `4.56M`. */
export function count(value: Known | undefined): string {
    if (value == null) return NONE;
    if (value < 10_000) return plain.format(value);
    for (const [unit, size] of [["k", 1e3], ["M", 1e6], ["G", 1e9]] as const) {
        if (value < size * 999.5) return digits(value / size) + unit;
    }
    return digits(value / 1e12) + "T";
}

/** Formats a count with all of its digits, for titles and tables. */
export function exact(value: Known | undefined): string {
    return value == null ? NONE : plain.format(value);
}

/** Formats a rate per second; with one decimal below ten. */
export function rate(value: Known | undefined): string {
    if (value == null) return NONE;
    return value > 0 && value < 9.95 ? trimmed(value.toFixed(1)) : count(Math.round(value));
}

/** Formats bytes in powers of 1024. */
export function bytes(value: Known | undefined): string {
    if (value == null) return NONE;
    let unit = 0;
    let rest = value;
    for (; rest >= 999.5 && unit < 5; unit++) rest /= 1024;
    return (unit === 0 ? plain.format(rest) : digits(rest)) + " " + ["B", "KB", "MB", "GB", "TB", "PB"][unit];
}

/** Formats a time in milliseconds: `85 µs`, `4.2 ms`, `1.3 s`. */
export function took(ms: Known | undefined): string {
    if (ms == null) return NONE;
    if (ms < 1) return plain.format(ms * 1000) + " µs";
    if (ms < 999.5) return digits(ms) + " ms";
    return digits(ms / 1000) + " s";
}

export function percent(share: Known | undefined): string {
    if (share == null) return NONE;
    const value = share * 100;
    // 99.96 % must not be shown as 100 %.
    if (value > 0 && value < 0.05) return "< 0.1 %";
    if (value > 99.9 && value < 100) return (Math.floor(value * 100) / 100).toFixed(2) + " %";
    return (value === 100 || value === 0 ? String(value) : value.toFixed(1)) + " %";
}

/** Formats a duration: `12 s`, `4 min`, `3 h 20 min`, `2 d 4 h`. */
export function span(ms: number): string {
    const s = Math.max(0, Math.round(ms / 1000));
    if (s < 60) return `${s} s`;
    const [min, h, d] = [Math.floor(s / 60), Math.floor(s / 3600), Math.floor(s / 86_400)];
    if (h < 1) return `${min} min`;
    if (d < 1) return min % 60 ? `${h} h ${min % 60} min` : `${h} h`;
    return h % 24 ? `${d} d ${h % 24} h` : `${d} d`;
}

/** Formats the time of day, by default with seconds. */
export function clock(ms: number, seconds = true): string {
    return new Date(ms).toLocaleTimeString("en-GB", {
        hour: "2-digit",
        minute: "2-digit",
        ...(seconds ? { second: "2-digit" } : {}),
    });
}

/** Formats a count with its unit: `1 page`, `2 pages`. */
export function many(value: number, word: string): string {
    return `${exact(value)} ${word}${value === 1 ? "" : "s"}`;
}

function digits(value: number): string {
    return trimmed(value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0));
}

function trimmed(text: string): string {
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

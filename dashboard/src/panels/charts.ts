// Charts of the page, and their summaries.

import { Chart, type Line } from "../chart";
import { extent, last } from "../columns";
import { byId } from "../dom";
import { count, percent, rate, took } from "../format";

const HIT: Line = { name: "hit", label: "hit", color: "--hit" };
const STALE: Line = { name: "stale", label: "stale", color: "--stale", marks: "rising" };
const MISS: Line = { name: "miss", label: "miss", color: "--miss", marks: "dots" };
const BYPASS: Line = { name: "bypass", label: "bypass", color: "--bypass", marks: "falling" };
const UNCACHED: Line = { name: "uncached", label: "no cache used", color: "--plain" };

/** Creates the charts in their places on the page. */
export function charts(): Chart[] {
    const made: [string, Chart][] = [
        ["requests", new Chart({
            title: "Requests a second",
            format: rate,
            lines: [HIT, STALE, MISS, BYPASS, UNCACHED],
            stacked: true,
            height: 248,
            summary: ({ requests }) => {
                const all = extent(requests);
                return all ? `${rate(last(requests))} now, ${rate(all.mean)} on average, ${rate(all.high)} at most` : "";
            },
        })],
        ["latency", new Chart({
            title: "Time to first byte",
            format: took,
            logarithmic: true,
            lines: [
                { name: "p50", label: "50 %", color: "--hit" },
                { name: "p90", label: "90 %", color: "--stale", dash: [7, 4] },
                { name: "p99", label: "99 %", color: "--miss", dash: [2, 3] },
            ],
            height: 248,
            summary: (columns) => {
                const [half, most] = [last(columns.p50), last(columns.p99)];
                return half == null ? "No responses yet" : `50 % of responses start within ${took(half)}, 99 % within ${took(most)}`;
            },
        })],
        ["ratio", new Chart({
            title: "Hit ratio",
            format: percent,
            most: 1,
            lines: [{ name: "ratio", label: "from the cache", color: "--hit", filled: true }],
            height: 150,
            summary: ({ ratio }) => {
                const all = extent(ratio);
                return all ? `${percent(all.mean)} on average, ${percent(all.low)} at least` : "No request has used a cache yet";
            },
        })],
        ["origin", new Chart({
            title: "Origin requests a second",
            format: rate,
            top: 2,
            lines: [{ name: "fetches", label: "sent to origins", color: "--miss", filled: true }],
            height: 150,
            summary: ({ fetches, requests }) => {
                const [sent, all] = [extent(fetches), extent(requests)];
                if (!sent || !all) return "";
                const kept = sent.mean > 0 && all.mean / sent.mean >= 2 ? `, one for ${count(Math.round(all.mean / sent.mean))} requests` : "";
                return `${rate(sent.mean)} on average${kept}`;
            },
        })],
        ["php", new Chart({
            title: "PHP and its queue",
            format: (value) => count(value == null ? null : Math.round(value)),
            top: 4,
            lines: [
                { name: "origin_active", label: "active", color: "--hit", filled: true },
                { name: "waiting", label: "waiting in Myriad", color: "--stale", dash: [7, 4] },
                { name: "listen_queue", label: "in php-fpm’s queue", color: "--error", dash: [2, 3] },
            ],
            height: 150,
            summary: ({ origin_active, waiting }) => {
                const [work, wait] = [extent(origin_active), extent(waiting)];
                return work ? `At most ${count(work.high)} active, ${count(wait?.high ?? 0)} waiting` : "";
            },
        })],
        ["errors", new Chart({
            title: "Errors a second",
            format: rate,
            top: 1,
            lines: [
                { name: "s5", label: "5xx: server errors", color: "--error", filled: true },
                { name: "s4", label: "4xx: client errors", color: "--bypass", dash: [7, 4] },
            ],
            height: 150,
            summary: ({ s4, s5, requests }) => {
                const [server, client, all] = [extent(s5), extent(s4), extent(requests)];
                if (!server || !client || !all) return "";
                if (server.high === 0 && client.high === 0) return "None";
                return `${percent(all.mean ? server.mean / all.mean : 0)} of responses are 5xx, ${percent(all.mean ? client.mean / all.mean : 0)} 4xx`;
            },
        })],
        ["connections", new Chart({
            title: "Open connections",
            format: (value) => count(value == null ? null : Math.round(value)),
            top: 4,
            lines: [{ name: "connections", label: "open", color: "--bypass", filled: true }],
            height: 150,
            summary: ({ connections }) => {
                const all = extent(connections);
                return all ? `${count(last(connections))} now, ${count(all.high)} at most` : "";
            },
        })],
    ];
    for (const [id, chart] of made) byId(`chart-${id}`).replaceWith(chart.node);
    for (const [id, chart] of made) chart.node.id = `chart-${id}`;
    return made.map(([, chart]) => chart);
}

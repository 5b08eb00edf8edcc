// Page: the input is a live stream and periodic requests, the output is panels.
//
//   live ticks --.                       .-> charts, figures
//   history -----+-> columns of figures -+
//   tops, purges, servers, leaks: requested periodically, while the page is visible

import { get, hasSecret, Refused, setSecret, takeSecret } from "./api";
import type { Chart } from "./chart";
import { append, empty, ofHistory, type Columns } from "./columns";
import type { History, Purge, ServerZones, Tick } from "./contract";
import { byId, write } from "./dom";
import { many, span } from "./format";
import { charts } from "./panels/charts";
import { cluster } from "./panels/cluster";
import { Figures } from "./panels/figures";
import { Inspector } from "./panels/inspector";
import { leaks } from "./panels/leaks";
import { origins, servers, workers } from "./panels/origins";
import { PurgeForm, PurgeLog } from "./panels/purges";
import { TopLists } from "./panels/tops";
import { zones } from "./panels/zones";
import { Stream, type State } from "./stream";
import { theme } from "./theme";

/** Length of the live view, in seconds. */
const LIVE = 300;
/** Interval at which lists are requested. */
const LISTS_MS = 5_000;
/** Interval at which the history is requested. */
const HISTORY_MS = 10_000;
/** Time after which a hidden page closes the stream. */
const HIDDEN_MS = 60_000;

const RANGES: Record<string, { range: number; step: number }> = {
    hour: { range: 3_600, step: 10 },
    day: { range: 86_400, step: 60 },
    weeks: { range: 1_209_600, step: 600 },
};

class Page {
    private readonly live: Columns = empty(1);
    private readonly charts: Chart[] = charts();
    private readonly figures = new Figures();
    private readonly purges = new PurgeLog();
    private readonly purgeForm = new PurgeForm();
    private readonly inspector = new Inspector((url) => this.purgeForm.url(url));
    private readonly tops = new TopLists((url) => this.inspector.show(url));
    private readonly stream = new Stream("live", { state: (state) => this.state(state), event: (name, data) => this.event(name, data) });
    private range = "live";
    private hidden = 0;
    private countdown = 0;
    private announced = "";
    /** True if a finding of the leak guard has changed since the last tick. */
    private leaksChanged = false;

    start(): void {
        theme(() => this.charts.forEach((chart) => chart.repaint()));
        byId("ranges").addEventListener("change", (event) => void this.choose((event.target as HTMLInputElement).value));
        byId("retry").addEventListener("click", () => this.stream.retry());
        byId("secret-form").addEventListener("submit", (event) => {
            event.preventDefault();
            setSecret(byId<HTMLInputElement>("secret").value);
            this.stream.retry();
        });
        window.addEventListener("hashchange", () => takeSecret() && this.stream.retry());
        document.addEventListener("visibilitychange", () => this.visible());
        takeSecret();
        setInterval(() => void this.lists(), LISTS_MS);
        setInterval(() => void this.history(), HISTORY_MS);
        this.stream.retry();
    }

    private event(name: string, data: unknown): void {
        if (name === "purge") this.purges.add(data as Purge);
        if (name === "leak") this.leaksChanged = true;
        if (name === "tick") this.tick(data as Tick);
    }

    private tick(tick: Tick): void {
        if (tick.interval_ms > 0 && tick.at_ms / 1000 > (this.live.at.at(-1) ?? 0)) append(this.live, tick, LIVE);
        this.figures.show(tick, this.live);
        zones(tick.zones);
        origins(tick);
        workers(tick);
        const reloads = tick.reloads ? `, ${many(tick.reloads, "reload")}` : "";
        write(byId("uptime"), `up ${span(tick.at_ms - tick.started_ms)}${reloads}`);
        if (this.range === "live") this.charts.forEach((chart) => chart.show(this.live));
        // One request for all changes of a second; `lists` repeats a failed one.
        if (this.leaksChanged && this.isLooking) void leaks().catch(() => undefined);
        this.leaksChanged = false;
    }

    private state(state: State): void {
        clearInterval(this.countdown);
        const pill = byId("state");
        const before = pill.dataset["state"];
        pill.dataset["state"] = state.name;
        document.body.dataset["state"] = state.name;
        byId("locked").hidden = !(state.name === "refused" && state.why.needsSecret);
        byId("refused").hidden = !(state.name === "refused" && !state.why.needsSecret);
        byId("retry").hidden = state.name === "live" || state.name === "connecting";
        if (state.name === "live") this.purgeForm.refresh();
        if (state.name === "live" && before !== "live") void this.connected();
        if (state.name === "live") return this.say("Live");
        if (state.name === "connecting") return this.say(before === "live" || before === "waiting" ? "Reconnecting …" : "Connecting …");
        if (state.name === "waiting") {
            const tell = (): void => write(byId("state-text"), `Connection lost, next attempt in ${span(Math.max(1_000, state.until - Date.now()))}`);
            this.say("Connection lost");
            tell();
            this.countdown = setInterval(tell, 500);
            return;
        }
        if (state.why.needsSecret) return this.locked();
        this.say("Access denied");
        write(byId("refused-why"), state.why.message);
    }

    private locked(): void {
        const field = byId<HTMLInputElement>("secret");
        const wrong = hasSecret();
        write(byId("secret-said"), wrong ? "That secret is wrong. The configuration contains the SHA-256 of the correct one." : "");
        field.toggleAttribute("aria-invalid", wrong);
        this.say(wrong ? "Wrong secret" : "Secret required");
        field.focus();
    }

    /** Shows a state, and announces it once to screen readers. */
    private say(text: string): void {
        write(byId("state-text"), text);
        if (text === this.announced) return;
        this.announced = text;
        write(byId("announce"), text);
    }

    private async connected(): Promise<void> {
        await Promise.allSettled([this.purges.load(), this.lists(), this.history()]);
    }

    private get isLooking(): boolean {
        return document.body.dataset["state"] === "live" && !document.hidden;
    }

    private async lists(): Promise<void> {
        if (!this.isLooking) return;
        const zones = get<ServerZones>("9/http/server_zones").then(servers);
        const told = await Promise.allSettled([this.tops.refresh(), zones, leaks(), cluster()]);
        for (const one of told) {
            if (one.status === "rejected" && one.reason instanceof Refused && one.reason.needsSecret) this.stream.retry();
        }
    }

    private async choose(range: string): Promise<void> {
        this.range = range;
        if (range === "live") this.charts.forEach((chart) => chart.show(this.live));
        else await this.history();
    }

    private async history(): Promise<void> {
        const asked = RANGES[this.range];
        if (!asked || !this.isLooking) return;
        const { range } = this;
        const history = await get<History>("history", asked).catch(() => null);
        if (!history || this.range !== range) return;
        byId("history-off").hidden = history.kept !== false;
        const columns = ofHistory(history);
        this.charts.forEach((chart) => chart.show(columns));
    }

    private visible(): void {
        clearTimeout(this.hidden);
        if (document.hidden) this.hidden = setTimeout(() => this.stream.stop(), HIDDEN_MS);
        else if (document.body.dataset["state"] === "live") {
            void this.lists();
            if ((this.live.at.at(-1) ?? 0) * 1000 < Date.now() - 3_000) this.stream.retry();
        } else this.stream.retry();
    }
}

new Page().start();

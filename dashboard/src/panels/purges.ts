// Purges: the log, and the form that purges.

import { get, hasSecret, post, Refused, setSecret } from "../api";
import type { Purge } from "../contract";
import { byId, el, fill, write } from "../dom";
import { clock, exact, many } from "../format";

/** Maximum number of purges in the log. */
const MOST = 40;
/** Location of `api write=on`, relative to the page. */
const WRITING = "api/";
/** Time within which a purge of all pages must be confirmed, in milliseconds. */
const CONFIRM_MS = 6_000;

const WHO: Record<string, string> = { request: "by a request", origin: "by the application", administrator: "by an administrator", cluster: "by another node of the cluster", refresh: "found by a refresh: no purge announced it" };

/** List of purges, newest first. */
export class PurgeLog {
    private list: Purge[] = [];

    async load(): Promise<void> {
        const told = await get<{ purges: Purge[] }>("purges", { limit: MOST });
        this.list = told.purges;
        this.draw(0);
    }

    /** Adds a purge, or updates it after its pages were counted. */
    add(purge: Purge): void {
        const same = (other: Purge): boolean => other.zone === purge.zone && other.number === purge.number;
        const isNew = !this.list.some(same);
        this.list = [purge, ...this.list.filter((other) => !same(other))].slice(0, MOST);
        this.draw(isNew ? 1 : 0);
    }

    private draw(fresh: number): void {
        const place = byId("purge-log");
        if (!this.list.length) return fill(place, [el("li", { class: "nothing" }, "No purge since the start.")]);
        fill(
            place,
            this.list.map((purge, index) =>
                el(
                    "li",
                    { class: index < fresh ? "fresh" : null },
                    el("time", {}, clock(purge.at_ms)),
                    el("span", { class: "kind" }, purge.soft ? `soft ${purge.kind}` : purge.kind),
                    el("span", { class: "what", title: purge.what }, purge.what || "everything"),
                    el("b", {}, purge.pages == null ? "searching …" : `${purge.at_least ? "≥ " : ""}${many(purge.pages, "page")}`),
                    el("small", {}, `${purge.zone}, ${WHO[purge.by] ?? purge.by}`),
                ),
            ),
        );
    }
}

const HINTS: Record<string, string> = {
    urls: "https://example.org/shop/",
    tags: "post-12 home",
    wildcards: "https://example.org/shop/*",
    all: "",
};

/** Result of a purge. */
interface Made {
    purged?: number | null;
}

export class PurgeForm {
    private readonly form = byId<HTMLFormElement>("purge-form");
    private readonly what = byId<HTMLInputElement>("purge-what");
    private readonly button = byId<HTMLButtonElement>("purge-button");
    private readonly secret = byId<HTMLInputElement>("purge-secret");
    private confirmed = 0;

    constructor() {
        this.form.addEventListener("submit", (event) => {
            event.preventDefault();
            void this.purge();
        });
        this.form.addEventListener("change", () => this.kindChanged());
        this.kindChanged();
    }

    /** Fills the form with a URL and scrolls to it. */
    url(url: string): void {
        const choice = this.form.querySelector<HTMLInputElement>('input[value="urls"]');
        if (choice) choice.checked = true;
        this.kindChanged();
        this.what.value = url;
        this.form.scrollIntoView({ block: "center" });
        (hasSecret() ? this.button : this.secret).focus();
    }

    /** Shows the field for the secret only if no valid secret is known. */
    refresh(): void {
        this.form.classList.toggle("known", hasSecret() && !this.secret.hasAttribute("aria-invalid"));
    }

    private get kind(): string {
        return String(new FormData(this.form).get("kind") ?? "urls");
    }

    private kindChanged(): void {
        const { kind } = this;
        this.what.disabled = kind === "all";
        this.what.placeholder = HINTS[kind] ?? "";
        this.confirmed = 0;
        this.refresh();
        write(this.button, kind === "all" ? "Purge everything …" : "Purge");
        this.button.classList.toggle("danger", kind === "all");
    }

    private async purge(): Promise<void> {
        const { kind } = this;
        const values = this.what.value.trim().split(kind === "urls" || kind === "tags" ? /\s+/ : /\n/).filter(Boolean);
        if (kind !== "all" && !values.length) {
            this.what.focus();
            return this.say("Enter what to purge.", "bad");
        }
        if (kind === "all" && !this.isConfirmed()) return;
        if (this.secret.value) setSecret(this.secret.value);
        const soft = new FormData(this.form).get("soft") === "on";
        this.button.disabled = true;
        this.say("Purging …", "");
        try {
            const told = await post<{ purges?: Made[] }>(`${WRITING}purge`, { [kind]: kind === "all" ? true : values, soft });
            const made = told.purges ?? [];
            const pages = made.reduce((sum, one) => sum + (one.purged ?? 0), 0);
            const unknown = made.some((one) => one.purged == null);
            this.say(`Done: ${unknown ? "pages are being searched" : `${many(pages, "page")} ${soft ? "marked as stale" : "removed"}`}.`, "good");
        } catch (error) {
            this.failed(error);
        } finally {
            this.button.disabled = false;
            this.kindChanged();
        }
    }

    private isConfirmed(): boolean {
        if (Date.now() - this.confirmed < CONFIRM_MS) return true;
        this.confirmed = Date.now();
        write(this.button, "Purge everything? Press again");
        this.say("This removes all pages of all zones, and PHP must create each page again. Press the button again to confirm.", "fair");
        setTimeout(() => this.kindChanged(), CONFIRM_MS);
        return false;
    }

    private failed(error: unknown): void {
        if (error instanceof Refused && error.needsSecret) {
            this.secret.setAttribute("aria-invalid", "true");
            this.form.classList.remove("known");
            this.secret.focus();
            return this.say(hasSecret() ? "The secret is wrong: nothing was purged." : "A secret is required: nothing was purged.", "bad");
        }
        if (error instanceof Refused && (error.status === 404 || error.status === 405)) {
            return this.say("Purges are not set up: they need a location api/ below the dashboard, with “api write=on”.", "fair");
        }
        const status = error instanceof Refused ? ` (${exact(error.status)})` : "";
        this.say(`Nothing was purged: ${error instanceof Error ? error.message : String(error)}${status}`, "bad");
    }

    private say(text: string, kind: string): void {
        if (kind === "good") this.secret.removeAttribute("aria-invalid");
        const place = byId("purge-said");
        place.className = `said ${kind}`;
        write(place, text);
    }
}

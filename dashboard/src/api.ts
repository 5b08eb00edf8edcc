// Questions to the server. The secret is kept in memory alone: other pages of this origin cannot read it.

let secret = "";

export function setSecret(text: string): void {
    secret = text.trim();
}

/** Takes the secret of the link that `myriad wordpress status` prints, `#secret=…`, and removes it from the address and the history. */
export function takeSecret(): boolean {
    const text = /^#secret=(.+)$/.exec(location.hash)?.[1];
    if (!text) return false;
    setSecret(text);
    history.replaceState(null, "", location.pathname + location.search);
    return true;
}

export function hasSecret(): boolean {
    return secret !== "";
}

export function headers(): Record<string, string> {
    return secret ? { Authorization: `Bearer ${secret}` } : {};
}

/** An answer that is no success. */
export class Refused extends Error {
    constructor(
        readonly status: number,
        why: string,
    ) {
        super(why);
    }

    /** Whether a secret is asked for, or another one. */
    get needsSecret(): boolean {
        return this.status === 401 || (this.status === 403 && /secret/.test(this.message));
    }
}

let turn: Promise<unknown> = Promise.resolve();

/** Asks below the page's own folder, one question after the other: the server looks into its zones for few at once. */
export function get<T>(path: string, query: Record<string, string | number> = {}): Promise<T> {
    const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    const asked = turn.then(() => ask<T>(words.length ? `${path}?${words.join("&")}` : path, {}));
    turn = asked.catch(() => undefined);
    return asked;
}

/** Sends JSON to the location of `api write=on` below the page. */
export async function post<T>(path: string, body: unknown): Promise<T> {
    return ask<T>(path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
    });
}

async function ask<T>(path: string, options: RequestInit): Promise<T> {
    const answer = await fetch(path, {
        ...options,
        headers: { ...options.headers, ...headers() },
        cache: "no-store",
        credentials: "same-origin",
        redirect: "error",
    });
    if (!answer.ok) throw await refusal(answer);
    return (await answer.json()) as T;
}

/** What an answer says of why it is none. */
export async function refusal(answer: Response): Promise<Refused> {
    let why = `${answer.status} ${answer.statusText}`.trim();
    try {
        const told: unknown = await answer.json();
        const error = (told as { error?: unknown }).error;
        if (typeof error === "string") why = error;
    } catch {
        // An error page: its status says enough.
    }
    return new Refused(answer.status, why);
}

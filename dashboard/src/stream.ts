// Live stream: Server-Sent Events read by `fetch`, because EventSource cannot send the secret.
//
//   connecting -> live -> (closed or silent) -> waiting -> connecting
//              -> refused: the secret is missing or wrong, or the path does not exist; no attempt until `retry`

import { headers, refusal, type Refused } from "./api";

export type State =
    | { name: "connecting" }
    | { name: "live" }
    | { name: "waiting"; until: number }
    | { name: "refused"; why: Refused };

export interface Listener {
    state(state: State): void;
    event(name: string, data: unknown): void;
}

/** Time without an event after which the connection is considered lost. */
const SILENCE_MS = 6_000;
/** Pauses between attempts; the last one is repeated. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000];

export class Stream {
    private tries = 0;
    private current: AbortController | null = null;
    private timer = 0;

    constructor(
        private readonly path: string,
        private readonly listener: Listener,
    ) {}

    /** Connects now, in any state. */
    retry(): void {
        this.stop();
        this.tries = 0;
        void this.connect();
    }

    /** Closes the stream without notifying the listener. */
    stop(): void {
        clearTimeout(this.timer);
        this.current?.abort();
        this.current = null;
    }

    private async connect(): Promise<void> {
        const mine = new AbortController();
        this.current = mine;
        this.listener.state({ name: "connecting" });
        let watch = 0;
        const heard = (): void => {
            clearTimeout(watch);
            watch = setTimeout(() => mine.abort(), SILENCE_MS);
        };
        heard();
        try {
            const answer = await fetch(this.path, {
                headers: { Accept: "text/event-stream", ...headers() },
                cache: "no-store",
                signal: mine.signal,
            });
            if (answer.status === 503) throw new Error("too many readers");
            if (!answer.ok || !answer.body) {
                const why = await refusal(answer);
                if (this.current !== mine) return;
                // Server errors such as 502 are temporary, client errors are not.
                if (answer.status >= 500) throw why;
                this.listener.state({ name: "refused", why });
                return;
            }
            await this.read(answer.body, mine, heard);
        } catch {
            // Lost, silent, or temporarily refused: try again.
        } finally {
            clearTimeout(watch);
        }
        if (this.current === mine) this.wait();
    }

    private async read(body: ReadableStream<Uint8Array>, mine: AbortController, heard: () => void): Promise<void> {
        const parser = new Parser((name, data) => {
            if (this.current !== mine) return;
            if (this.tries >= 0) this.listener.state({ name: "live" });
            this.tries = -1;
            this.listener.event(name, data);
        });
        const reader = body.getReader();
        const decoder = new TextDecoder();
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            heard();
            parser.push(decoder.decode(value, { stream: true }));
        }
    }

    private wait(): void {
        this.tries = Math.max(this.tries, 0);
        const pause = PAUSES_MS[Math.min(this.tries, PAUSES_MS.length - 1)] ?? 0;
        this.tries += 1;
        this.listener.state({ name: "waiting", until: Date.now() + pause });
        this.timer = setTimeout(() => void this.connect(), pause);
    }
}

/** Parser of events in text pieces of any size (HTML standard, section 9.2.6). */
export class Parser {
    private rest = "";
    private name = "";
    private data: string[] = [];

    constructor(private readonly event: (name: string, data: unknown) => void) {}

    push(text: string): void {
        const lines = (this.rest + text).split("\n");
        this.rest = lines.pop() ?? "";
        for (const line of lines) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
    }

    private line(line: string): void {
        if (line === "") {
            if (this.data.length) this.emit();
            [this.name, this.data] = ["", []];
            return;
        }
        const colon = line.indexOf(":");
        if (colon === 0) return;
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "event") this.name = value;
        if (field === "data") this.data.push(value);
    }

    private emit(): void {
        let data: unknown;
        try {
            data = JSON.parse(this.data.join("\n"));
        } catch {
            return;
        }
        this.event(this.name || "message", data);
    }
}

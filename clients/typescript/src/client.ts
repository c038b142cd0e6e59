// Calls of the API.

import { ApiError, retryAfter, ScreenInterrupted } from "./errors.js";
import { DEFAULT_RETRIES, RETRIED, type Retries, waitBefore } from "./retries.js";
import type {
    AccountResponse,
    AssessmentScope,
    Catalogue,
    ChainsResponse,
    CheckRequest,
    CheckResponse,
    EntitiesResponse,
    ScreenRequest,
    ScreenResponse,
    SourcesResponse,
    TransferRequest,
    UsageResponse,
} from "./types.js";

/**
 * Rows of one request of `screen`. Their answers fit into the buffers of a connection, so that they can be read after
 * all rows were sent.
 */
const BATCH = 200;

/** Settings of a client. */
export interface AssayOptions {
    /** Base URL of the API. */
    readonly url: string;
    /** API key. */
    readonly key: string;
    /** Rules of retries; those that are left out have their defaults. */
    readonly retries?: Partial<Retries>;
    /** Longest time in seconds to the head of a response. Default: 30. */
    readonly timeout?: number;
    /** Replaces `fetch`, for proxies or certificates of your own. */
    readonly fetch?: typeof fetch;
}

/** Settings of one check. */
export interface CheckOptions {
    /** Asks for an answer that is not older, in seconds. */
    readonly maxAge?: number;
    /** Key under which a repeated check is charged once. Default: a new one for each call. */
    readonly idempotencyKey?: string;
}

/** Settings of one check of a transfer. */
export type TransferOptions = CheckOptions;

interface Call {
    readonly method: "GET" | "POST";
    readonly path: string;
    readonly query?: Record<string, string | undefined>;
    readonly headers?: Record<string, string>;
    readonly body?: string;
}

/**
 * Client of one installation of Assay.
 *
 * Requests that may succeed later are repeated. Repeated checks have the same idempotency key, so that they are charged
 * once.
 */
export class Assay {
    readonly #url: string;
    readonly #key: string;
    readonly #retries: Retries;
    readonly #timeout: number;
    readonly #fetch: typeof fetch;

    constructor(options: AssayOptions) {
        this.#url = options.url.replace(/\/+$/, "");
        this.#key = options.key;
        this.#retries = { ...DEFAULT_RETRIES, ...options.retries };
        this.#timeout = options.timeout ?? 30;
        this.#fetch = options.fetch ?? fetch;
    }

    /** Assesses the risk of an address. Throws an `ApiError` if the address is not assessed. */
    checkAddress(request: CheckRequest, options: CheckOptions = {}): Promise<CheckResponse> {
        return this.#check("/api/v1/check/address", request, options);
    }

    /**
     * Assesses the risk of one transfer: outputs of a transaction, a transfer on an account chain, or a withdrawal that is
     * not sent yet (`to`, `asset` and `amount`, without `transaction`).
     */
    checkTransfer(request: TransferRequest, options: TransferOptions = {}): Promise<CheckResponse> {
        return this.#check("/api/v1/check/transfer", request, options);
    }

    /** Returns the answer of an earlier check. */
    showCheck(checkId: string): Promise<CheckResponse> {
        return this.#get(`/api/v1/checks/${encodeURIComponent(checkId)}`);
    }

    /**
     * Screens any number of rows and yields their answers in order, while they arrive.
     *
     * Rows are read as answers are taken, some hundred at a time. A row that cannot be answered has an `error`. Throws
     * `ScreenInterrupted` if the connection ends within an answer.
     */
    async *screen(
        rows: Iterable<ScreenRequest> | AsyncIterable<ScreenRequest>,
        scope: AssessmentScope = "lists_and_labels",
    ): AsyncGenerator<ScreenResponse, void, undefined> {
        let before = 0;
        for await (const batch of batches(rows, BATCH)) {
            let answered = 0;
            let cause: unknown;
            const response = await this.#send({
                method: "POST",
                path: "/api/v1/screen",
                query: { scope },
                headers: { "Content-Type": "application/x-ndjson" },
                body: batch.map((row) => `${JSON.stringify(row)}\n`).join(""),
            });
            try {
                for await (const line of lines(response)) {
                    answered += 1;
                    // The number of the row among all rows.
                    yield { ...(JSON.parse(line) as ScreenResponse), row: before + answered };
                }
            } catch (error) {
                cause = error;
            }
            if (answered < batch.length) throw new ScreenInterrupted(before + answered, cause);
            before += answered;
        }
    }

    /** Finds listed parties by name. */
    findEntities(name: string, limit = 20): Promise<EntitiesResponse> {
        return this.#get("/api/v1/entities", { name, limit: String(limit) });
    }

    /** Returns the tenant's usage by day, between two days such as `2026-02-01`. */
    usage(days: { readonly from?: string; readonly to?: string } = {}): Promise<UsageResponse> {
        return this.#get("/api/v1/usage", { from: days.from, to: days.to });
    }

    /** Returns the tenant's plan, limits, policy and keys. */
    account(): Promise<AccountResponse> {
        return this.#get("/api/v1/account");
    }

    /** Returns the sources of answers, and how fresh they are. */
    sources(): Promise<SourcesResponse> {
        return this.#get("/api/v1/sources");
    }

    /** Returns the blockchains, and what is known of each. */
    chains(): Promise<ChainsResponse> {
        return this.#get("/api/v1/chains");
    }

    /** Returns everything that answers can name. */
    signals(): Promise<Catalogue> {
        return this.#get("/api/v1/signals");
    }

    async #check(path: string, request: object, options: CheckOptions): Promise<CheckResponse> {
        const headers: Record<string, string> = {
            "Content-Type": "application/json",
            "Idempotency-Key": `"${options.idempotencyKey ?? crypto.randomUUID()}"`,
        };
        if (options.maxAge !== undefined) headers["Cache-Control"] = `max-age=${options.maxAge}`;
        const response = await this.#send({ method: "POST", path, headers, body: JSON.stringify(request) });
        return (await response.json()) as CheckResponse;
    }

    async #get<T>(path: string, query: Record<string, string | undefined> = {}): Promise<T> {
        const response = await this.#send({ method: "GET", path, query });
        return (await response.json()) as T;
    }

    /** Sends a request until it succeeds. The body of the response is not read yet. */
    async #send(call: Call): Promise<Response> {
        const url = new URL(this.#url + call.path);
        for (const [name, value] of Object.entries(call.query ?? {})) {
            if (value !== undefined) url.searchParams.set(name, value);
        }
        const headers = { "X-API-Key": this.#key, ...call.headers };
        for (let attempt = 1; ; attempt += 1) {
            const outcome = await this.#attempt(url, { method: call.method, headers, body: call.body ?? null });
            if (outcome instanceof Response && outcome.ok) return outcome;
            const isRetried = !(outcome instanceof Response) || RETRIED.has(outcome.status);
            const seconds = outcome instanceof Response ? retryAfter(outcome) : undefined;
            const wait = isRetried ? waitBefore(this.#retries, attempt, seconds, Math.random()) : undefined;
            if (wait === undefined) {
                throw outcome instanceof Response ? await ApiError.of(outcome) : outcome.error;
            }
            if (outcome instanceof Response) await outcome.arrayBuffer();
            await new Promise((resolve) => setTimeout(resolve, wait * 1000));
        }
    }

    /** Sends a request once. Returns the response, or the error of the connection. */
    async #attempt(url: URL, request: RequestInit): Promise<Response | { readonly error: unknown }> {
        const abort = new AbortController();
        const timer = setTimeout(() => abort.abort(new Error(`no response in ${this.#timeout} seconds`)), this.#timeout * 1000);
        try {
            return await this.#fetch(url, { ...request, signal: abort.signal });
        } catch (error) {
            return { error };
        } finally {
            clearTimeout(timer);
        }
    }
}

async function* batches<T>(items: Iterable<T> | AsyncIterable<T>, size: number): AsyncGenerator<T[], void, undefined> {
    let batch: T[] = [];
    for await (const item of items) {
        batch.push(item);
        if (batch.length === size) {
            yield batch;
            batch = [];
        }
    }
    if (batch.length > 0) yield batch;
}

/** Yields the lines of a body that are not empty, as they arrive. */
async function* lines(response: Response): AsyncGenerator<string, void, undefined> {
    if (response.body === null) return;
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    try {
        for (;;) {
            const { done, value } = await reader.read();
            rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
            const complete = rest.split("\n");
            rest = done ? "" : (complete.pop() ?? "");
            yield* complete.filter((line) => line !== "");
            if (done) return;
        }
    } finally {
        // An answer that is no longer read ends the request.
        await reader.cancel().catch(() => undefined);
    }
}

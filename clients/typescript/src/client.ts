// Calls of the API.

import { ApiError, retryAfter, ScreenInterrupted } from "./errors.js";
import { quoted } from "./idempotency.js";
import { DEFAULT_RETRIES, NOT_STARTED, RETRIED, type Retries, waitBefore } from "./retries.js";
import { TimeLimit } from "./time_limit.js";
import type {
    AccountResponse,
    AddressesResponse,
    AssessmentScope,
    Catalogue,
    ChainsResponse,
    CheckRequest,
    CheckResponse,
    ChecksResponse,
    EntitiesResponse,
    ListedCheck,
    ScreenRequest,
    ScreenResponse,
    SourcesResponse,
    TransferRequest,
    UsageResponse,
    Verdict,
} from "./types.js";

/**
 * Rows of one request of `screen`. Their answers fit into the buffers of a connection, so that they can be read after
 * all rows were sent.
 */
const BATCH = 200;
/** Checks of one page of a search: as many as the API allows. */
const PAGE = 100;

/** Settings of a client. */
export interface AssayOptions {
    /** Base URL of the API. */
    readonly url: string;
    /** API key. */
    readonly key: string;
    /** Rules of retries; those that are left out have their defaults. */
    readonly retries?: Partial<Retries>;
    /** Longest time in seconds to the end of a response; of `screen`, to its next rows. Default: 30. */
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

/** Conditions of a search of earlier checks, all of which hold. */
export interface CheckConditions {
    readonly blockchain?: string;
    readonly address?: string;
    readonly reference?: string;
    readonly verdict?: Verdict;
    /** Code of a reason, or a minimum score rule. */
    readonly rule?: string;
    /** Time from which checks are found. */
    readonly since?: Date;
    /** Time before which checks are found. */
    readonly before?: Date;
}

interface Call {
    readonly method: "GET" | "POST";
    readonly path: string;
    readonly query?: Record<string, string | undefined>;
    readonly headers?: Record<string, string>;
    readonly body?: string;
}

/** A response that succeeded, with what bounds the time of its body. */
interface Answer {
    readonly response: Response;
    readonly limit: TimeLimit;
}

/** Reads an answer's body, within its time limit. */
type Read<T> = (answer: Answer) => Promise<T>;

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
     * Assesses the risk of 1 to 100 addresses. The results are in the order of the checks: an answer with a `verdict`, or a
     * problem with a `code`.
     */
    checkAddresses(checks: readonly CheckRequest[], options: CheckOptions = {}): Promise<AddressesResponse> {
        return this.#check("/api/v1/check/addresses", { checks }, options);
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

    /** Yields earlier checks, the newest first. Pages are requested as checks are taken. */
    async *findChecks(conditions: CheckConditions = {}): AsyncGenerator<ListedCheck, void, undefined> {
        const { since, before, ...others } = conditions;
        const query = { ...others, from: since?.toISOString(), to: before?.toISOString(), limit: String(PAGE) };
        let cursor: string | undefined;
        do {
            const page: ChecksResponse = await this.#get("/api/v1/checks", { ...query, cursor });
            yield* page.checks;
            cursor = page.next_cursor ?? undefined;
        } while (cursor !== undefined);
    }

    /**
     * Screens any number of rows and yields their answers in order, while they arrive.
     *
     * Rows are read as answers are taken, some hundred at a time. A row that cannot be answered has an `error`. Throws
     * `ScreenInterrupted` if the connection ends within an answer. Rows that may have been charged are not sent again.
     */
    async *screen(
        rows: Iterable<ScreenRequest> | AsyncIterable<ScreenRequest>,
        scope: AssessmentScope = "lists_and_labels",
    ): AsyncGenerator<ScreenResponse, void, undefined> {
        let before = 0;
        for await (const batch of batches(rows, BATCH)) {
            let answered = 0;
            let cause: unknown;
            const call: Call = {
                method: "POST",
                path: "/api/v1/screen",
                query: { scope },
                headers: { "Content-Type": "application/x-ndjson" },
                body: batch.map((row) => `${JSON.stringify(row)}\n`).join(""),
            };
            // Other failures leave open whether rows were answered and charged.
            const isRetried = (error: unknown) => error instanceof ApiError && NOT_STARTED.has(error.status);
            const answer = await this.#send(call, async (answer) => answer, isRetried);
            try {
                for await (const line of lines(answer)) {
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

    async #check<T>(path: string, request: object, options: CheckOptions): Promise<T> {
        const headers: Record<string, string> = {
            "Content-Type": "application/json",
            "Idempotency-Key": quoted(options.idempotencyKey ?? crypto.randomUUID()),
        };
        if (options.maxAge !== undefined) headers["Cache-Control"] = `max-age=${options.maxAge}`;
        return this.#send({ method: "POST", path, headers, body: JSON.stringify(request) }, json<T>);
    }

    #get<T>(path: string, query: Record<string, string | undefined> = {}): Promise<T> {
        return this.#send({ method: "GET", path, query }, json<T>);
    }

    /** Sends a request until it succeeds and its answer was read: again after failures that are retried. */
    async #send<T>(call: Call, read: Read<T>, isRetried = mayPassLater): Promise<T> {
        const url = new URL(this.#url + call.path);
        for (const [name, value] of Object.entries(call.query ?? {})) {
            if (value !== undefined) url.searchParams.set(name, value);
        }
        const headers = { "X-API-Key": this.#key, ...call.headers };
        // A redirect is an error: it would take the key to another place.
        const request: RequestInit = { method: call.method, headers, body: call.body ?? null, redirect: "manual" };
        for (let attempt = 1; ; attempt += 1) {
            const limit = new TimeLimit(this.#timeout);
            let failure: unknown;
            try {
                const response = await this.#fetch(url, { ...request, signal: limit.signal });
                if (response.ok) return await read({ response, limit });
                failure = await ApiError.of(response);
            } catch (error) {
                failure = error;
            }
            limit.stop();
            const seconds = failure instanceof ApiError ? failure.retryAfter : undefined;
            const wait = isRetried(failure) ? waitBefore(this.#retries, attempt, seconds, Math.random()) : undefined;
            if (wait === undefined) throw failure;
            await new Promise((resolve) => setTimeout(resolve, wait * 1000));
        }
    }
}

function mayPassLater(error: unknown): boolean {
    return !(error instanceof ApiError) || RETRIED.has(error.status);
}

async function json<T>({ response, limit }: Answer): Promise<T> {
    const body = (await response.json()) as T;
    limit.stop();
    return body;
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
async function* lines({ response, limit }: Answer): AsyncGenerator<string, void, undefined> {
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    try {
        while (reader !== undefined) {
            limit.start();
            const { done, value } = await reader.read();
            // The time that the caller takes for a row is its own.
            limit.stop();
            rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
            const complete = rest.split("\n");
            rest = done ? "" : (complete.pop() ?? "");
            yield* complete.filter((line) => line !== "");
            if (done) return;
        }
    } finally {
        limit.stop();
        // An answer that is no longer read ends the request.
        await reader?.cancel().catch(() => undefined);
    }
}

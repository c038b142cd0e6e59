// Errors of the client. Errors of the connection are those of `fetch`.

import type { FieldError, ProblemDetails } from "./types.js";

/** A response with another status than 200, with its problem details (RFC 9457). */
export class ApiError extends Error {
    override readonly name = "ApiError";
    /** Problem code, such as `invalid_address`. New codes may be added. */
    readonly code: string;
    readonly title: string;
    readonly detail: string;
    /** Request id, which identifies the request in the server's logs. */
    readonly requestId: string;
    readonly errors: readonly FieldError[];
    /** Names of the limits that refused the request. */
    readonly violatedPolicies: readonly string[];

    constructor(
        readonly status: number,
        problem: ProblemDetails,
        /** Seconds after which the request may succeed, if the server says so. */
        readonly retryAfter: number | undefined,
    ) {
        super(`${status} ${problem.code}: ${problem.detail} (request ${problem.request_id})`);
        this.code = problem.code;
        this.title = problem.title;
        this.detail = problem.detail;
        this.requestId = problem.request_id;
        this.errors = problem.errors ?? [];
        this.violatedPolicies = problem["violated-policies"] ?? [];
    }

    /** Reads the error of a response. A proxy's response has no problem: its text takes the place of the detail. */
    static async of(response: Response): Promise<ApiError> {
        const text = await response.text();
        return new ApiError(response.status, problemOf(response, text), retryAfter(response));
    }
}

/** The end of an answer before the answers to all rows. */
export class ScreenInterrupted extends Error {
    override readonly name = "ScreenInterrupted";

    constructor(
        /** Number of rows whose answers arrived. */
        readonly answered: number,
        cause?: unknown,
    ) {
        super(`the answer ended after ${answered} rows: screen the others again`, { cause });
    }
}

/** Returns the seconds of `Retry-After`, if the response has them. */
export function retryAfter(response: Response): number | undefined {
    const text = response.headers.get("Retry-After");
    const seconds = text === null ? Number.NaN : Number(text);
    return seconds >= 0 ? seconds : undefined;
}

function problemOf(response: Response, text: string): ProblemDetails {
    try {
        const body: unknown = JSON.parse(text);
        if (typeof body === "object" && body !== null && "code" in body) return body as ProblemDetails;
    } catch {
        // No JSON.
    }
    return {
        type: "about:blank",
        title: response.statusText,
        status: response.status,
        detail: text.slice(0, 500),
        instance: response.url,
        code: "no_problem_details",
        request_id: response.headers.get("X-Request-Id") ?? "",
    };
}

// Time between attempts of a request.

/**
 * Rules of retries.
 *
 * A refused request is repeated after the server's `Retry-After`, which the server spreads over callers; a connection
 * that failed is repeated after a random part of a time that doubles.
 */
export interface Retries {
    /** Number of attempts of a request, the first one included. */
    readonly attempts: number;
    /** Longest time in seconds to wait. A limit that frees nothing within it fails at once. */
    readonly longestWait: number;
    /** Upper bound of the first wait without `Retry-After`, in seconds. */
    readonly firstWait: number;
}

export const DEFAULT_RETRIES: Retries = { attempts: 5, longestWait: 30, firstWait: 0.5 };

/** Statuses after which the same request may succeed. 409: the first request with the idempotency key still runs. */
export const RETRIED: ReadonlySet<number> = new Set([408, 409, 429, 502, 503, 504]);

/**
 * Statuses of requests of which nothing was answered: the service refused them. A proxy's 502 or 504 says nothing of it.
 */
export const NOT_STARTED: ReadonlySet<number> = new Set([429, 503]);

/**
 * Returns the seconds to wait after a failed attempt; `undefined` if it was the last. `attempt` counts from 1; `random`
 * is from 0 to 1.
 */
export function waitBefore(
    retries: Retries,
    attempt: number,
    retryAfter: number | undefined,
    random: number,
): number | undefined {
    if (attempt >= retries.attempts) return undefined;
    if (retryAfter === undefined) {
        return Math.min(retries.longestWait, retries.firstWait * 2 ** (attempt - 1)) * random;
    }
    // Never earlier than the server says: the request would be refused again.
    const wait = retryAfter + random * Math.min(1, retries.firstWait);
    return retryAfter <= retries.longestWait ? wait : undefined;
}

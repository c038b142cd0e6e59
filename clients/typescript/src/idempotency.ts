// The header field of idempotency keys.

/**
 * Returns an idempotency key as the header field has it: a quoted text (RFC 9651). Throws a `TypeError` for characters that
 * such a text cannot have.
 */
export function quoted(key: string): string {
    if (!/^[ -~]*$/.test(key)) {
        throw new TypeError(`an idempotency key has printable ASCII characters only, not ${JSON.stringify(key)}`);
    }
    return `"${key.replace(/["\\]/g, "\\$&")}"`;
}

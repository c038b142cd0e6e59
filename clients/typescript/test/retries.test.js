// Times between attempts, and errors of responses that are no problem details.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError, waitBefore } from "../dist/index.js";

const RETRIES = { attempts: 5, longestWait: 30, firstWait: 0.5 };

test("a request is never repeated earlier than the server says", () => {
    for (const random of [0, 0.5, 1]) {
        const wait = waitBefore(RETRIES, 1, 3, random);
        assert.ok(wait >= 3 && wait <= 3.5, `${wait}`);
    }
});

test("waits without a time double up to a bound", () => {
    const retries = { attempts: 10, longestWait: 2, firstWait: 0.5 };
    const waits = [1, 2, 3, 4, 5].map((attempt) => waitBefore(retries, attempt, undefined, 1));
    assert.deepEqual(waits, [0.5, 1, 2, 2, 2]);
    assert.equal(waitBefore(retries, 3, undefined, 0), 0);
});

test("the last attempt and a far time end the retries", () => {
    assert.equal(waitBefore({ ...RETRIES, attempts: 2 }, 2, 1, 0.5), undefined);
    assert.equal(waitBefore(RETRIES, 1, 3600, 0.5), undefined);
});

test("the response of a proxy is an error too", async () => {
    for (const body of ["<html>", "[]", "{}"]) {
        const error = await ApiError.of(new Response(body, { status: 502, headers: { "Retry-After": "soon" } }));
        assert.deepEqual([error.status, error.code, error.retryAfter], [502, "no_problem_details", undefined]);
    }
});

test("an error says status, code and detail", async () => {
    const problem = { code: "invalid_address", title: "t", detail: "no address", request_id: "r-1" };
    const error = await ApiError.of(Response.json(problem, { status: 422 }));
    assert.equal(error.message, "422 invalid_address: no address (request r-1)");
});

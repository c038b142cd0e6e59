// Requests that the client repeats, and those that it does not; paging; idempotency keys; time limits.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { ApiError, Assay, ScreenInterrupted } from "../dist/index.js";

const RETRIES = { attempts: 3, longestWait: 1, firstWait: 0 };
const ROW = { blockchain: "btc", address: "a" };

/** Calls a function with a client of a server that answers by these handlers in turn. Returns the requests. */
async function withServer(handlers, use, options = {}) {
    const requests = [];
    const server = createServer(async (request, response) => {
        let body = "";
        for await (const chunk of request) body += chunk;
        requests.push({ url: request.url, headers: request.headers, body });
        handlers[requests.length - 1](response);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
        const url = `http://127.0.0.1:${server.address().port}`;
        await use(new Assay({ url, key: "key", retries: RETRIES, ...options }));
    } finally {
        server.closeAllConnections();
        server.close();
    }
    return requests;
}

const status = (code, headers = {}) => (response) => response.writeHead(code, headers).end();
const json = (value) => (response) => response.end(JSON.stringify(value));
const brokenOff = (text) => (response) => {
    response.writeHead(200, { "Content-Length": 1000 });
    response.write(text, () => response.destroy());
};

async function errorOf(call) {
    return await call.then(() => undefined, (error) => error);
}

for (const code of [502, 504]) {
    test(`rows that a proxy may have passed on are not sent again: ${code}`, async () => {
        const requests = await withServer([status(code)], async (assay) => {
            assert.ok((await errorOf(assay.screen([ROW]).next())) instanceof ApiError);
        });
        assert.equal(requests.length, 1);
    });
}

test("rows that were refused are sent again", async () => {
    const answered = (response) => response.end('{"row":1,"verdict":"allow"}\n');
    await withServer([status(429, { "Retry-After": "0" }), answered], async (assay) => {
        assert.equal((await assay.screen([ROW]).next()).value.verdict, "allow");
    });
});

test("an answer that breaks off is told, and its rows are not sent again", async () => {
    const requests = await withServer([brokenOff('{"row":1}\n')], async (assay) => {
        const answers = assay.screen([ROW, ROW]);
        assert.equal((await answers.next()).value.row, 1);
        const error = await errorOf(answers.next());
        assert.ok(error instanceof ScreenInterrupted);
        assert.equal(error.answered, 1);
    });
    assert.equal(requests.length, 1);
});

test("a check whose answer was lost is repeated with its key", async () => {
    const requests = await withServer([brokenOff("{"), json({ verdict: "allow" })], async (assay) => {
        assert.equal((await assay.checkAddress(ROW)).verdict, "allow");
    });
    assert.equal(new Set(requests.map((request) => request.headers["idempotency-key"])).size, 1);
    assert.equal(requests.length, 2);
});

test("a body that does not end is given up", async () => {
    const begun = (response) => response.write("{");
    const options = { timeout: 0.2, retries: { attempts: 1 } };
    await withServer([begun], async (assay) => {
        assert.match(String(await errorOf(assay.account())), /no response in 0.2 seconds/);
    }, options);
    await withServer([begun], async (assay) => {
        const error = await errorOf(assay.screen([ROW]).next());
        // On a slow machine, the time ends before the first byte.
        assert.match(String(error.cause ?? error), /no response in 0.2 seconds/);
    }, options);
});

test("a redirect is an error", async () => {
    const requests = await withServer([status(307, { Location: "/elsewhere" })], async (assay) => {
        assert.ok((await errorOf(assay.account())) instanceof ApiError);
    });
    assert.equal(requests.length, 1);
});

test("quotes of an idempotency key are escaped", async () => {
    const requests = await withServer([json({})], async (assay) => {
        await assay.checkAddress(ROW, { idempotencyKey: 'a"b\\c' });
        for (const key of ["a\nb", "ключ"]) {
            assert.ok((await errorOf(assay.checkAddress(ROW, { idempotencyKey: key }))) instanceof TypeError);
        }
    });
    assert.deepEqual(requests.map((request) => request.headers["idempotency-key"]), ['"a\\"b\\\\c"']);
});

test("pages are requested as checks are taken", async () => {
    const pages = [json({ checks: [{ check_id: "1" }], next_cursor: "c" }), json({ checks: [], next_cursor: null })];
    const requests = await withServer(pages, async (assay) => {
        const found = assay.findChecks({ verdict: "block", since: new Date("2026-02-11T00:00:00Z") });
        assert.equal((await found.next()).value.check_id, "1");
        assert.equal((await found.next()).done, true);
    });
    assert.deepEqual(requests.map((request) => request.url), [
        "/api/v1/checks?verdict=block&from=2026-02-11T00%3A00%3A00.000Z&limit=100",
        "/api/v1/checks?verdict=block&from=2026-02-11T00%3A00%3A00.000Z&limit=100&cursor=c",
    ]);
});

test("many checks are one request", async () => {
    const results = [{ verdict: "block" }, { code: "invalid_address" }];
    const requests = await withServer([json({ results })], async (assay) => {
        assert.deepEqual((await assay.checkAddresses([ROW, ROW])).results, results);
    });
    assert.deepEqual(JSON.parse(requests[0].body), { checks: [ROW, ROW] });
});

// Calls a server by the types that openapi-typescript makes, with openapi-fetch: generated.ts URL KEY LIMITED_KEY.
//
// Prints what the answers say as JSON.

import createClient from "openapi-fetch";

import type { paths } from "./api.js";

const LISTED = "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn";
const MIXER = "0x094B38aF1c2b20Ce653843E787754cDaB7846aa7";

const [baseUrl, key, limitedKey] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });
const body = { blockchain: "btc", address: LISTED };

const check = await client.POST("/api/v1/check/address", { body: { ...body, direction: "deposit" } });
if (!check.data) throw new Error(JSON.stringify(check.error));

const rows = [body, { blockchain: "eth", address: MIXER }, { blockchain: "btc", address: "nonsense" }];
const screened = await client.POST("/api/v1/screen", { body: rows });
if (!Array.isArray(screened.data)) throw new Error(JSON.stringify(screened));

const refused = await client.POST("/api/v1/check/address", { body: { ...body, address: "nonsense" } });

const limited = createClient<paths>({ baseUrl, headers: { "X-API-Key": limitedKey } });
await limited.POST("/api/v1/check/address", { body });
const exceeded = await limited.POST("/api/v1/check/address", { body });

const found = await client.GET("/api/v1/entities", { params: { query: { name: "Ilja Greymarsh", limit: 1 } } });
if (!found.data) throw new Error(JSON.stringify(found.error));

const { verdict, risk_level, risk_score, sanctions } = check.data;
console.log(JSON.stringify({
    check: [verdict, risk_level, risk_score, sanctions[0].status],
    screen: screened.data.map((row) => row.verdict ?? row.error),
    error: [refused.response.status, refused.error?.code],
    limit: [exceeded.response.status, exceeded.error?.code, Number(exceeded.response.headers.get("Retry-After")) > 0],
    search: found.data.entities.map((entity) => entity.name),
}));

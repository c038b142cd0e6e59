// Calls a server by our client in TypeScript: own.ts URL KEY KEY_OF_ONE_AN_HOUR KEY_OF_ONE_A_SECOND.
//
// Prints what the answers say as JSON.

import { ApiError, Assay, type ListedCheck, type ScreenRequest } from "assay-risk";

const LISTED = "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn";
const MIXER = "0x094B38aF1c2b20Ce653843E787754cDaB7846aa7";
const ROWS: ScreenRequest[] = [
    { blockchain: "btc", address: LISTED },
    { blockchain: "eth", address: MIXER },
    { blockchain: "btc", address: "nonsense" },
];

const [url = "", ...keys] = process.argv.slice(2);
const [assay, hourly, quick] = keys.map((key) => new Assay({ url, key })) as [Assay, Assay, Assay];
const listed = { blockchain: "btc", address: LISTED };

async function errorOf(call: Promise<unknown>): Promise<ApiError> {
    const error = await call.then(() => undefined, (reason: unknown) => reason);
    if (error instanceof ApiError) return error;
    throw new Error(`no error of the API: ${error}`);
}

async function identifiers(checks: AsyncIterable<ListedCheck>): Promise<string[]> {
    const found: string[] = [];
    for await (const check of checks) found.push(check.check_id);
    return found;
}

/** True if a check is found, once it is stored, by all conditions, and not before its time. */
async function found(checkId: string): Promise<boolean> {
    const isFound = async () =>
        (await identifiers(assay.findChecks({ reference: "order-1", verdict: "block" }))).includes(checkId);
    while (!(await isFound())) await new Promise((resolve) => setTimeout(resolve, 1000));
    for await (const check of assay.findChecks()) {
        if (check.check_id !== checkId) continue;
        const before = new Date(check.checked_at);
        const earlier = assay.findChecks({ blockchain: "btc", address: LISTED, rule: "listed", before });
        return !(await identifiers(earlier)).includes(checkId);
    }
    return false;
}

const check = await assay.checkAddress({ ...listed, direction: "deposit", reference: "order-1" });
const again = await assay.showCheck(check.check_id);
if (JSON.stringify(again) !== JSON.stringify(check)) throw new Error("another answer");
const once = { idempotencyKey: "order-1" };
const order = [await assay.checkAddress(listed, once), await assay.checkAddress(listed, once)];
const both = (await assay.checkAddresses([ROWS[0]!, ROWS[2]!])).results;
const planned = { blockchain: "btc", to: LISTED, asset: "native", amount: "100000" };
const withdrawal = await assay.checkTransfer({ ...planned, direction: "withdrawal" });
const refused = await errorOf(assay.checkAddress({ ...listed, address: "nonsense" }));
await hourly.checkAddress(listed);
const exceeded = await errorOf(hourly.checkAddress(listed));
const retried: string[] = [];
// Each but the first waits until the limit has room.
for (let count = 0; count < 3; count += 1) retried.push((await quick.checkAddress(listed)).address);

let taken = 0;
function* many(): Generator<ScreenRequest> {
    for (taken = 1; taken <= 1000; taken += 1) yield { ...listed, reference: `customer-${taken}` };
}
let read = 0;
let isInOrder = true;
for await (const row of assay.screen(many())) {
    read += 1;
    isInOrder &&= row.row === read && row.reference === `customer-${read}`;
    if (read === 450) break;
}

const screened: unknown[] = [];
for await (const row of assay.screen(ROWS)) screened.push(row.verdict ?? row.error);
const sources = await assay.sources();
const chains = await assay.chains();
const signals = await assay.signals();
console.log(JSON.stringify({
    check: [check.verdict, check.risk_level, check.risk_score, check.sanctions[0]?.status],
    screen: screened,
    error: [refused.status, refused.code],
    limit: [exceeded.status, exceeded.code, (exceeded.retryAfter ?? 0) > 0],
    search: (await assay.findEntities("Ilja Greymarsh", 1)).entities.map((entity) => entity.name),
    retried: retried.length === 3 && retried.every((address) => address === LISTED),
    streamed: [isInOrder && read === 450, taken < 1000],
    account: (await assay.account()).tenant.name,
    others: [sources.sources, chains.chains, signals.rules].map((list) => list.length > 0),
    repeated: order[0]?.check_id === order[1]?.check_id && order[0]?.check_id !== check.check_id,
    withdrawal: withdrawal.verdict,
    many: both.map((result) => result.verdict ?? result.code),
    found: await found(check.check_id),
    usage: (await assay.usage()).total > 0,
}));

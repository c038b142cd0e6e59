// Client of Assay, which assesses the risk of blockchain addresses and transfers.

export { Assay, type AssayOptions, type CheckConditions, type CheckOptions, type TransferOptions } from "./client.js";
export { ApiError, ScreenInterrupted } from "./errors.js";
export { type Retries, waitBefore } from "./retries.js";
export type * from "./types.js";

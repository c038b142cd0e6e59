-- Idempotency keys of requests, each with the answer that a repetition gets.
CREATE TABLE idempotency_keys (
    tenant      TEXT    NOT NULL,
    operation   TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    body_digest TEXT    NOT NULL, -- SHA-256 of the request's body
    holder      TEXT    NOT NULL, -- the request that claimed the key: a random text
    expires_at  INTEGER NOT NULL, -- end of the claim, or of the time for which the answer is kept
    answer      TEXT,             -- JSON, byte for byte; NULL while the request runs
    PRIMARY KEY (tenant, operation, key)
) WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_time ON idempotency_keys (tenant, expires_at);

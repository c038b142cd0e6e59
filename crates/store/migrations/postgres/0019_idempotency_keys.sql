-- Idempotency keys of requests, each with the answer that a repetition gets. Distributed by `tenant`.
CREATE TABLE idempotency_keys (
    tenant      text   COLLATE "C" NOT NULL,
    operation   text   COLLATE "C" NOT NULL,
    key         text   COLLATE "C" NOT NULL,
    body_digest text   COLLATE "C" NOT NULL, -- SHA-256 of the request's body
    holder      text   COLLATE "C" NOT NULL, -- the request that claimed the key: a random text
    expires_at  bigint NOT NULL, -- end of the claim, or of the time for which the answer is kept
    answer      text,            -- JSON, byte for byte; NULL while the request runs
    PRIMARY KEY (tenant, operation, key)
);

CREATE INDEX idempotency_keys_by_time ON idempotency_keys (tenant, expires_at);

ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotency_keys FORCE ROW LEVEL SECURITY;

CREATE POLICY read_idempotency_keys ON idempotency_keys FOR SELECT USING (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY claim_idempotency_keys ON idempotency_keys FOR INSERT WITH CHECK (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY answer_idempotency_keys ON idempotency_keys FOR UPDATE USING (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY free_idempotency_keys ON idempotency_keys FOR DELETE USING (
    tenant = current_setting('assay.tenant', true));

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (19, 'expand', 15);

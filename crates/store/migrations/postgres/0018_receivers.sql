-- Receivers of withdrawals that a tenant checked, by which addresses that look like them are found. Distributed by
-- `tenant`.
CREATE TABLE receivers (
    tenant           text   COLLATE "C" NOT NULL,
    form             text   COLLATE "C" NOT NULL, -- `evm` for all EVM chains, or the chain
    address          text   COLLATE "C" NOT NULL, -- in canonical form
    chain            text   COLLATE "C" NOT NULL, -- a chain on which it was checked
    ends             text   COLLATE "C" NOT NULL, -- the characters that wallets show, in lower case
    head             text   COLLATE "C" NOT NULL, -- the first characters
    tail             text   COLLATE "C" NOT NULL, -- the last characters
    first_checked_at bigint NOT NULL,
    last_checked_at  bigint NOT NULL,
    PRIMARY KEY (tenant, form, address)
);

CREATE INDEX receivers_by_ends ON receivers (tenant, form, ends);
CREATE INDEX receivers_by_head ON receivers (tenant, form, head);
CREATE INDEX receivers_by_tail ON receivers (tenant, form, tail);
CREATE INDEX receivers_by_time ON receivers (tenant, last_checked_at);

ALTER TABLE receivers ENABLE ROW LEVEL SECURITY;
ALTER TABLE receivers FORCE ROW LEVEL SECURITY;

-- A conflict is found by reading, so that recording reads the row that it changes.
CREATE POLICY read_receivers ON receivers FOR SELECT USING (
    tenant = current_setting('assay.tenant', true)
    OR current_setting('assay.reach', true) = 'record');
CREATE POLICY add_receivers ON receivers FOR INSERT WITH CHECK (
    current_setting('assay.reach', true) = 'record');
CREATE POLICY change_receivers ON receivers FOR UPDATE USING (
    current_setting('assay.reach', true) = 'record');
CREATE POLICY forget_receivers ON receivers FOR DELETE USING (
    tenant = current_setting('assay.tenant', true));

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (18, 'expand', 15);

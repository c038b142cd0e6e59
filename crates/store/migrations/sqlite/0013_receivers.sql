-- Receivers of withdrawals that a tenant checked, by which addresses that look like them are found.
CREATE TABLE receivers (
    tenant           TEXT    NOT NULL,
    form             TEXT    NOT NULL, -- `evm` for all EVM chains, or the chain
    address          TEXT    NOT NULL, -- in canonical form
    chain            TEXT    NOT NULL, -- a chain on which it was checked
    ends             TEXT    NOT NULL, -- the characters that wallets show, in lower case
    head             TEXT    NOT NULL, -- the first characters
    tail             TEXT    NOT NULL, -- the last characters
    first_checked_at INTEGER NOT NULL,
    last_checked_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, form, address)
) WITHOUT ROWID;

CREATE INDEX receivers_by_ends ON receivers (tenant, form, ends);
CREATE INDEX receivers_by_head ON receivers (tenant, form, head);
CREATE INDEX receivers_by_tail ON receivers (tenant, form, tail);
CREATE INDEX receivers_by_time ON receivers (tenant, last_checked_at);

-- Labels say who wrote them, in which word, and where they can be looked up. The fingerprint tells
-- whether a label of a new import is one that is recorded already.
ALTER TABLE labels ADD COLUMN author TEXT;
ALTER TABLE labels ADD COLUMN term TEXT;
ALTER TABLE labels ADD COLUMN reference TEXT;
ALTER TABLE labels ADD COLUMN fingerprint BLOB;

DROP INDEX labels_recorded_now;
CREATE INDEX labels_recorded_now ON labels (chain, address) WHERE recorded_to IS NULL;
CREATE INDEX labels_of_source ON labels (source) WHERE recorded_to IS NULL;

-- Counts every change of labels, so that a program keeps the labels it has while lists change.
ALTER TABLE installation ADD COLUMN label_generation INTEGER NOT NULL DEFAULT 0;

-- A label withdrawn by a person stays withdrawn, whatever later imports of its source say.
CREATE TABLE label_suppressions (
    id            INTEGER PRIMARY KEY,
    source        TEXT    NOT NULL,
    chain         TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    category      TEXT,             -- NULL: whatever the source says the address is
    author        TEXT    NOT NULL,
    reason        TEXT    NOT NULL,
    suppressed_at INTEGER NOT NULL,
    lifted_at     INTEGER           -- when somebody took the withdrawal back
);

CREATE INDEX label_suppressions_in_force ON label_suppressions (chain, address)
    WHERE lifted_at IS NULL;

-- What was charged, added up.
CREATE TABLE usage (
    tenant    TEXT    NOT NULL,
    key_id    TEXT    NOT NULL,
    plan      TEXT    NOT NULL,
    day       TEXT    NOT NULL, -- UTC
    operation TEXT    NOT NULL, -- check, screen
    outcome   TEXT    NOT NULL, -- the verdict
    count     INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, key_id, plan, operation, outcome)
) WITHOUT ROWID;

-- Answers as they were given, kept for as long as the tenant's plan says.
CREATE TABLE checks (
    id      TEXT    PRIMARY KEY,
    tenant  TEXT    NOT NULL,
    made_at INTEGER NOT NULL,
    answer  TEXT    NOT NULL  -- JSON
) WITHOUT ROWID;

CREATE INDEX checks_of_tenant ON checks (tenant, made_at);

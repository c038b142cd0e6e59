-- One row: what the installation is and how often it changed. Programs that serve from memory compare
-- the counters and reload what moved.
--
-- Manifests and keys have revisions of their own, so that a new key does not make the server read every
-- manifest. `control_revision` counts changes of both; `manifest_changes` and `key_changes` count how many of them
-- were changes of manifests only, or of keys only:
--
--   revision of manifests = control_revision - key_changes
--   revision of keys      = control_revision - manifest_changes
CREATE TABLE installation (
    id               INTEGER PRIMARY KEY CHECK (id = 1),
    environment      TEXT    NOT NULL CHECK (environment IN ('production', 'sample')),
    intel_generation INTEGER NOT NULL, -- counts every change of sources, listings and labels
    data_number      INTEGER NOT NULL, -- counts changes of what they say
    data_hash        TEXT    NOT NULL, -- chains the digests of all that was imported, in order
    control_revision INTEGER NOT NULL, -- counts every change of manifests and keys
    label_generation INTEGER NOT NULL DEFAULT 0, -- counts every change of labels
    manifest_changes INTEGER NOT NULL DEFAULT 0,
    key_changes      INTEGER NOT NULL DEFAULT 0
);

-- Times are milliseconds since 1970 (UTC); days are ISO 8601 text.

CREATE TABLE sources (
    id            TEXT    PRIMARY KEY,
    kind          TEXT    NOT NULL CHECK (kind IN ('sanctions', 'labels')),
    sample        INTEGER NOT NULL CHECK (sample IN (0, 1)),
    fetched_at    INTEGER NOT NULL, -- when the newest publication was last obtained or confirmed
    url           TEXT,             -- where it was last fetched from
    etag          TEXT,
    last_modified TEXT
);

CREATE TABLE publications (
    id           INTEGER PRIMARY KEY,
    source       TEXT    NOT NULL REFERENCES sources (id),
    ordinal      INTEGER NOT NULL,   -- order of import within the source
    published_on TEXT    NOT NULL,
    digest       TEXT    NOT NULL,   -- SHA-256 of the content
    file_digest  TEXT    NOT NULL,   -- SHA-256 of the file as it came
    format       TEXT    NOT NULL,
    origin       TEXT    NOT NULL,
    entries      INTEGER NOT NULL,
    imported_at  INTEGER NOT NULL,
    report       TEXT    NOT NULL,   -- JSON
    UNIQUE (source, ordinal)
);

-- Listings are never changed: a row that no longer holds gets `recorded_to`, and a new one begins.
-- Legal validity follows from the publications; recorded time says what was known when.
CREATE TABLE listings (
    id                   INTEGER PRIMARY KEY,
    source               TEXT    NOT NULL REFERENCES sources (id),
    list                 TEXT    NOT NULL,
    list_name            TEXT    NOT NULL,
    entity_id            TEXT    NOT NULL,
    entity               TEXT    NOT NULL, -- JSON
    asset_code           TEXT    NOT NULL,
    address_as_published TEXT    NOT NULL,
    address_remarks      TEXT,
    expires_on           TEXT,
    present_from         INTEGER NOT NULL REFERENCES publications (id), -- first that held it
    absent_from          INTEGER REFERENCES publications (id),          -- first after that without it
    recorded_from        INTEGER NOT NULL,
    recorded_to          INTEGER
);

CREATE INDEX listings_recorded_now ON listings (source) WHERE recorded_to IS NULL;

-- Labels say who wrote them, in which word, and where they can be looked up. The fingerprint tells
-- whether a label of a new import is one that is recorded already.
CREATE TABLE labels (
    id            INTEGER PRIMARY KEY,
    source        TEXT    NOT NULL REFERENCES sources (id),
    chain         TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    category      TEXT    NOT NULL,
    entity        TEXT,
    tier          TEXT    NOT NULL,
    confidence    INTEGER NOT NULL CHECK (confidence BETWEEN 0 AND 100),
    upstream      TEXT    NOT NULL,
    cites_list    TEXT,
    reason        TEXT,
    valid_from    TEXT,
    valid_until   TEXT,
    recorded_from INTEGER NOT NULL,
    recorded_to   INTEGER,
    author        TEXT,
    term          TEXT,
    reference     TEXT,
    fingerprint   BLOB
);

CREATE INDEX labels_recorded_now ON labels (chain, address) WHERE recorded_to IS NULL;
CREATE INDEX labels_of_source ON labels (source) WHERE recorded_to IS NULL;

CREATE TABLE manifests (
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    spec       TEXT    NOT NULL, -- JSON
    applied_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
);

CREATE TABLE api_keys (
    id           TEXT    PRIMARY KEY,
    tenant       TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL CHECK (length(hash) = 32), -- SHA-256; the key itself is never kept
    scopes       TEXT    NOT NULL, -- JSON
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
);

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

-- What was fetched of single addresses and transactions on demand. It can be fetched again at any time.
CREATE TABLE fetched (
    chain      TEXT    NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('transaction', 'history', 'spends')),
    key        TEXT    NOT NULL,
    content    TEXT    NOT NULL, -- JSON
    fetched_at INTEGER NOT NULL,
    PRIMARY KEY (chain, kind, key)
) WITHOUT ROWID;

-- Whoever writes usage numbers what it writes; the last number of each, noted in the transaction that adds
-- it. So what is sent again, because its answer was lost, counts once.
CREATE TABLE usage_writers (
    writer     TEXT    PRIMARY KEY, -- a program's own name for its life
    batch      INTEGER NOT NULL,
    written_at INTEGER NOT NULL     -- by the program's clock; purged by age
) WITHOUT ROWID;

-- Background jobs. The server of the database claims a job for a while and runs it.
CREATE TABLE jobs (
    kind          TEXT    NOT NULL,
    key           TEXT    NOT NULL, -- the subject of the work; one job for each kind and key
    payload       TEXT    NOT NULL, -- what the work needs to know beyond the key
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'claimed', 'done', 'failed')),
    due_at        INTEGER NOT NULL, -- earliest time of the next attempt
    failures      INTEGER NOT NULL CHECK (failures >= 0), -- since the last success
    worker        TEXT,             -- has the claim
    claimed_until INTEGER,
    finished_at   INTEGER,          -- end of the last attempt
    succeeded_at  INTEGER,          -- end of the last attempt that succeeded
    last_error    TEXT,
    PRIMARY KEY (kind, key),
    CHECK ((status = 'claimed') = (worker IS NOT NULL)),
    CHECK ((worker IS NULL) = (claimed_until IS NULL))
) WITHOUT ROWID;

CREATE INDEX jobs_open ON jobs (kind, due_at) WHERE status IN ('pending', 'claimed');

-- One row: what the installation is and how often it changed. Programs that serve from memory compare
-- the counters and reload what moved.
CREATE TABLE installation (
    id               INTEGER PRIMARY KEY CHECK (id = 1),
    environment      TEXT    NOT NULL CHECK (environment IN ('production', 'sample')),
    intel_generation INTEGER NOT NULL, -- counts every change of sources, listings and labels
    data_number      INTEGER NOT NULL, -- counts changes of what they say
    data_hash        TEXT    NOT NULL, -- chains the digests of all that was imported, in order
    control_revision INTEGER NOT NULL  -- counts every change of manifests and keys
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
    recorded_to   INTEGER
);

CREATE INDEX labels_recorded_now ON labels (source) WHERE recorded_to IS NULL;

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

-- Times are milliseconds since 1970 (UTC); days are ISO 8601 text; JSON is kept as the text it came as.
-- Text that is compared or ordered is so by its bytes (COLLATE "C"), whatever the database's own
-- collation: every backend gives the same order.
--
-- "Distributed by" names the column by which a large installation may spread a table over servers.
-- Tables without it are small and may be copied to every server.

-- One row: what the installation is and how often it changed. Programs that serve from memory compare
-- the counters and reload what moved. Whoever changes a counter locks the row first.
CREATE TABLE installation (
    id               bigint PRIMARY KEY CHECK (id = 1),
    environment      text   NOT NULL CHECK (environment IN ('production', 'sample')),
    intel_generation bigint NOT NULL, -- counts every change of sources, listings and labels
    label_generation bigint NOT NULL, -- counts every change of labels
    data_number      bigint NOT NULL, -- counts changes of what they say
    data_hash        text   NOT NULL, -- chains the digests of all that was imported, in order
    control_revision bigint NOT NULL  -- counts every change of manifests and keys
);

CREATE TABLE sources (
    id            text    COLLATE "C" PRIMARY KEY,
    kind          text    NOT NULL CHECK (kind IN ('sanctions', 'labels')),
    sample        boolean NOT NULL,
    fetched_at    bigint  NOT NULL, -- when the newest publication was last obtained or confirmed
    url           text,             -- where it was last fetched from
    etag          text,
    last_modified text
);

CREATE TABLE publications (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source       text   COLLATE "C" NOT NULL REFERENCES sources (id),
    ordinal      bigint NOT NULL, -- order of import within the source
    published_on text   COLLATE "C" NOT NULL,
    digest       text   NOT NULL, -- SHA-256 of the content
    file_digest  text   NOT NULL, -- SHA-256 of the file as it came
    format       text   NOT NULL,
    origin       text   NOT NULL,
    entries      bigint NOT NULL,
    imported_at  bigint NOT NULL,
    report       text   NOT NULL, -- JSON
    UNIQUE (source, ordinal)
);

-- Listings are never changed: a row that no longer holds gets `recorded_to`, and a new one begins.
-- Legal validity follows from the publications; recorded time says what was known when.
CREATE TABLE listings (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source               text   COLLATE "C" NOT NULL REFERENCES sources (id),
    list                 text   COLLATE "C" NOT NULL,
    list_name            text   NOT NULL,
    entity_id            text   COLLATE "C" NOT NULL,
    entity               text   NOT NULL, -- JSON
    asset_code           text   COLLATE "C" NOT NULL,
    address_as_published text   COLLATE "C" NOT NULL,
    address_remarks      text,
    expires_on           text   COLLATE "C",
    present_from         bigint NOT NULL REFERENCES publications (id), -- first that held it
    absent_from          bigint REFERENCES publications (id),          -- first after that without it
    recorded_from        bigint NOT NULL,
    recorded_to          bigint
);

CREATE INDEX listings_recorded_now ON listings (source) WHERE recorded_to IS NULL;

-- Labels say who wrote them, in which word, and where they can be looked up. The fingerprint tells
-- whether a label of a new import is one that is recorded already. Distributed by `address`.
CREATE TABLE labels (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source        text   COLLATE "C" NOT NULL REFERENCES sources (id),
    chain         text   COLLATE "C" NOT NULL,
    address       text   COLLATE "C" NOT NULL,
    category      text   COLLATE "C" NOT NULL,
    entity        text,
    tier          text   NOT NULL,
    confidence    bigint NOT NULL CHECK (confidence BETWEEN 0 AND 100),
    upstream      text   NOT NULL,
    author        text,
    term          text,
    cites_list    text,
    reason        text,
    reference     text,
    valid_from    text   COLLATE "C",
    valid_until   text   COLLATE "C",
    fingerprint   bytea,
    recorded_from bigint NOT NULL,
    recorded_to   bigint
);

-- In the order in which all labels are read.
CREATE INDEX labels_recorded_now ON labels (chain, address, source, id) WHERE recorded_to IS NULL;
CREATE INDEX labels_of_source ON labels (source) WHERE recorded_to IS NULL;

-- A label withdrawn by a person stays withdrawn, whatever later imports of its source say.
-- Distributed by `address`, as labels are.
CREATE TABLE label_suppressions (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source        text   COLLATE "C" NOT NULL,
    chain         text   COLLATE "C" NOT NULL,
    address       text   COLLATE "C" NOT NULL,
    category      text   COLLATE "C", -- NULL: whatever the source says the address is
    author        text   NOT NULL,
    reason        text   NOT NULL,
    suppressed_at bigint NOT NULL,
    lifted_at     bigint              -- when somebody took the withdrawal back
);

CREATE INDEX label_suppressions_in_force ON label_suppressions (chain, address)
    WHERE lifted_at IS NULL;

CREATE TABLE manifests (
    kind       text   COLLATE "C" NOT NULL,
    name       text   COLLATE "C" NOT NULL,
    spec       text   NOT NULL, -- JSON
    applied_at bigint NOT NULL,
    PRIMARY KEY (kind, name)
);

-- Distributed by `tenant`, once ids are looked up together with it.
CREATE TABLE api_keys (
    id           text   COLLATE "C" PRIMARY KEY,
    tenant       text   COLLATE "C" NOT NULL,
    name         text   NOT NULL,
    hash         bytea  NOT NULL CHECK (length(hash) = 32), -- SHA-256; the key itself is never kept
    scopes       text   NOT NULL, -- JSON
    created_at   bigint NOT NULL,
    expires_at   bigint,
    revoked_at   bigint,
    last_used_at bigint
);

-- What was charged, added up. Distributed by `tenant`.
CREATE TABLE usage (
    tenant    text   COLLATE "C" NOT NULL,
    key_id    text   COLLATE "C" NOT NULL,
    plan      text   COLLATE "C" NOT NULL,
    day       text   COLLATE "C" NOT NULL, -- UTC
    operation text   COLLATE "C" NOT NULL, -- check, screen
    outcome   text   COLLATE "C" NOT NULL, -- the verdict
    count     bigint NOT NULL,
    PRIMARY KEY (tenant, day, key_id, plan, operation, outcome)
);

-- Answers as they were given, kept for as long as the tenant's plan says. Distributed by `tenant`.
CREATE TABLE checks (
    id      text   COLLATE "C" PRIMARY KEY,
    tenant  text   COLLATE "C" NOT NULL,
    made_at bigint NOT NULL,
    answer  text   NOT NULL -- JSON, byte for byte
);

CREATE INDEX checks_of_tenant ON checks (tenant, made_at);

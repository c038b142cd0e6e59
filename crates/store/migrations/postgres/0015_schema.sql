-- Times are milliseconds since 1970 (UTC); days are ISO 8601 text; JSON is kept as the text it came as.
-- Text that is compared or ordered is so by its bytes (COLLATE "C"), whatever the database's own
-- collation: every backend gives the same order.
--
-- "Distributed by" names the column by which a large installation may spread a table over servers.
-- Tables without it are small and may be copied to every server.

-- One row: what the installation is and how often it changed. Programs that serve from memory compare
-- the counters and reload what moved. Whoever changes a counter locks the row first.
--
-- Manifests and keys have revisions of their own, so that a new key does not make every server read every
-- manifest. `control_revision` counts changes of both; `manifest_changes` and `key_changes` count how many of them
-- were changes of manifests only, or of keys only:
--
--   revision of manifests = control_revision - key_changes
--   revision of keys      = control_revision - manifest_changes
CREATE TABLE installation (
    id               bigint PRIMARY KEY CHECK (id = 1),
    environment      text   NOT NULL CHECK (environment IN ('production', 'sample')),
    intel_generation bigint NOT NULL, -- counts every change of sources, listings and labels
    label_generation bigint NOT NULL, -- counts every change of labels
    data_number      bigint NOT NULL, -- counts changes of what they say
    data_hash        text   NOT NULL, -- chains the digests of all that was imported, in order
    control_revision bigint NOT NULL, -- counts every change of manifests and keys
    manifest_changes bigint NOT NULL DEFAULT 0,
    key_changes      bigint NOT NULL DEFAULT 0,
    -- The installation of a cluster that the data belongs to. The operator writes its name once, at its first start
    -- on the database, and an operator of another name refuses the database. NULL: no operator has used it.
    instance         text   CHECK (instance <> '')
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

-- The operator asks for an object's keys by their name, for each object: as many times as there are keys.
CREATE INDEX api_keys_name ON api_keys (name);

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

-- What was fetched of single addresses and transactions on demand. It can be fetched again at any time.
CREATE TABLE fetched (
    chain      text   NOT NULL,
    kind       text   NOT NULL CHECK (kind IN ('transaction', 'history', 'spends')),
    key        text   NOT NULL,
    content    text   NOT NULL, -- JSON
    fetched_at bigint NOT NULL,
    PRIMARY KEY (chain, kind, key)
);

-- What each migration means for programs that do not know it. A migration adds its own row:
--
--   expand    adds what older programs do without: `compatible_from` is an older version
--   contract  takes away or changes what older programs rely on: `compatible_from` is the version whose
--             programs do without, which was released before
--
-- A program that knows migrations up to K works with a newer schema if every migration that it does not
-- know is compatible from K or less, and refuses it otherwise.
CREATE TABLE schema_versions (
    version         bigint PRIMARY KEY,
    kind            text   NOT NULL CHECK (kind IN ('expand', 'contract')),
    compatible_from bigint NOT NULL CHECK (compatible_from <= version)
);

-- Programs that serve from memory listen to the channel `assay`, to look at once at what changed. A
-- trigger tells it, in the transaction that changes the counter: no writer can forget it, and nobody
-- hears of what was rolled back. It names the part that changed, and is a hint: the counters are the truth.
CREATE FUNCTION tell_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    manifests bigint := NEW.control_revision - NEW.key_changes;
    keys bigint := NEW.control_revision - NEW.manifest_changes;
BEGIN
    IF manifests <> OLD.control_revision - OLD.key_changes THEN
        PERFORM pg_notify('assay', 'manifests ' || manifests);
    END IF;
    IF keys <> OLD.control_revision - OLD.manifest_changes THEN
        PERFORM pg_notify('assay', 'keys ' || keys);
    END IF;
    IF NEW.intel_generation <> OLD.intel_generation THEN
        PERFORM pg_notify('assay', 'intel ' || NEW.intel_generation);
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER tell_change AFTER UPDATE ON installation
    FOR EACH ROW EXECUTE FUNCTION tell_change();

-- What several servers arrange, so that all of them together never admit more than a limit. Times are
-- microseconds since 1970 by this server's clock, and no other clock counts.

-- Numbered places. Whoever holds one may spend a fixed share of every limit without asking anybody.
-- A row is never emptied again: how long its last holder may have spent is needed after it is gone.
CREATE TABLE seats (
    number          bigint PRIMARY KEY CHECK (number >= 0),
    holder          text   COLLATE "C", -- a program's own name for its life; NULL: never held
    claimed_at      bigint,
    expires_at      bigint,
    previous_expiry bigint,             -- until when the holder before could spend; NULL: none did
    CHECK ((holder IS NULL) = (expires_at IS NULL)),
    CHECK ((holder IS NULL) = (claimed_at IS NULL))
);

INSERT INTO seats (number) SELECT generate_series(0, 15);

-- What of a limit was given out in a window, to whichever server. A window's number is the time
-- divided by its length. Distributed by `payer`.
CREATE TABLE quota_windows (
    payer          text   COLLATE "C" NOT NULL, -- whose counter it is: a plan, a tenant or a key
    limit_name     text   COLLATE "C" NOT NULL,
    window_seconds bigint NOT NULL CHECK (window_seconds > 0),
    window_number  bigint NOT NULL,
    allowed        bigint NOT NULL, -- as it was last asked with
    reserved       bigint NOT NULL CHECK (reserved >= 0),
    granted        bigint NOT NULL, -- what was asked for last, as far as it was given
    PRIMARY KEY (payer, limit_name, window_seconds, window_number)
);

-- Buckets of limits in Redis that ever had an epoch. One that had and is found without lost its memory.
CREATE TABLE limiter_epochs_seen (
    bucket   text   COLLATE "C" PRIMARY KEY,
    first_at bigint NOT NULL
);

-- A second wall between tenants, behind the queries: rows of a tenant are seen only in a transaction that
-- says so (`assay.tenant`), or that says what it does for all tenants together (`assay.reach`):
--
--   directory  reads every key to serve from memory, and revokes a key by its id
--   record     writes what was charged, answered and used, of many tenants in one batch; reads no answer
--   report     reads what was charged, of all tenants
--
-- Both settings end with their transaction, and code sets them in one place. They stop what a query does
-- by mistake: a missing condition, another tenant's name, a value that was taken for SQL. Whoever may
-- send statements of their own can set them, too; that is what the roles are for. A function that runs
-- with its owner's rights would hand out every key to the same callers, and would need an owner whom the
-- wall does not bind: there is none here (FORCE).
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
ALTER TABLE usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage FORCE ROW LEVEL SECURITY;
ALTER TABLE checks ENABLE ROW LEVEL SECURITY;
ALTER TABLE checks FORCE ROW LEVEL SECURITY;

-- Nobody deletes a key.
CREATE POLICY read_keys ON api_keys FOR SELECT USING (
    tenant = current_setting('assay.tenant', true)
    OR current_setting('assay.reach', true) IN ('directory', 'record'));
CREATE POLICY add_keys ON api_keys FOR INSERT WITH CHECK (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY change_keys ON api_keys FOR UPDATE USING (
    tenant = current_setting('assay.tenant', true)
    OR current_setting('assay.reach', true) IN ('directory', 'record'));

CREATE POLICY read_usage ON usage FOR SELECT USING (
    tenant = current_setting('assay.tenant', true)
    OR current_setting('assay.reach', true) IN ('record', 'report'));
CREATE POLICY add_usage ON usage FOR INSERT WITH CHECK (
    current_setting('assay.reach', true) = 'record');
CREATE POLICY change_usage ON usage FOR UPDATE USING (
    current_setting('assay.reach', true) = 'record');
CREATE POLICY forget_usage ON usage FOR DELETE USING (
    tenant = current_setting('assay.tenant', true));

-- An answer is never changed.
CREATE POLICY read_checks ON checks FOR SELECT USING (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY keep_checks ON checks FOR INSERT WITH CHECK (
    current_setting('assay.reach', true) = 'record');
CREATE POLICY forget_checks ON checks FOR DELETE USING (
    tenant = current_setting('assay.tenant', true));

-- A revoked key stays revoked. The grants let the serving role end a key, and a statement that takes the
-- revocation back changes the same column. A trigger refuses it to every role, the tables' owner included,
-- which alone can switch the trigger off, as a migration may. A revoked key does not become another key
-- either; only the time of its last use, its scopes and its expiry time still change.
CREATE FUNCTION keep_revoked() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION 'the API key % is revoked and stays revoked', OLD.id
        USING ERRCODE = 'insufficient_privilege', HINT = 'create a new key';
END
$$;

CREATE TRIGGER keep_revoked BEFORE UPDATE ON api_keys
    FOR EACH ROW
    WHEN (OLD.revoked_at IS NOT NULL
          AND (NEW.revoked_at, NEW.id, NEW.tenant, NEW.hash, NEW.created_at)
              IS DISTINCT FROM (OLD.revoked_at, OLD.id, OLD.tenant, OLD.hash, OLD.created_at))
    EXECUTE FUNCTION keep_revoked();

-- Whoever writes usage numbers what it writes; the last number of each, noted in the transaction that adds
-- it. So what is sent again, because its answer was lost, counts once.
CREATE TABLE usage_writers (
    writer     text   COLLATE "C" PRIMARY KEY, -- a program's own name for its life
    batch      bigint NOT NULL,
    written_at bigint NOT NULL                 -- by the program's clock; purged by age
);

-- Background jobs, which servers share: a server claims a job for a while (FOR UPDATE SKIP LOCKED) and runs
-- it.
CREATE TABLE jobs (
    kind          text   COLLATE "C" NOT NULL,
    key           text   COLLATE "C" NOT NULL, -- the subject of the work; one job for each kind and key
    payload       text   NOT NULL,             -- what the work needs to know beyond the key
    status        text   NOT NULL CHECK (status IN ('pending', 'claimed', 'done', 'failed')),
    due_at        bigint NOT NULL,             -- earliest time of the next attempt
    failures      bigint NOT NULL CHECK (failures >= 0), -- since the last success
    worker        text   COLLATE "C",          -- has the claim
    claimed_until bigint,
    finished_at   bigint,                      -- end of the last attempt
    succeeded_at  bigint,                      -- end of the last attempt that succeeded
    last_error    text,
    PRIMARY KEY (kind, key),
    CHECK ((status = 'claimed') = (worker IS NOT NULL)),
    CHECK ((worker IS NULL) = (claimed_until IS NULL))
);

CREATE INDEX jobs_open ON jobs (kind, due_at) WHERE status IN ('pending', 'claimed');

-- The schema as a whole: programs of earlier versions, which built it step by step, refuse it.
INSERT INTO schema_versions (version, kind, compatible_from) VALUES (15, 'contract', 15);

-- Background jobs, which servers share: a server claims a job for a while (FOR UPDATE SKIP LOCKED) and runs
-- it. Older programs do without: they fetch by themselves what their configuration says.
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

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (10, 'expand', 9);

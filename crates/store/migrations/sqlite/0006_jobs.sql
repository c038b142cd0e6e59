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

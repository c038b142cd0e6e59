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

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (5, 'expand', 1);

-- Whoever writes usage numbers what it writes; the last number of each, noted in the transaction that adds
-- it. So what is sent again, because its answer was lost, counts once.
CREATE TABLE usage_writers (
    writer     TEXT    PRIMARY KEY, -- a program's own name for its life
    batch      INTEGER NOT NULL,
    written_at INTEGER NOT NULL     -- by the program's clock; purged by age
) WITHOUT ROWID;

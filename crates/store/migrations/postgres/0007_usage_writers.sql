-- Whoever writes usage numbers what it writes; the last number of each, noted in the transaction that adds
-- it. So what is sent again, because its answer was lost, counts once.
CREATE TABLE usage_writers (
    writer     text   COLLATE "C" PRIMARY KEY, -- a program's own name for its life
    batch      bigint NOT NULL,
    written_at bigint NOT NULL                 -- by the program's clock; purged by age
);

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (7, 'expand', 6);

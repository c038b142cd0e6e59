-- Following money inside the database, to compare with: the rules of docs/scoring.md, transaction by
-- transaction, over the tables and indexes of the graph as they are. Coins are all known and nobody mixes.
-- One amount for all times, everything asked for, no weaker labels, no clusters, no distances, no paths: less
-- than a check has to know.

CREATE SCHEMA bench;
SET search_path TO bench;
-- Functions name the tables of a connection, which are not there yet.
SET check_function_bodies TO off;

CREATE TABLE label (holder_id bigint PRIMARY KEY, category text NOT NULL);

CREATE TYPE bounds AS (
    cut       integer, -- the level from which on little money is cut
    cut_below numeric, -- in base units
    entries   bigint,
    transfers integer
);

-- floor(log2(whole / mass)).
CREATE FUNCTION magnitude(whole numeric, mass numeric) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    power integer := 0;
BEGIN
    WHILE mass * 2 ^ (power + 1) <= whole LOOP
        power := power + 1;
    END LOOP;
    RETURN power;
END
$$;

-- Tables of one connection: money that waits at a transaction, money at outputs whose spenders are not known,
-- transactions that money passed, and what ended.
CREATE FUNCTION begin() RETURNS void LANGUAGE sql AS $$
    CREATE TEMP TABLE waiting (
        tx_id bigint PRIMARY KEY, height bigint NOT NULL, txid bytea NOT NULL, mass numeric NOT NULL);
    CREATE TEMP TABLE unseen (tx_id bigint, place integer, mass numeric NOT NULL, PRIMARY KEY (tx_id, place));
    CREATE TEMP TABLE passed (tx_id bigint PRIMARY KEY);
    CREATE TEMP TABLE ended (what text NOT NULL, mass numeric NOT NULL);
$$;

-- Where the subject's money came from.
CREATE FUNCTION source(key bytea, b bounds)
RETURNS TABLE (what text, mass numeric) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    subject bigint;
    whole   numeric;
    seen    numeric;
    rest    numeric;
    most    numeric;
    level   integer := 0;
    once    bigint := 0;
    ever    bigint := 0;
    entries bigint;
    is_new  boolean;
    own     record;
    next    record;
BEGIN
    TRUNCATE waiting, unseen, passed, ended;
    SELECT p.holder_id, p.received INTO subject, whole FROM chain_btc.holder AS p WHERE p.key = source.key;
    seen := 0;
    FOR own IN
        SELECT t.tx_id, t.kind, got.value - div(got.value * gave.value, t.input_total) AS value
        FROM (SELECT DISTINCT tx_id FROM (
                SELECT o.tx_id FROM chain_btc.output AS o WHERE o.holder_id = subject
                ORDER BY o.value DESC, o.tx_id, o.place LIMIT b.transfers) AS largest) AS mine
        CROSS JOIN LATERAL (SELECT * FROM chain_btc.tx AS t WHERE t.tx_id = mine.tx_id OFFSET 0) AS t
        CROSS JOIN LATERAL (SELECT sum(o.value) AS value FROM chain_btc.output AS o
                            WHERE o.tx_id = t.tx_id AND o.holder_id + 0 = subject) AS got
        CROSS JOIN LATERAL (SELECT coalesce(sum(i.value), 0) AS value FROM chain_btc.input AS i
                            WHERE i.tx_id = t.tx_id AND i.holder_id + 0 = subject) AS gave
    LOOP
        seen := seen + own.value;
        IF own.kind = 1 THEN
            INSERT INTO ended VALUES ('mining', own.value * 4294967296);
        ELSE
            PERFORM bench.back(own.tx_id, own.value * 4294967296, subject, true);
        END IF;
    END LOOP;
    IF whole > seen THEN
        INSERT INTO ended VALUES ('trace_limit', (whole - seen) * 4294967296);
    END IF;
    whole := whole * 4294967296;

    LOOP
        SELECT sum(w.mass), max(w.mass) INTO rest, most FROM waiting AS w;
        EXIT WHEN rest IS NULL;
        level := greatest(level, bench.magnitude(whole, most));
        IF level >= b.cut AND rest < b.cut_below * 4294967296 AND rest * 100 <= whole THEN
            INSERT INTO ended VALUES ('below_threshold', rest);
            EXIT;
        END IF;
        DELETE FROM waiting WHERE tx_id = (
            SELECT w.tx_id FROM waiting AS w WHERE w.mass * 2 ^ (level + 1) > whole
            ORDER BY w.height DESC, w.txid LIMIT 1)
        RETURNING tx_id, mass INTO next;
        IF EXISTS (SELECT FROM chain_btc.tx AS t WHERE t.tx_id = next.tx_id AND t.kind = 1) THEN
            INSERT INTO ended VALUES ('mining', next.mass);
            CONTINUE;
        END IF;
        SELECT count(*) INTO entries FROM chain_btc.input AS i WHERE i.tx_id = next.tx_id;
        is_new := NOT EXISTS (SELECT FROM passed AS p WHERE p.tx_id = next.tx_id);
        IF (is_new AND once + entries > b.entries) OR ever + entries > 20 * b.entries THEN
            INSERT INTO ended VALUES ('trace_limit', next.mass);
            CONTINUE;
        END IF;
        IF is_new THEN
            INSERT INTO passed VALUES (next.tx_id);
            once := once + entries;
        END IF;
        ever := ever + entries;
        PERFORM bench.back(next.tx_id, next.mass, subject, false);
    END LOOP;
    RETURN QUERY SELECT e.what, sum(e.mass) FROM ended AS e GROUP BY e.what;
END
$$;

-- Passes money back through a transaction: to its inputs, or to those of others than the subject.
CREATE FUNCTION back(tx bigint, mass numeric, subject bigint, others boolean)
RETURNS void LANGUAGE sql AS $$
    WITH legs AS MATERIALIZED (
        SELECT i.prev_tx_id, i.holder_id, i.value, sum(i.value) OVER () AS total
        FROM chain_btc.input AS i WHERE i.tx_id = tx AND NOT (others AND i.holder_id + 0 = subject)),
    split AS MATERIALIZED (
        SELECT prev_tx_id, div(mass * value, total) AS part, category
        FROM legs LEFT JOIN bench.label AS l
          ON l.holder_id = legs.holder_id AND legs.holder_id <> subject
        WHERE total > 0),
    labelled AS (
        INSERT INTO ended SELECT category, part FROM split WHERE category IS NOT NULL AND part > 0)
    INSERT INTO waiting
    SELECT t.tx_id, t.height, t.txid, s.part
    FROM (SELECT prev_tx_id, sum(part) AS part FROM split WHERE category IS NULL AND part > 0
          GROUP BY prev_tx_id) AS s
    CROSS JOIN LATERAL (SELECT * FROM chain_btc.tx AS t WHERE t.tx_id = s.prev_tx_id OFFSET 0) AS t
    ON CONFLICT (tx_id) DO UPDATE SET mass = waiting.mass + excluded.mass
$$;

-- Where it went.
CREATE FUNCTION destination(key bytea, b bounds)
RETURNS TABLE (what text, mass numeric) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    subject bigint;
    whole   numeric;
    given   numeric;
    seen    numeric := 0;
    rest    numeric;
    most    numeric;
    level   integer := 0;
    once    bigint := 0;
    ever    bigint := 0;
    entries bigint;
    is_new  boolean;
    own     record;
    next    record;
BEGIN
    TRUNCATE waiting, unseen, passed, ended;
    SELECT p.holder_id, p.received, p.sent INTO subject, whole, given
    FROM chain_btc.holder AS p WHERE p.key = destination.key;
    FOR own IN
        SELECT t.tx_id, gave.value - div(got.value * gave.value, t.input_total) AS value
        FROM (SELECT DISTINCT tx_id FROM (
                SELECT i.tx_id FROM chain_btc.input AS i WHERE i.holder_id = subject
                ORDER BY i.value DESC, i.tx_id, i.place LIMIT b.transfers) AS largest) AS mine
        CROSS JOIN LATERAL (SELECT * FROM chain_btc.tx AS t WHERE t.tx_id = mine.tx_id OFFSET 0) AS t
        CROSS JOIN LATERAL (SELECT coalesce(sum(o.value), 0) AS value FROM chain_btc.output AS o
                            WHERE o.tx_id = t.tx_id AND o.holder_id + 0 = subject) AS got
        CROSS JOIN LATERAL (SELECT sum(i.value) AS value FROM chain_btc.input AS i
                            WHERE i.tx_id = t.tx_id AND i.holder_id + 0 = subject) AS gave
    LOOP
        seen := seen + own.value;
        PERFORM bench.onward(own.tx_id, own.value * 4294967296, subject, true);
    END LOOP;
    IF whole > given THEN
        INSERT INTO ended VALUES ('unspent_by_subject', (whole - given) * 4294967296);
    END IF;
    IF given > seen THEN
        INSERT INTO ended VALUES ('trace_limit', (given - seen) * 4294967296);
    END IF;
    whole := greatest(whole, given) * 4294967296;

    LOOP
        SELECT sum(m.mass), max(m.mass) INTO rest, most FROM (
            SELECT w.mass FROM waiting AS w UNION ALL SELECT u.mass FROM unseen AS u) AS m;
        EXIT WHEN rest IS NULL;
        level := greatest(level, bench.magnitude(whole, most));
        IF level >= b.cut AND rest < b.cut_below * 4294967296 AND rest * 100 <= whole THEN
            INSERT INTO ended VALUES ('below_threshold', rest);
            EXIT;
        END IF;
        WITH moved AS (
            DELETE FROM unseen AS u WHERE u.mass * 2 ^ (level + 1) > whole RETURNING u.*),
        spent AS MATERIALIZED (
            SELECT m.mass, i.tx_id FROM moved AS m
            LEFT JOIN LATERAL (SELECT i.tx_id FROM chain_btc.input AS i
                               WHERE i.prev_tx_id = m.tx_id AND i.prev_index = m.place OFFSET 0) AS i
              ON true),
        held AS (
            INSERT INTO ended SELECT 'unspent_downstream', s.mass FROM spent AS s WHERE s.tx_id IS NULL)
        INSERT INTO waiting
        SELECT t.tx_id, t.height, t.txid, s.mass
        FROM (SELECT tx_id, sum(mass) AS mass FROM spent WHERE tx_id IS NOT NULL GROUP BY tx_id) AS s
        CROSS JOIN LATERAL (SELECT * FROM chain_btc.tx AS t WHERE t.tx_id = s.tx_id OFFSET 0) AS t
        ON CONFLICT (tx_id) DO UPDATE SET mass = waiting.mass + excluded.mass;
        DELETE FROM waiting WHERE tx_id = (
            SELECT w.tx_id FROM waiting AS w WHERE w.mass * 2 ^ (level + 1) > whole
            ORDER BY w.height, w.txid LIMIT 1)
        RETURNING tx_id, mass INTO next;
        CONTINUE WHEN next.tx_id IS NULL;
        SELECT count(*) INTO entries FROM chain_btc.output AS o WHERE o.tx_id = next.tx_id;
        is_new := NOT EXISTS (SELECT FROM passed AS p WHERE p.tx_id = next.tx_id);
        IF (is_new AND once + entries > b.entries) OR ever + entries > 20 * b.entries THEN
            INSERT INTO ended VALUES ('trace_limit', next.mass);
            CONTINUE;
        END IF;
        IF is_new THEN
            INSERT INTO passed VALUES (next.tx_id);
            once := once + entries;
        END IF;
        ever := ever + entries;
        PERFORM bench.onward(next.tx_id, next.mass, subject, false);
    END LOOP;
    RETURN QUERY SELECT e.what, sum(e.mass) FROM ended AS e GROUP BY e.what;
END
$$;

-- Passes money on through a transaction: to its outputs, or to those of others than the subject, and to the fee.
CREATE FUNCTION onward(tx bigint, mass numeric, subject bigint, others boolean)
RETURNS void LANGUAGE sql AS $$
    WITH legs AS MATERIALIZED (
        SELECT *, sum(value) OVER () AS total FROM (
            SELECT o.place, o.holder_id, o.value FROM chain_btc.output AS o
            WHERE o.tx_id = tx AND NOT (others AND o.holder_id + 0 = subject)
            UNION ALL
            SELECT NULL, NULL, t.input_total - t.output_total FROM chain_btc.tx AS t WHERE t.tx_id = tx) AS both_kinds),
    split AS MATERIALIZED (
        SELECT place, div(mass * value, total) AS part,
               CASE WHEN place IS NULL THEN 'fee' ELSE category END AS what
        FROM legs LEFT JOIN bench.label AS l
          ON l.holder_id = legs.holder_id AND legs.holder_id <> subject
        WHERE total > 0),
    finished AS (
        INSERT INTO ended SELECT what, part FROM split WHERE what IS NOT NULL AND part > 0)
    INSERT INTO unseen SELECT tx, place, part FROM split WHERE what IS NULL AND part > 0
    ON CONFLICT (tx_id, place) DO UPDATE SET mass = unseen.mass + excluded.mass
$$;

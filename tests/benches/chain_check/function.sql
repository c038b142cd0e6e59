-- Following money inside the database, to compare with: a set-based statement or two a hop, over the
-- tables and indexes of the graph as they are. It follows the rules of docs/scoring.md for coins that
-- are all known: change taken out, parts by largest remainder in units of 2^-32, ends by a table of
-- labels, then cut, budget, next hop. One amount for all times, everything asked for, no weaker labels,
-- no paths: less than a check has to know.

CREATE SCHEMA bench;
SET search_path TO bench;

CREATE TABLE label (holder_id bigint PRIMARY KEY, category text NOT NULL);

-- Money at an output: whose it is, and how much.
CREATE TYPE state AS (tx_id bigint, place integer, holder_id bigint, mass numeric);
CREATE TYPE bounds AS (
    hops      integer,
    cut_share numeric, -- in millionths
    cut_below numeric, -- in base units
    addresses integer,
    transfers integer
);

-- What is left of a level once ends are out, by fate: `cut`, `budget`, or NULL: followed further.
CREATE FUNCTION judged(states state[], subject bigint, whole numeric, b bounds)
RETURNS TABLE (s state, fate text) LANGUAGE sql STABLE AS $$
    WITH open AS MATERIALIZED (
        SELECT tx_id, place, u.holder_id, mass,
               sum(mass) OVER (PARTITION BY u.holder_id) AS of_holder,
               row_number() OVER (PARTITION BY u.holder_id ORDER BY mass DESC, tx_id, place) AS nth
        FROM unnest(states) AS u
        WHERE u.holder_id = subject
           OR NOT EXISTS (SELECT FROM bench.label AS l WHERE l.holder_id = u.holder_id)),
    sized AS (
        SELECT *, of_holder < b.cut_below * 4294967296
              AND of_holder * 1000000 < whole * 4294967296 * b.cut_share AS small
        FROM open),
    ranked AS (
        SELECT *, dense_rank() OVER (PARTITION BY small ORDER BY of_holder DESC, holder_id) AS rank
        FROM sized)
    SELECT ROW(tx_id, place, holder_id, mass)::bench.state,
           CASE WHEN small THEN 'below_threshold' WHEN rank > b.addresses OR nth > b.transfers THEN 'trace_limit' END
    FROM ranked
$$;

-- Where the subject's money came from.
CREATE FUNCTION source(key bytea, b bounds)
RETURNS TABLE (what text, hop integer, mass numeric) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    subject bigint;
    whole   numeric;
    seen    numeric;
    mined   numeric;
    states  bench.state[];
    h       integer := 1;
BEGIN
    SELECT p.holder_id, p.received INTO subject, whole FROM chain_btc.holder AS p WHERE p.key = source.key;
    WITH mine AS (
        SELECT DISTINCT tx_id FROM (
            SELECT o.tx_id FROM chain_btc.output AS o WHERE o.holder_id = subject
            ORDER BY o.value DESC, o.tx_id, o.place LIMIT b.transfers) AS largest),
    income AS MATERIALIZED (
        SELECT t.tx_id, t.kind, got.value - div(got.value * gave.value, t.input_total) AS value
        FROM mine
        CROSS JOIN LATERAL (SELECT * FROM chain_btc.tx AS t WHERE t.tx_id = mine.tx_id OFFSET 0) AS t
        CROSS JOIN LATERAL (SELECT sum(o.value) AS value FROM chain_btc.output AS o
                            WHERE o.tx_id = t.tx_id AND o.holder_id + 0 = subject) AS got
        CROSS JOIN LATERAL (SELECT coalesce(sum(i.value), 0) AS value FROM chain_btc.input AS i
                            WHERE i.tx_id = t.tx_id AND i.holder_id + 0 = subject) AS gave),
    legs AS (
        SELECT e.tx_id, e.value * 4294967296 AS mass, i.prev_tx_id, i.prev_index, i.holder_id, i.place,
               i.value, sum(i.value) OVER (PARTITION BY e.tx_id) AS total
        FROM income AS e JOIN chain_btc.input AS i
          ON i.tx_id = e.tx_id AND i.holder_id + 0 <> subject
        WHERE e.kind = 0),
    parts AS (
        SELECT *, div(legs.mass * value, total) AS part,
               row_number() OVER (PARTITION BY tx_id
                                  ORDER BY mod(legs.mass * value, total) DESC, place) AS nth
        FROM legs),
    split AS (
        SELECT prev_tx_id, prev_index, holder_id,
               part + (nth <= parts.mass - sum(part) OVER (PARTITION BY tx_id))::integer AS part
        FROM parts)
    SELECT (SELECT sum(value) FROM income),
           (SELECT sum(value) FROM income WHERE kind = 1),
           array(SELECT ROW(prev_tx_id, prev_index, holder_id, part)::bench.state FROM split
                 WHERE part > 0)
    INTO seen, mined, states;
    RETURN QUERY SELECT 'mining', 1, mined * 4294967296 WHERE mined > 0;
    RETURN QUERY SELECT 'trace_limit', 1, (whole - coalesce(seen, 0)) * 4294967296 WHERE whole > coalesce(seen, 0);

    WHILE cardinality(states) > 0 LOOP
        RETURN QUERY SELECT l.category, h, sum(u.mass) FROM unnest(states) AS u
            JOIN bench.label AS l ON l.holder_id = u.holder_id
            WHERE u.holder_id <> subject GROUP BY l.category;
        IF h = b.hops THEN
            RETURN QUERY SELECT 'depth_limit', h, sum(u.mass) FROM unnest(states) AS u
                WHERE u.holder_id = subject
                   OR NOT EXISTS (SELECT FROM bench.label AS l WHERE l.holder_id = u.holder_id)
                HAVING count(*) > 0;
            RETURN;
        END IF;
        -- What ends by cut or budget is kept in states for a moment, as money without an output.
        WITH level AS MATERIALIZED (SELECT * FROM bench.judged(states, subject, whole, b))
        SELECT array_agg(s) FROM (
            SELECT s FROM level WHERE fate IS NULL
            UNION ALL
            SELECT ROW(NULL, CASE fate WHEN 'below_threshold' THEN 1 ELSE 2 END, NULL, sum((s).mass))::bench.state
            FROM level WHERE fate IS NOT NULL GROUP BY fate) AS kept
        INTO states;
        RETURN QUERY SELECT CASE u.place WHEN 1 THEN 'below_threshold' ELSE 'trace_limit' END, h, u.mass
            FROM unnest(states) AS u WHERE u.tx_id IS NULL;

        -- Back through the transactions that made the outputs.
        WITH made AS MATERIALIZED (
            SELECT u.tx_id, u.place AS output, u.mass, t.kind
            FROM unnest(states) AS u
            CROSS JOIN LATERAL (SELECT kind FROM chain_btc.tx WHERE tx.tx_id = u.tx_id OFFSET 0) AS t),
        legs AS (
            SELECT m.tx_id, m.output, m.mass, i.prev_tx_id, i.prev_index, i.holder_id, i.place, i.value,
                   sum(i.value) OVER (PARTITION BY m.tx_id, m.output) AS total
            FROM made AS m
            CROSS JOIN LATERAL (SELECT * FROM chain_btc.input AS i WHERE i.tx_id = m.tx_id OFFSET 0) AS i
            WHERE m.kind = 0),
        parts AS (
            SELECT *, div(legs.mass * value, total) AS part,
                   row_number() OVER (PARTITION BY tx_id, output
                                      ORDER BY mod(legs.mass * value, total) DESC, place) AS nth
            FROM legs),
        split AS (
            SELECT prev_tx_id, prev_index, holder_id,
                   part + (nth <= parts.mass - sum(part) OVER (PARTITION BY tx_id, output))::integer
                       AS part
            FROM parts)
        SELECT (SELECT sum(made.mass) FROM made WHERE kind = 1),
               array(SELECT ROW(prev_tx_id, prev_index, holder_id, sum(part))::bench.state FROM split
                     GROUP BY prev_tx_id, prev_index, holder_id HAVING sum(part) > 0)
        INTO mined, states;
        h := h + 1;
        RETURN QUERY SELECT 'mining', h, mined WHERE mined > 0;
    END LOOP;
END
$$;

-- Where it went.
CREATE FUNCTION destination(key bytea, b bounds)
RETURNS TABLE (what text, hop integer, mass numeric) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    subject bigint;
    whole   numeric;
    given   numeric;
    seen    numeric;
    held    numeric;
    states  bench.state[];
    h       integer := 1;
BEGIN
    SELECT p.holder_id, p.received, p.sent INTO subject, whole, given
    FROM chain_btc.holder AS p WHERE p.key = destination.key;
    WITH mine AS (
        SELECT DISTINCT tx_id FROM (
            SELECT i.tx_id FROM chain_btc.input AS i WHERE i.holder_id = subject
            ORDER BY i.value DESC, i.tx_id, i.place LIMIT b.transfers) AS largest),
    expense AS MATERIALIZED (
        SELECT t.tx_id, gave.value - div(got.value * gave.value, t.input_total) AS value,
               t.input_total - t.output_total AS fee
        FROM mine
        CROSS JOIN LATERAL (SELECT * FROM chain_btc.tx AS t WHERE t.tx_id = mine.tx_id OFFSET 0) AS t
        CROSS JOIN LATERAL (SELECT coalesce(sum(o.value), 0) AS value FROM chain_btc.output AS o
                            WHERE o.tx_id = t.tx_id AND o.holder_id + 0 = subject) AS got
        CROSS JOIN LATERAL (SELECT sum(i.value) AS value FROM chain_btc.input AS i
                            WHERE i.tx_id = t.tx_id AND i.holder_id + 0 = subject) AS gave),
    legs AS (
        SELECT *, sum(value) OVER (PARTITION BY tx_id) AS total FROM (
            SELECT e.tx_id, e.value * 4294967296 AS mass, o.holder_id, o.place, o.value
            FROM expense AS e JOIN chain_btc.output AS o
              ON o.tx_id = e.tx_id AND o.holder_id + 0 <> subject
            UNION ALL
            SELECT e.tx_id, e.value * 4294967296, NULL, 2147483647, e.fee FROM expense AS e) AS both_kinds),
    parts AS (
        SELECT *, div(legs.mass * value, nullif(total, 0)) AS part,
               row_number() OVER (PARTITION BY tx_id
                                  ORDER BY mod(legs.mass * value, nullif(total, 0)) DESC, place) AS nth
        FROM legs),
    split AS (
        SELECT tx_id, place, holder_id,
               part + (nth <= parts.mass - sum(part) OVER (PARTITION BY tx_id))::integer AS part
        FROM parts)
    SELECT (SELECT sum(value) FROM expense),
           array(SELECT ROW(tx_id, place, holder_id, part)::bench.state FROM split WHERE part > 0)
    INTO seen, states;
    RETURN QUERY SELECT 'unspent_by_subject', 0, (whole - given) * 4294967296 WHERE whole > given;
    RETURN QUERY SELECT 'trace_limit', 1, (given - coalesce(seen, 0)) * 4294967296 WHERE given > coalesce(seen, 0);

    WHILE cardinality(states) > 0 LOOP
        RETURN QUERY SELECT 'fee', h, sum(u.mass) FROM unnest(states) AS u
            WHERE u.holder_id IS NULL HAVING count(*) > 0;
        states := array(SELECT u::bench.state FROM unnest(states) AS u WHERE u.holder_id IS NOT NULL);
        RETURN QUERY SELECT l.category, h, sum(u.mass) FROM unnest(states) AS u
            JOIN bench.label AS l ON l.holder_id = u.holder_id
            WHERE u.holder_id <> subject GROUP BY l.category;
        IF h = b.hops THEN
            RETURN QUERY SELECT 'depth_limit', h, sum(u.mass) FROM unnest(states) AS u
                WHERE u.holder_id = subject
                   OR NOT EXISTS (SELECT FROM bench.label AS l WHERE l.holder_id = u.holder_id)
                HAVING count(*) > 0;
            RETURN;
        END IF;
        WITH level AS MATERIALIZED (SELECT * FROM bench.judged(states, subject, whole, b))
        SELECT array_agg(s) FROM (
            SELECT s FROM level WHERE fate IS NULL
            UNION ALL
            SELECT ROW(NULL, CASE fate WHEN 'below_threshold' THEN 1 ELSE 2 END, NULL, sum((s).mass))::bench.state
            FROM level WHERE fate IS NOT NULL GROUP BY fate) AS kept
        INTO states;
        RETURN QUERY SELECT CASE u.place WHEN 1 THEN 'below_threshold' ELSE 'trace_limit' END, h, u.mass
            FROM unnest(states) AS u WHERE u.tx_id IS NULL;

        -- On through the transactions that spend the outputs.
        WITH spent AS MATERIALIZED (
            SELECT u.tx_id AS made, u.place AS output, u.mass, i.tx_id
            FROM unnest(states) AS u
            LEFT JOIN LATERAL (SELECT i.tx_id FROM chain_btc.input AS i
                               WHERE i.prev_tx_id = u.tx_id AND i.prev_index = u.place OFFSET 0) AS i
              ON true
            WHERE u.tx_id IS NOT NULL),
        legs AS (
            SELECT *, sum(value) OVER (PARTITION BY made, output) AS total FROM (
                SELECT s.made, s.output, s.mass, s.tx_id, o.holder_id, o.place, o.value
                FROM spent AS s
                CROSS JOIN LATERAL (SELECT * FROM chain_btc.output AS o
                                    WHERE o.tx_id = s.tx_id OFFSET 0) AS o
                UNION ALL
                SELECT s.made, s.output, s.mass, s.tx_id, NULL, 2147483647,
                       (SELECT t.input_total - t.output_total FROM chain_btc.tx AS t
                        WHERE t.tx_id = s.tx_id)
                FROM spent AS s WHERE s.tx_id IS NOT NULL) AS both_kinds),
        parts AS (
            SELECT *, div(legs.mass * value, nullif(total, 0)) AS part,
                   row_number() OVER (PARTITION BY made, output
                                      ORDER BY mod(legs.mass * value, nullif(total, 0)) DESC, place)
                       AS nth
            FROM legs),
        split AS (
            SELECT tx_id, place, holder_id,
                   part + (nth <= parts.mass - sum(part) OVER (PARTITION BY made, output))::integer
                       AS part
            FROM parts)
        SELECT (SELECT sum(spent.mass) FROM spent WHERE tx_id IS NULL),
               array(SELECT ROW(tx_id, place, holder_id, sum(part))::bench.state FROM split
                     GROUP BY tx_id, place, holder_id HAVING sum(part) > 0)
        INTO held, states;
        RETURN QUERY SELECT 'unspent_downstream', h, held WHERE held > 0;
        h := h + 1;
    END LOOP;
END
$$;

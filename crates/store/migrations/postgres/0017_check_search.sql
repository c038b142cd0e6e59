-- What kept answers are found by. A row is as short as it can be: it holds what a list of checks shows, so that a search
-- reads no answers, and its table is written anew without a lock on the answers. Distributed by `tenant`.
CREATE TABLE check_summaries (
    tenant    text   COLLATE "C" NOT NULL,
    made_at   bigint NOT NULL,
    id        text   COLLATE "C" NOT NULL,
    chain     text   COLLATE "C" NOT NULL,
    address   text   COLLATE "C" NOT NULL, -- in canonical form; for a transfer, the receiver's
    reference text   COLLATE "C",
    verdict   text   COLLATE "C" NOT NULL,
    score     bigint NOT NULL,             -- tenths of a point
    rules     text   COLLATE "C" NOT NULL, -- codes of reasons and rules, with a space before and after each
    PRIMARY KEY (tenant, id)
);

-- The same row once for each of its rules, except for the one that nearly all have (`no_findings`).
-- Distributed by `tenant`.
CREATE TABLE check_rules (
    tenant    text   COLLATE "C" NOT NULL,
    rule      text   COLLATE "C" NOT NULL,
    made_at   bigint NOT NULL,
    id        text   COLLATE "C" NOT NULL,
    chain     text   COLLATE "C" NOT NULL,
    address   text   COLLATE "C" NOT NULL,
    reference text   COLLATE "C",
    verdict   text   COLLATE "C" NOT NULL,
    score     bigint NOT NULL,
    rules     text   COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id, rule)
);

-- Answers that are kept already, tenant by tenant: row-level security holds for the tables' owner, too. U+0000 is no
-- character of a text in PostgreSQL.
DO $$
DECLARE
    one text;
BEGIN
    PERFORM set_config('assay.reach', 'report', true);
    FOR one IN SELECT name FROM manifests WHERE kind IN ('Tenant', 'FormerTenant')
        UNION SELECT DISTINCT tenant FROM usage
    LOOP
        PERFORM set_config('assay.tenant', one, true);
        INSERT INTO check_summaries
        SELECT tenant, made_at, id, body ->> 'blockchain', body ->> 'address', body ->> 'reference', body ->> 'verdict',
            round((body ->> 'risk_score')::numeric * 10)::bigint,
            coalesce((
                SELECT ' ' || string_agg(rule, ' ' ORDER BY place) || ' ' FROM (
                    SELECT rule, min(place) AS place FROM (
                        SELECT value ->> 'code' AS rule, ordinality AS place
                        FROM json_array_elements(body -> 'reasons') WITH ORDINALITY
                        UNION ALL
                        SELECT value ->> 'rule', 1000000 + ordinality
                        FROM json_array_elements(body -> 'scoring_components') WITH ORDINALITY
                    ) AS named
                    WHERE rule IS NOT NULL GROUP BY rule
                ) AS distinct_rules
            ), ' ')
        FROM (SELECT tenant, made_at, id, replace(answer, '\u0000', '\ufffd')::json AS body FROM checks) AS kept
        WHERE body ->> 'blockchain' IS NOT NULL AND body ->> 'address' IS NOT NULL
            AND body ->> 'verdict' IS NOT NULL AND body ->> 'risk_score' IS NOT NULL;
    END LOOP;
    PERFORM set_config('assay.tenant', '', true);
    PERFORM set_config('assay.reach', '', true);
END
$$;

INSERT INTO check_rules
SELECT tenant, rule, made_at, id, chain, address, reference, verdict, score, rules
FROM check_summaries, unnest(string_to_array(btrim(rules), ' ')) AS rule
WHERE rule NOT IN ('', 'no_findings');

-- All checks by time, which are also purged by it. The condition holds for every row; a query that does not state it
-- cannot use the index, so that no planner prefers the order of time to a more selective index.
CREATE INDEX check_summaries_time ON check_summaries (tenant, made_at, id) WHERE score >= 0;
CREATE INDEX check_summaries_address ON check_summaries (tenant, address, made_at, id);
CREATE INDEX check_summaries_reference ON check_summaries (tenant, reference, made_at, id)
    WHERE reference IS NOT NULL;
CREATE INDEX check_summaries_chain ON check_summaries (tenant, chain, made_at, id);
-- Nearly all checks are allowed.
CREATE INDEX check_summaries_verdict ON check_summaries (tenant, verdict, made_at, id)
    WHERE verdict <> 'allow';
CREATE INDEX check_rules_rule ON check_rules (tenant, rule, made_at, id);
CREATE INDEX check_rules_time ON check_rules (tenant, made_at) WHERE score >= 0;

ALTER TABLE check_summaries ENABLE ROW LEVEL SECURITY;
ALTER TABLE check_summaries FORCE ROW LEVEL SECURITY;
ALTER TABLE check_rules ENABLE ROW LEVEL SECURITY;
ALTER TABLE check_rules FORCE ROW LEVEL SECURITY;

CREATE POLICY read_summaries ON check_summaries FOR SELECT USING (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY keep_summaries ON check_summaries FOR INSERT WITH CHECK (
    current_setting('assay.reach', true) = 'record');
CREATE POLICY forget_summaries ON check_summaries FOR DELETE USING (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY read_rules ON check_rules FOR SELECT USING (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY keep_rules ON check_rules FOR INSERT WITH CHECK (
    current_setting('assay.reach', true) = 'record');
CREATE POLICY forget_rules ON check_rules FOR DELETE USING (
    tenant = current_setting('assay.tenant', true));

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (17, 'expand', 15);

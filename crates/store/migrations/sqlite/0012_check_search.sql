-- What kept answers are found by. A row is as short as it can be: it holds what a list of checks shows, so that a search
-- reads no answers.
CREATE TABLE check_summaries (
    tenant    TEXT    NOT NULL,
    made_at   INTEGER NOT NULL,
    id        TEXT    NOT NULL,
    chain     TEXT    NOT NULL,
    address   TEXT    NOT NULL, -- in canonical form; for a transfer, the receiver's
    reference TEXT,
    verdict   TEXT    NOT NULL,
    score     INTEGER NOT NULL, -- tenths of a point
    rules     TEXT    NOT NULL, -- codes of reasons and rules, with a space before and after each
    PRIMARY KEY (tenant, made_at, id)
) WITHOUT ROWID;

-- The same row once for each of its rules, except for the one that nearly all have (`no_findings`).
CREATE TABLE check_rules (
    tenant    TEXT    NOT NULL,
    rule      TEXT    NOT NULL,
    made_at   INTEGER NOT NULL,
    id        TEXT    NOT NULL,
    chain     TEXT    NOT NULL,
    address   TEXT    NOT NULL,
    reference TEXT,
    verdict   TEXT    NOT NULL,
    score     INTEGER NOT NULL,
    rules     TEXT    NOT NULL,
    PRIMARY KEY (tenant, rule, made_at, id)
) WITHOUT ROWID;

-- Answers that are kept already.
INSERT INTO check_summaries
SELECT tenant, made_at, id, json_extract(answer, '$.blockchain'), json_extract(answer, '$.address'),
    json_extract(answer, '$.reference'), json_extract(answer, '$.verdict'),
    CAST(round(json_extract(answer, '$.risk_score') * 10) AS INTEGER),
    coalesce((
        SELECT ' ' || group_concat(rule, ' ') || ' ' FROM (
            SELECT rule FROM (
                SELECT json_extract(value, '$.code') AS rule, key AS place FROM json_each(answer, '$.reasons')
                UNION ALL
                SELECT json_extract(value, '$.rule'), 1000000 + key FROM json_each(answer, '$.scoring_components')
            )
            WHERE rule IS NOT NULL GROUP BY rule ORDER BY min(place)
        )
    ), ' ')
FROM checks
WHERE json_extract(answer, '$.blockchain') IS NOT NULL AND json_extract(answer, '$.address') IS NOT NULL
    AND json_extract(answer, '$.verdict') IS NOT NULL AND json_extract(answer, '$.risk_score') IS NOT NULL;

INSERT INTO check_rules
SELECT tenant, named.value, made_at, check_summaries.id, chain, address, reference, verdict, score, rules
FROM check_summaries, json_each('["' || replace(trim(rules), ' ', '","') || '"]') AS named
WHERE named.value NOT IN ('', 'no_findings');

CREATE INDEX check_summaries_address ON check_summaries (tenant, address, made_at, id);
CREATE INDEX check_summaries_reference ON check_summaries (tenant, reference, made_at, id)
    WHERE reference IS NOT NULL;
CREATE INDEX check_summaries_chain ON check_summaries (tenant, chain, made_at, id);
-- Nearly all checks are allowed.
CREATE INDEX check_summaries_verdict ON check_summaries (tenant, verdict, made_at, id)
    WHERE verdict <> 'allow';
-- By age they are purged.
CREATE INDEX check_rules_time ON check_rules (tenant, made_at);

-- What was fetched of single addresses and transactions on demand. It can be fetched again at any time.
CREATE TABLE fetched (
    chain      text   NOT NULL,
    kind       text   NOT NULL CHECK (kind IN ('transaction', 'history', 'spends')),
    key        text   NOT NULL,
    content    text   NOT NULL, -- JSON
    fetched_at bigint NOT NULL,
    PRIMARY KEY (chain, kind, key)
);

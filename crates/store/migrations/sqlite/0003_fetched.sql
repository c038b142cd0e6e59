-- What was fetched of single addresses and transactions on demand. It can be fetched again at any time.
CREATE TABLE fetched (
    chain      TEXT    NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('transaction', 'history', 'spends')),
    key        TEXT    NOT NULL,
    content    TEXT    NOT NULL, -- JSON
    fetched_at INTEGER NOT NULL,
    PRIMARY KEY (chain, kind, key)
) WITHOUT ROWID;

-- Counts every change of prices.
ALTER TABLE installation ADD COLUMN price_generation INTEGER NOT NULL DEFAULT 0;

-- Sources of prices. Prices are no evidence: these sources are not among `sources`.
CREATE TABLE price_sources (
    id            TEXT    PRIMARY KEY,
    sample        INTEGER NOT NULL CHECK (sample IN (0, 1)),
    fetched_at    INTEGER NOT NULL, -- when the newest import was last obtained or confirmed
    url           TEXT,             -- where it was last fetched from
    etag          TEXT,
    last_modified TEXT,
    digest        TEXT    NOT NULL, -- SHA-256 of the content of the newest import
    file_digest   TEXT    NOT NULL, -- SHA-256 of the file as it came
    format        TEXT    NOT NULL,
    origin        TEXT    NOT NULL,
    entries       INTEGER NOT NULL, -- prices in the newest import
    newest_day    TEXT    NOT NULL, -- newest day in the newest import
    imported_at   INTEGER NOT NULL
);

-- One price for each asset and day (UTC): that of the latest import.
CREATE TABLE prices (
    asset       TEXT    NOT NULL, -- chain and asset, such as eth/native
    day         TEXT    NOT NULL,
    usd         TEXT    NOT NULL, -- decimal number of US dollars for one whole unit
    source      TEXT    NOT NULL REFERENCES price_sources (id),
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (asset, day)
) WITHOUT ROWID;

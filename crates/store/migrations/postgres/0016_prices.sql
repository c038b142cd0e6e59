-- Counts every change of prices.
ALTER TABLE installation ADD COLUMN price_generation bigint NOT NULL DEFAULT 0;

-- Sources of prices. Prices are no evidence: these sources are not among `sources`.
CREATE TABLE price_sources (
    id            text    COLLATE "C" PRIMARY KEY,
    sample        boolean NOT NULL,
    fetched_at    bigint  NOT NULL, -- when the newest import was last obtained or confirmed
    url           text,             -- where it was last fetched from
    etag          text,
    last_modified text,
    digest        text    NOT NULL, -- SHA-256 of the content of the newest import
    file_digest   text    NOT NULL, -- SHA-256 of the file as it came
    format        text    NOT NULL,
    origin        text    NOT NULL,
    entries       bigint  NOT NULL, -- prices in the newest import
    newest_day    text    COLLATE "C" NOT NULL, -- newest day in the newest import
    imported_at   bigint  NOT NULL
);

-- One price for each asset and day (UTC): that of the latest import.
CREATE TABLE prices (
    asset       text   COLLATE "C" NOT NULL, -- chain and asset, such as eth/native
    day         text   COLLATE "C" NOT NULL,
    usd         text   NOT NULL,             -- decimal number of US dollars for one whole unit
    source      text   COLLATE "C" NOT NULL REFERENCES price_sources (id),
    recorded_at bigint NOT NULL,
    PRIMARY KEY (asset, day)
);

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (16, 'expand', 15);

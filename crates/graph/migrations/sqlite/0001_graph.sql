-- A chain. Transactions and holders are numbered from 0 in the order of the chain; within a
-- transaction, holders are numbered as they appear among its inputs, then among its outputs.
-- Amounts are in base units, times in milliseconds since 1970.

CREATE TABLE graph (
    id                 INTEGER PRIMARY KEY CHECK (id = 1),
    chain              TEXT    NOT NULL,
    start              INTEGER NOT NULL, -- the height of the first block
    sample             INTEGER NOT NULL, -- whether it is made up
    tip                INTEGER,          -- the height of the newest block; NULL: there is none
    verified_at        INTEGER,          -- when the tip was last confirmed
    next_tx            INTEGER NOT NULL,
    next_holder        INTEGER NOT NULL,
    reorganisable_from INTEGER NOT NULL, -- the lowest height that can be taken back
    indexed            INTEGER NOT NULL  -- whether the indexes for reading were built
);

CREATE TABLE block (
    height       INTEGER PRIMARY KEY,
    hash         BLOB    NOT NULL,
    parent       BLOB    NOT NULL,
    time         INTEGER NOT NULL,
    first_tx     INTEGER NOT NULL, -- its first transaction's number
    first_holder INTEGER NOT NULL  -- the number of the first holder who is new in it
);

CREATE TABLE tx (
    tx_id        INTEGER PRIMARY KEY,
    height       INTEGER NOT NULL,
    txid         BLOB    NOT NULL, -- as it is written; not unique (BIP 30), the newest counts
    kind         INTEGER NOT NULL, -- 0 payment, 1 coinbase, 2 and more: kinds of CoinJoin
    inputs       INTEGER NOT NULL,
    outputs      INTEGER NOT NULL,
    input_total  INTEGER NOT NULL, -- unknown included
    output_total INTEGER NOT NULL,
    unknown      INTEGER NOT NULL  -- what the inputs of unknown value are worth together
);

CREATE INDEX tx_by_txid ON tx (txid);

CREATE TABLE output (
    tx_id     INTEGER NOT NULL,
    place     INTEGER NOT NULL,
    holder_id INTEGER NOT NULL,
    value     INTEGER NOT NULL,
    PRIMARY KEY (tx_id, place)
) WITHOUT ROWID;

-- What is spent is an output of a recorded transaction (prev_tx_id) or of another one (prev_txid), or
-- it came out of a pool (neither).
CREATE TABLE input (
    tx_id      INTEGER NOT NULL,
    place      INTEGER NOT NULL,
    holder_id  INTEGER, -- NULL, as its value: not known
    value      INTEGER,
    prev_tx_id INTEGER,
    prev_index INTEGER,
    prev_txid  BLOB,
    PRIMARY KEY (tx_id, place)
) WITHOUT ROWID;

-- Sums are 16 bytes, the most significant first: they may be larger than an integer here.
CREATE TABLE holder (
    holder_id        INTEGER PRIMARY KEY,
    key              BLOB    NOT NULL UNIQUE,
    first_seen       INTEGER NOT NULL,
    last_seen        INTEGER NOT NULL,
    transactions_in  INTEGER NOT NULL,
    transactions_out INTEGER NOT NULL,
    received         BLOB    NOT NULL,
    sent             BLOB    NOT NULL
);

-- What a holder had done before a block in which it did something; for blocks that can be taken back.
CREATE TABLE undo (
    height           INTEGER NOT NULL,
    holder_id        INTEGER NOT NULL,
    first_seen       INTEGER NOT NULL,
    last_seen        INTEGER NOT NULL,
    transactions_in  INTEGER NOT NULL,
    transactions_out INTEGER NOT NULL,
    received         BLOB    NOT NULL,
    sent             BLOB    NOT NULL,
    PRIMARY KEY (height, holder_id)
) WITHOUT ROWID;

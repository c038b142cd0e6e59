-- A chain. Transactions and holders are numbered from 0 in the order of the chain; within a
-- transaction, holders are numbered as they appear among its inputs, then among its outputs.
-- Amounts are in base units, times in milliseconds since 1970. Names without a schema are those of the
-- chain's own.

CREATE TABLE graph (
    id                 smallint PRIMARY KEY CHECK (id = 1),
    chain              text     NOT NULL,
    start              bigint   NOT NULL, -- the height of the first block
    sample             boolean  NOT NULL, -- whether it is made up
    tip                bigint,            -- the height of the newest block; NULL: there is none
    verified_at        bigint,            -- when the tip was last confirmed
    next_tx            bigint   NOT NULL,
    next_holder        bigint   NOT NULL,
    reorganisable_from bigint   NOT NULL, -- the lowest height that can be taken back
    indexed            boolean  NOT NULL  -- whether the indexes for reading were built
);

CREATE TABLE block (
    height       bigint PRIMARY KEY,
    time         bigint NOT NULL,
    first_tx     bigint NOT NULL, -- its first transaction's number
    first_holder bigint NOT NULL, -- the number of the first holder who is new in it
    hash         bytea  NOT NULL,
    parent       bytea  NOT NULL
);

CREATE TABLE tx (
    tx_id        bigint   PRIMARY KEY,
    height       bigint   NOT NULL,
    input_total  bigint   NOT NULL, -- unknown included
    output_total bigint   NOT NULL,
    unknown      bigint   NOT NULL, -- what the inputs of unknown value are worth together
    inputs       integer  NOT NULL,
    outputs      integer  NOT NULL,
    kind         smallint NOT NULL, -- 0 payment, 1 coinbase, 2 and more: kinds of CoinJoin
    txid         bytea    NOT NULL  -- as it is written; not unique (BIP 30), the newest counts
);

CREATE INDEX tx_by_txid ON tx (txid);

CREATE TABLE output (
    tx_id     bigint  NOT NULL,
    holder_id bigint  NOT NULL,
    value     bigint  NOT NULL,
    place     integer NOT NULL,
    PRIMARY KEY (tx_id, place)
);

-- What is spent is an output of a recorded transaction (prev_tx_id) or of another one (prev_txid), or
-- it came out of a pool (neither).
CREATE TABLE input (
    tx_id      bigint  NOT NULL,
    holder_id  bigint, -- NULL, as its value: not known
    value      bigint,
    prev_tx_id bigint,
    place      integer NOT NULL,
    prev_index integer, -- 32 bits without a sign, in a type with one
    prev_txid  bytea,
    PRIMARY KEY (tx_id, place)
);

-- Room in every page, so that a row that changes stays where it is.
CREATE TABLE holder (
    holder_id        bigint PRIMARY KEY,
    first_seen       bigint NOT NULL,
    last_seen        bigint NOT NULL,
    transactions_in  bigint NOT NULL,
    transactions_out bigint NOT NULL,
    received         numeric(39, 0) NOT NULL,
    sent             numeric(39, 0) NOT NULL,
    key              bytea  NOT NULL UNIQUE
) WITH (fillfactor = 85);

-- What a holder had done before a block in which it did something; for blocks that can be taken back.
CREATE TABLE undo (
    height           bigint NOT NULL,
    holder_id        bigint NOT NULL,
    first_seen       bigint NOT NULL,
    last_seen        bigint NOT NULL,
    transactions_in  bigint NOT NULL,
    transactions_out bigint NOT NULL,
    received         numeric(39, 0) NOT NULL,
    sent             numeric(39, 0) NOT NULL,
    PRIMARY KEY (height, holder_id)
);

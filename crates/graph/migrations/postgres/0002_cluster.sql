-- Clusters: a forest of holders that co-spends connect. Rows are only appended; a rollback deletes those of
-- its transactions. A graph that was recorded without them is ingested again.

-- Two clusters that a transaction joined: the root of the smaller one is the child from then on.
CREATE TABLE cluster_link (
    child_id         bigint  PRIMARY KEY,
    parent_id        bigint  NOT NULL,
    tx_id            bigint  NOT NULL,
    size             bigint  NOT NULL, -- members of the joined cluster
    smallest_id      bigint  NOT NULL, -- its smallest member, which identifies it
    child_member_id  bigint  NOT NULL, -- an input's holder in the child's cluster
    parent_member_id bigint  NOT NULL, -- an input's holder in the parent's cluster
    conclusive       boolean NOT NULL  -- whether the transaction cannot have several parties
);

-- A root's newest link has its cluster's size.
CREATE UNIQUE INDEX cluster_link_by_parent ON cluster_link (parent_id, size);
-- In the order of the chain, so that a rollback finds them.
CREATE INDEX cluster_link_by_tx ON cluster_link (tx_id);

-- The second transaction that spends members of both clusters of a link together, where the first one may have
-- several parties.
CREATE TABLE cluster_confirmation (
    child_id         bigint PRIMARY KEY,
    tx_id            bigint NOT NULL,
    child_member_id  bigint NOT NULL,
    parent_member_id bigint NOT NULL
);

CREATE INDEX cluster_confirmation_by_tx ON cluster_confirmation (tx_id);

-- The installation of a cluster that the data belongs to. The operator writes its name once, at its first start on
-- the database, and an operator of another name refuses the database. NULL: no operator has used it.
ALTER TABLE installation ADD COLUMN instance text CHECK (instance <> '');

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (15, 'expand', 13);

-- The environment in which a key is valid. Keys were of the installation's data before there was a sandbox.
ALTER TABLE api_keys ADD COLUMN environment TEXT NOT NULL DEFAULT 'live'
    CHECK (environment IN ('live', 'sample', 'sandbox'));

UPDATE api_keys SET environment = 'sample' WHERE (SELECT environment FROM installation) = 'sample';

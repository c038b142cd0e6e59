-- The environment in which a key is valid. Keys were of the installation's data before there was a sandbox.
ALTER TABLE api_keys ADD COLUMN environment text COLLATE "C" NOT NULL DEFAULT 'live'
    CHECK (environment IN ('live', 'sample', 'sandbox'));

UPDATE api_keys SET environment = 'sample' FROM installation WHERE installation.environment = 'sample';

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (20, 'expand', 15);

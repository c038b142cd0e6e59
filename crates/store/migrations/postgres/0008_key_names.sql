-- The operator asks for an object's keys by their name, for each object: as many times as there are keys.
CREATE INDEX api_keys_name ON api_keys (name);

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (8, 'expand', 1);

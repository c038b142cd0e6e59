-- A revoked key stays revoked. The grants let the serving role end a key, and a statement that takes the
-- revocation back changes the same column. A trigger refuses it to every role, the tables' owner included,
-- which alone can switch the trigger off, as a migration may. A revoked key does not become another key
-- either; only the time of its last use, its scopes and its expiry time still change.
CREATE FUNCTION keep_revoked() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION 'the API key % is revoked and stays revoked', OLD.id
        USING ERRCODE = 'insufficient_privilege', HINT = 'create a new key';
END
$$;

CREATE TRIGGER keep_revoked BEFORE UPDATE ON api_keys
    FOR EACH ROW
    WHEN (OLD.revoked_at IS NOT NULL
          AND (NEW.revoked_at, NEW.id, NEW.tenant, NEW.hash, NEW.created_at)
              IS DISTINCT FROM (OLD.revoked_at, OLD.id, OLD.tenant, OLD.hash, OLD.created_at))
    EXECUTE FUNCTION keep_revoked();

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (14, 'expand', 13);

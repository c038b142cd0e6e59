-- Manifests and keys have revisions of their own, so that a new key does not make every server read every
-- manifest. `control_revision` goes on counting changes of both; the new columns count how many of them were
-- changes of manifests only, or of keys only:
--
--   revision of manifests = control_revision - key_changes
--   revision of keys      = control_revision - manifest_changes
--
-- A change by an older program counts in `control_revision` only, and so moves both.
ALTER TABLE installation ADD COLUMN manifest_changes bigint NOT NULL DEFAULT 0;
ALTER TABLE installation ADD COLUMN key_changes bigint NOT NULL DEFAULT 0;

-- The notification names the part that changed. Older programs read all revisions, whatever it says.
CREATE OR REPLACE FUNCTION tell_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    manifests bigint := NEW.control_revision - NEW.key_changes;
    keys bigint := NEW.control_revision - NEW.manifest_changes;
BEGIN
    IF manifests <> OLD.control_revision - OLD.key_changes THEN
        PERFORM pg_notify('assay', 'manifests ' || manifests);
    END IF;
    IF keys <> OLD.control_revision - OLD.manifest_changes THEN
        PERFORM pg_notify('assay', 'keys ' || keys);
    END IF;
    IF NEW.intel_generation <> OLD.intel_generation THEN
        PERFORM pg_notify('assay', 'intel ' || NEW.intel_generation);
    END IF;
    RETURN NULL;
END
$$;

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (11, 'expand', 9);

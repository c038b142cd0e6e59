-- Manifests and keys have revisions of their own, so that a new key does not make the server read every
-- manifest. `control_revision` goes on counting changes of both; the new columns count how many of them were
-- changes of manifests only, or of keys only:
--
--   revision of manifests = control_revision - key_changes
--   revision of keys      = control_revision - manifest_changes
ALTER TABLE installation ADD COLUMN manifest_changes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE installation ADD COLUMN key_changes INTEGER NOT NULL DEFAULT 0;

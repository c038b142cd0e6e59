-- What each migration means for programs that do not know it. From here on a migration adds its own row:
--
--   expand    adds what older programs do without: `compatible_from` is an older version
--   contract  takes away or changes what older programs rely on: `compatible_from` is the version whose
--             programs do without, which was released before
--
-- A program that knows migrations up to K works with a newer schema if every migration that it does not
-- know is compatible from K or less, and refuses it otherwise.
CREATE TABLE schema_versions (
    version         bigint PRIMARY KEY,
    kind            text   NOT NULL CHECK (kind IN ('expand', 'contract')),
    compatible_from bigint NOT NULL CHECK (compatible_from <= version)
);

INSERT INTO schema_versions (version, kind, compatible_from)
VALUES (1, 'expand', 1), (2, 'expand', 1), (3, 'expand', 1);

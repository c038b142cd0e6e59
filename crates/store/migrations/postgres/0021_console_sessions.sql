-- Sessions of people in the console. Distributed by `tenant`.
CREATE TABLE console_sessions (
    tenant     text   COLLATE "C" NOT NULL,
    digest     text   COLLATE "C" NOT NULL, -- SHA-256 of the session's token
    actor_kind text   COLLATE "C" NOT NULL, -- `key` or `person`
    actor      text   COLLATE "C" NOT NULL, -- identifier of the key or of the person
    role       text   COLLATE "C" NOT NULL, -- `viewer`, `analyst` or `admin`
    person     text   NOT NULL, -- the name that the issuer tells; empty if none is known
    authority  text   COLLATE "C" NOT NULL, -- digest of issuer, client and role mapping; empty for a link
    began_at   bigint NOT NULL,
    used_at    bigint NOT NULL,
    PRIMARY KEY (tenant, digest)
);

CREATE INDEX console_sessions_by_use ON console_sessions (tenant, used_at);

ALTER TABLE console_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE console_sessions FORCE ROW LEVEL SECURITY;

CREATE POLICY read_console_sessions ON console_sessions FOR SELECT USING (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY begin_console_sessions ON console_sessions FOR INSERT WITH CHECK (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY use_console_sessions ON console_sessions FOR UPDATE USING (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY end_console_sessions ON console_sessions FOR DELETE USING (
    tenant = current_setting('assay.tenant', true));

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (21, 'expand', 15);

-- Sessions of people in the console.
CREATE TABLE console_sessions (
    tenant     TEXT    NOT NULL,
    digest     TEXT    NOT NULL, -- SHA-256 of the session's token
    actor_kind TEXT    NOT NULL, -- `key` or `person`
    actor      TEXT    NOT NULL, -- identifier of the key or of the person
    role       TEXT    NOT NULL, -- `viewer`, `analyst` or `admin`
    person     TEXT    NOT NULL, -- the name that the issuer tells; empty if none is known
    authority  TEXT    NOT NULL, -- digest of issuer, client and role mapping; empty for a link
    began_at   INTEGER NOT NULL,
    used_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant, digest)
) WITHOUT ROWID;

CREATE INDEX console_sessions_by_use ON console_sessions (tenant, used_at);

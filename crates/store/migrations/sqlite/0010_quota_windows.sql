-- Use of long windows of limits, which a restart does not forget. A window's number is the time divided by its length.
CREATE TABLE quota_windows (
    payer          TEXT    NOT NULL, -- whose counter it is: a plan, a tenant or a key
    limit_name     TEXT    NOT NULL,
    window_seconds INTEGER NOT NULL CHECK (window_seconds > 0),
    window_number  INTEGER NOT NULL,
    allowed        INTEGER NOT NULL, -- 0: the server that counts knows the limit
    reserved       INTEGER NOT NULL CHECK (reserved >= 0),
    granted        INTEGER NOT NULL,
    PRIMARY KEY (payer, limit_name, window_seconds, window_number)
) WITHOUT ROWID;

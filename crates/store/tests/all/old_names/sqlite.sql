-- A database file that the program before the renaming of 2026-11-22 made, as SQL.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(1,'installation','2026-11-23 00:16:35',1,X'1AE0AD97408D0EC5549F6734F444848C691954EF83B4421EED71CAEAB8F1326BD6229FB23F94778B307D9D2C3C167EB3',986921);
INSERT INTO "_sqlx_migrations" VALUES(2,'labels, usage, checks','2026-11-23 00:16:35',1,X'2B470383BB2547F161E015AA652B7A3B562D03404C6151B67403EF79B62E210C59AFB84454CC8F01D8EC61DF5B467F6D',1533545);
INSERT INTO "_sqlx_migrations" VALUES(3,'fetched','2026-11-23 00:16:35',1,X'662EF269F9E60DBF9F80800AEED9DE778E86F673C0E2701F453AA63D0BAE5089807E02D3D5E51DDE55812E1F4F2A2BA3',406916);
INSERT INTO "_sqlx_migrations" VALUES(4,'usage writers','2026-11-23 00:16:35',1,X'3A4FCDF84C73508C731ADB98BACA9DC9002BF6E8A999920A4F3D5AE7FFF96AF8BFD34948A64D69F3A8511B913251E726',371674);
CREATE TABLE api_keys (
    id           TEXT    PRIMARY KEY,
    tenant       TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL CHECK (length(hash) = 32), -- SHA-256; the key itself is never kept
    scopes       TEXT    NOT NULL, -- JSON
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
);
INSERT INTO "api_keys" VALUES('L3FeVVlpN5V','acme','',X'8E7FA5451D3E73F27CB9FFB804F718BF07DECC8609E0AFEB94AA84420754C9AC','["check","screen","usage"]',1795392995252,NULL,NULL,1795392996720);
CREATE TABLE checks (
    id      TEXT    PRIMARY KEY,
    tenant  TEXT    NOT NULL,
    made_at INTEGER NOT NULL,
    answer  TEXT    NOT NULL  -- JSON
) WITHOUT ROWID;
INSERT INTO "checks" VALUES('01a205c3-0570-7a98-951a-8ee8950cd7a1','acme',1795392996720,'{"check_id":"01a205c3-0570-7a98-951a-8ee8950cd7a1","reference":null,"direction":null,"address_submitted":"TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq","blockchain":"trx","address":"TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq","risk_score":85,"risk_level":"severe","verdict":"block","final":true,"reasons":[{"code":"labelled","message":"labelled issuer_frozen (Frozen) by own-labels"}],"entity":{"id":"own-labels:Frozen","name":"Frozen","category":"issuer_frozen","is_vasp":null,"country":null},"labels":[{"category":"issuer_frozen","entity":"Frozen","tier":"cryptographic","confidence":100,"source":"own-labels","upstream":"own-labels","author":null,"term":"issuer_frozen","reason":null,"reference":null,"valid_from":null,"valid_until":null,"status":"in_force"}],"conflicts":[],"sanctions":[],"scoring_components":[{"kind":"ownership","contribution":85,"worth":85,"detail":"labelled issuer_frozen: Frozen","category":"issuer_frozen","entity":"Frozen","tier":"cryptographic","severity":85,"confidence":100,"direction":null,"hops":null,"share":null,"amount":null,"source":"own-labels","evidence":[{"kind":"label","reference":"own-labels (own-labels)"}]}],"exposure":[],"associated_wallets":[],"transaction_patterns":[],"activity":{"status":"not_assessed","first_seen":null,"last_seen":null,"counts":null,"in":[],"out":[],"balance":[]},"warnings":[],"coverage":{"sanctions":{"status":"assessed","detail":"own-list"},"labels":{"status":"assessed","detail":"1 label source"},"association":{"status":"partial","detail":"the same key on other chains; no co-spend clusters"},"exposure":{"status":"not_assessed","detail":"no source follows this chain"},"behaviour":{"status":"not_assessed","detail":"no source follows this chain"}},"sources":[{"id":"own-labels","kind":"labels","lists":[],"published_at":"2026-11-23","fetched_at":"2026-11-23T00:16:35.18Z","digest":"a52af026939ee1be3b9a9f94767866ed2db27098be0f380d55cb66562a25aeb1","entries":3,"mandatory":false,"stale":false,"sample":false,"tip":null},{"id":"own-list","kind":"sanctions","lists":["own-list"],"published_at":"2026-11-20","fetched_at":"2026-11-23T00:16:35.079Z","digest":"8b1521f1ea78ca170562e9a8cfc465d1a2f49d3931f1ca3d3d3fd65a4d82b260","entries":1,"mandatory":true,"stale":false,"sample":false,"tip":null}],"assurance":"lists_only","environment":"production","data_revision":"2-e8f9c2680ded","model_version":"1.1","policy_revision":"3aa47324d538b038","assessed_at":"2026-11-23T00:16:36.72Z","assessment_digest":"sha256:94b4a85ff276ae19dc9d24417b27be591c42b2862ba70b21284394064dc13ab4","cached":false,"processing_time_ms":0.442}');
CREATE TABLE fetched (
    chain      TEXT    NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('transaction', 'history', 'spends')),
    key        TEXT    NOT NULL,
    content    TEXT    NOT NULL, -- JSON
    fetched_at INTEGER NOT NULL,
    PRIMARY KEY (chain, kind, key)
) WITHOUT ROWID;
CREATE TABLE installation (
    id               INTEGER PRIMARY KEY CHECK (id = 1),
    environment      TEXT    NOT NULL CHECK (environment IN ('production', 'sample')),
    intel_generation INTEGER NOT NULL, -- counts every change of sources, listings and labels
    data_number      INTEGER NOT NULL, -- counts changes of what they say
    data_hash        TEXT    NOT NULL, -- chains the digests of all that was imported, in order
    control_revision INTEGER NOT NULL  -- counts every change of manifests and keys
, label_generation INTEGER NOT NULL DEFAULT 0);
INSERT INTO "installation" VALUES(1,'production',2,2,'e8f9c2680ded943c7ab7cf8ec53c94c92c64647e7cf22cc6e2484eba7287cf69',3,1);
CREATE TABLE label_suppressions (
    id            INTEGER PRIMARY KEY,
    source        TEXT    NOT NULL,
    chain         TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    category      TEXT,             -- NULL: whatever the source says the address is
    author        TEXT    NOT NULL,
    reason        TEXT    NOT NULL,
    suppressed_at INTEGER NOT NULL,
    lifted_at     INTEGER           -- when somebody took the withdrawal back
);
CREATE TABLE labels (
    id            INTEGER PRIMARY KEY,
    source        TEXT    NOT NULL REFERENCES sources (id),
    chain         TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    category      TEXT    NOT NULL,
    entity        TEXT,
    tier          TEXT    NOT NULL,
    confidence    INTEGER NOT NULL CHECK (confidence BETWEEN 0 AND 100),
    upstream      TEXT    NOT NULL,
    cites_list    TEXT,
    reason        TEXT,
    valid_from    TEXT,
    valid_until   TEXT,
    recorded_from INTEGER NOT NULL,
    recorded_to   INTEGER
, author TEXT, term TEXT, reference TEXT, fingerprint BLOB);
INSERT INTO "labels" VALUES(1,'own-labels','trx','TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq','issuer_frozen','Frozen','cryptographic',100,'own-labels',NULL,NULL,NULL,NULL,1795392995180,NULL,NULL,'issuer_frozen',NULL,X'99CE32B357A5418AE73D9AC860B9CDF1');
INSERT INTO "labels" VALUES(2,'own-labels','btc','12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h','exchange','Some Exchange','investigation',80,'own-labels',NULL,NULL,NULL,NULL,1795392995180,NULL,NULL,'exchange',NULL,X'42DA44932AEE1E01E0AD213802FE6F4F');
INSERT INTO "labels" VALUES(3,'own-labels','btc','1BoatSLRHtKNngkdXEeobR76b53LETtpyT','scam','A scam','behaviour',60,'own-labels',NULL,NULL,NULL,NULL,1795392995180,NULL,NULL,'scam',NULL,X'5296CC75461CCC6CE5846BEEF1CB939A');
CREATE TABLE listings (
    id                   INTEGER PRIMARY KEY,
    source               TEXT    NOT NULL REFERENCES sources (id),
    list                 TEXT    NOT NULL,
    list_name            TEXT    NOT NULL,
    entity_id            TEXT    NOT NULL,
    entity               TEXT    NOT NULL, -- JSON
    asset_code           TEXT    NOT NULL,
    address_as_published TEXT    NOT NULL,
    address_remarks      TEXT,
    expires_on           TEXT,
    present_from         INTEGER NOT NULL REFERENCES publications (id), -- first that held it
    absent_from          INTEGER REFERENCES publications (id),          -- first after that without it
    recorded_from        INTEGER NOT NULL,
    recorded_to          INTEGER
);
INSERT INTO "listings" VALUES(1,'own-list','own-list','own-list','1','{"id":"1","name":"DOE, Jane","aliases":[],"programmes":["CYBER2","SDNTK"],"remarks":null,"listed_on":null}','XBT','1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',NULL,NULL,1,NULL,1795392995079,NULL);
CREATE TABLE manifests (
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    spec       TEXT    NOT NULL, -- JSON
    applied_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
);
INSERT INTO "manifests" VALUES('Plan','business','{"displayName":"Business","apiAccess":true,"cacheLifetime":"5m","retention":{"checks":"30d","usage":"400d"},"screenRows":100000,"limits":[{"name":"burst","requests":20,"window":"1s","counts":"requests","ceiling":100},{"name":"minute","requests":600,"window":"1m","counts":"requests","ceiling":3000},{"name":"daily","requests":100000,"window":"1d","counts":"checks","ceiling":1000000}]}',1795392995154);
INSERT INTO "manifests" VALUES('Plan','enterprise','{"displayName":"Enterprise","apiAccess":true,"cacheLifetime":"5m","retention":{"checks":"365d","usage":"1100d"},"screenRows":1000000,"limits":[{"name":"burst","requests":200,"window":"1s","counts":"requests","ceiling":2000},{"name":"minute","requests":6000,"window":"1m","counts":"requests","ceiling":60000},{"name":"daily","requests":2000000,"window":"1d","counts":"checks","ceiling":20000000}]}',1795392995154);
INSERT INTO "manifests" VALUES('IntelSource','ofac-sdn','{"location":"https://www.treasury.gov/ofac/downloads/sanctions/1.0/sdn_advanced.xml","format":"ofac-advanced","lists":["ofac-sdn"],"schedule":"17 */6 * * *"}',1795392995154);
INSERT INTO "manifests" VALUES('RiskPolicy','default','{"thresholds":{"medium":25,"high":50,"severe":75,"review":50,"block":75},"halfLifeHops":2.4,"tierCaps":{"investigation":95,"community":69.9,"heuristic":59.9,"behaviour":49.9},"lists":{},"mandatorySources":[{"name":"ofac-sdn","maximumAgeHours":48}],"flowsRequired":false,"floors":{"graveFrom":90,"graveSharePercent":10},"amounts":{"USD":{"curve":[{"amount":10000,"worth":25},{"amount":100000,"worth":50},{"amount":1000000,"worth":75},{"amount":10000000,"worth":100}],"unsolicitedUpTo":1000,"cutBelow":1000},"BTC":{"curve":[{"amount":"0.1","worth":25},{"amount":1,"worth":50},{"amount":10,"worth":75},{"amount":100,"worth":100}],"unsolicitedUpTo":"0.01","cutBelow":"0.01"},"LTC":{"curve":[{"amount":100,"worth":25},{"amount":1000,"worth":50},{"amount":10000,"worth":75},{"amount":100000,"worth":100}],"unsolicitedUpTo":10,"cutBelow":10},"BCH":{"curve":[{"amount":20,"worth":25},{"amount":200,"worth":50},{"amount":2000,"worth":75},{"amount":20000,"worth":100}],"unsolicitedUpTo":2,"cutBelow":2},"DOGE":{"curve":[{"amount":50000,"worth":25},{"amount":500000,"worth":50},{"amount":5000000,"worth":75},{"amount":50000000,"worth":100}],"unsolicitedUpTo":5000,"cutBelow":5000},"DASH":{"curve":[{"amount":200,"worth":25},{"amount":2000,"worth":50},{"amount":20000,"worth":75},{"amount":200000,"worth":100}],"unsolicitedUpTo":20,"cutBelow":20},"ZEC":{"curve":[{"amount":100,"worth":25},{"amount":1000,"worth":50},{"amount":10000,"worth":75},{"amount":100000,"worth":100}],"unsolicitedUpTo":10,"cutBelow":10}},"trace":{"hops":6,"cutShare":1000,"addressesPerLevel":256,"transfersPerAddress":2000}}',1795392995154);
INSERT INTO "manifests" VALUES('Plan','gold','{"displayName":"Gold \"floorShare\": x","apiAccess":true,"screenRows":500,"onStoreLoss":"closed","floorShare":20,"trace":{"hops":4,"addressesPerLevel":100},"limits":[{"name":"burst","requests":10,"window":"1s","counts":"requests"}]}',1795392995213);
INSERT INTO "manifests" VALUES('ChainSource','node','{"chain":"ltc","mode":"on_demand","protocol":"esplora","endpoint":"http://127.0.0.1:1","timeBound":"3s","testNetwork":true,"suspended":true}',1795392995213);
INSERT INTO "manifests" VALUES('RiskPolicy','strict','{"severities":{"mixer":80},"tierCaps":{"behaviour":40},"lists":{"own-list":"binding","other-list":"informative"},"mandatorySources":[{"name":"own-list","maximumAgeHours":80000}],"floors":{"graveFrom":85,"graveSharePercent":20},"amounts":{"BTC":{"curve":[{"amount":"0.1","worth":25},{"amount":1,"worth":50}],"unsolicitedUpTo":"0.01","cutBelow":"0.005"}},"trace":{"hops":5,"cutShare":2000,"addressesPerLevel":50}}',1795392995213);
INSERT INTO "manifests" VALUES('Tenant','acme','{"displayName":"Acme","plan":"gold","policy":"strict"}',1795392995213);
INSERT INTO "manifests" VALUES('FormerTenant','gone','{"leftAt":"2026-11-01T00:00:00Z","retention":{"checks":"30d","usage":"400d"}}',0);
CREATE TABLE publications (
    id           INTEGER PRIMARY KEY,
    source       TEXT    NOT NULL REFERENCES sources (id),
    ordinal      INTEGER NOT NULL,   -- order of import within the source
    published_on TEXT    NOT NULL,
    digest       TEXT    NOT NULL,   -- SHA-256 of the content
    file_digest  TEXT    NOT NULL,   -- SHA-256 of the file as it came
    format       TEXT    NOT NULL,
    origin       TEXT    NOT NULL,
    entries      INTEGER NOT NULL,
    imported_at  INTEGER NOT NULL,
    report       TEXT    NOT NULL,   -- JSON
    UNIQUE (source, ordinal)
);
INSERT INTO "publications" VALUES(1,'own-list',0,'2026-11-20','8b1521f1ea78ca170562e9a8cfc465d1a2f49d3931f1ca3d3d3fd65a4d82b260','8b1521f1ea78ca170562e9a8cfc465d1a2f49d3931f1ca3d3d3fd65a4d82b260','csv','list.csv',1,1795392995079,'{"added":[{"list":"own-list","entity_id":"1","entity":"DOE, Jane","asset_code":"XBT","address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}],"removed":[],"updated":0,"unchanged":0,"rejected":[],"invalid":[],"unsupported":{}}');
INSERT INTO "publications" VALUES(2,'own-labels',0,'2026-11-23','a52af026939ee1be3b9a9f94767866ed2db27098be0f380d55cb66562a25aeb1','a52af026939ee1be3b9a9f94767866ed2db27098be0f380d55cb66562a25aeb1','csv','labels.csv',3,1795392995180,'{"files":1,"rejected":[],"unknown_terms":{},"unsupported":{}}');
CREATE TABLE sources (
    id            TEXT    PRIMARY KEY,
    kind          TEXT    NOT NULL CHECK (kind IN ('sanctions', 'labels')),
    sample        INTEGER NOT NULL CHECK (sample IN (0, 1)),
    fetched_at    INTEGER NOT NULL, -- when the newest publication was last obtained or confirmed
    url           TEXT,             -- where it was last fetched from
    etag          TEXT,
    last_modified TEXT
);
INSERT INTO "sources" VALUES('own-list','sanctions',0,1795392995079,NULL,NULL,NULL);
INSERT INTO "sources" VALUES('own-labels','labels',0,1795392995180,NULL,NULL,NULL);
CREATE TABLE usage (
    tenant    TEXT    NOT NULL,
    key_id    TEXT    NOT NULL,
    plan      TEXT    NOT NULL,
    day       TEXT    NOT NULL, -- UTC
    operation TEXT    NOT NULL, -- check, screen
    outcome   TEXT    NOT NULL, -- the verdict
    count     INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, key_id, plan, operation, outcome)
) WITHOUT ROWID;
INSERT INTO "usage" VALUES('acme','L3FeVVlpN5V','gold','2026-11-23','check','block',1);
CREATE TABLE usage_writers (
    writer     TEXT    PRIMARY KEY, -- a program's own name for its life
    batch      INTEGER NOT NULL,
    written_at INTEGER NOT NULL     -- by the program's clock; purged by age
) WITHOUT ROWID;
INSERT INTO "usage_writers" VALUES('fe692d44a423d15c982cfa3bca334303',1,1795392997215);
CREATE INDEX listings_recorded_now ON listings (source) WHERE recorded_to IS NULL;
CREATE INDEX labels_recorded_now ON labels (chain, address) WHERE recorded_to IS NULL;
CREATE INDEX labels_of_source ON labels (source) WHERE recorded_to IS NULL;
CREATE INDEX label_suppressions_in_force ON label_suppressions (chain, address)
    WHERE lifted_at IS NULL;
CREATE INDEX checks_of_tenant ON checks (tenant, made_at);
COMMIT;

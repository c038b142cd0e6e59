-- A database that the program before the renaming of 2026-11-22 made (pg_dump --inserts): manifests, labels,
-- a listing and a kept answer in the old words.

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE FUNCTION public.tell_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    IF NEW.control_revision <> OLD.control_revision THEN
        PERFORM pg_notify('assay', 'control ' || NEW.control_revision);
    END IF;
    IF NEW.intel_generation <> OLD.intel_generation THEN
        PERFORM pg_notify('assay', 'intel ' || NEW.intel_generation);
    END IF;
    RETURN NULL;
END
$$;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE public._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);

CREATE TABLE public.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    hash bytea NOT NULL,
    scopes text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    CONSTRAINT api_keys_hash_check CHECK ((length(hash) = 32))
);

ALTER TABLE ONLY public.api_keys FORCE ROW LEVEL SECURITY;

CREATE TABLE public.checks (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    made_at bigint NOT NULL,
    answer text NOT NULL
);

ALTER TABLE ONLY public.checks FORCE ROW LEVEL SECURITY;

CREATE TABLE public.fetched (
    chain text NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    content text NOT NULL,
    fetched_at bigint NOT NULL,
    CONSTRAINT fetched_kind_check CHECK ((kind = ANY (ARRAY['transaction'::text, 'history'::text, 'spends'::text])))
);

CREATE TABLE public.installation (
    id bigint NOT NULL,
    environment text NOT NULL,
    intel_generation bigint NOT NULL,
    label_generation bigint NOT NULL,
    data_number bigint NOT NULL,
    data_hash text NOT NULL,
    control_revision bigint NOT NULL,
    CONSTRAINT installation_environment_check CHECK ((environment = ANY (ARRAY['production'::text, 'sample'::text]))),
    CONSTRAINT installation_id_check CHECK ((id = 1))
);

CREATE TABLE public.label_suppressions (
    id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    chain text NOT NULL COLLATE pg_catalog."C",
    address text NOT NULL COLLATE pg_catalog."C",
    category text COLLATE pg_catalog."C",
    author text NOT NULL,
    reason text NOT NULL,
    suppressed_at bigint NOT NULL,
    lifted_at bigint
);

ALTER TABLE public.label_suppressions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.label_suppressions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.labels (
    id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    chain text NOT NULL COLLATE pg_catalog."C",
    address text NOT NULL COLLATE pg_catalog."C",
    category text NOT NULL COLLATE pg_catalog."C",
    entity text,
    tier text NOT NULL,
    confidence bigint NOT NULL,
    upstream text NOT NULL,
    author text,
    term text,
    cites_list text,
    reason text,
    reference text,
    valid_from text COLLATE pg_catalog."C",
    valid_until text COLLATE pg_catalog."C",
    fingerprint bytea,
    recorded_from bigint NOT NULL,
    recorded_to bigint,
    CONSTRAINT labels_confidence_check CHECK (((confidence >= 0) AND (confidence <= 100)))
);

ALTER TABLE public.labels ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.labels_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.limiter_epochs_seen (
    bucket text NOT NULL COLLATE pg_catalog."C",
    first_at bigint NOT NULL
);

CREATE TABLE public.listings (
    id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    list text NOT NULL COLLATE pg_catalog."C",
    list_name text NOT NULL,
    entity_id text NOT NULL COLLATE pg_catalog."C",
    entity text NOT NULL,
    asset_code text NOT NULL COLLATE pg_catalog."C",
    address_as_published text NOT NULL COLLATE pg_catalog."C",
    address_remarks text,
    expires_on text COLLATE pg_catalog."C",
    present_from bigint NOT NULL,
    absent_from bigint,
    recorded_from bigint NOT NULL,
    recorded_to bigint
);

ALTER TABLE public.listings ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.listings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.manifests (
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    spec text NOT NULL,
    applied_at bigint NOT NULL
);

CREATE TABLE public.publications (
    id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    ordinal bigint NOT NULL,
    published_on text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL,
    file_digest text NOT NULL,
    format text NOT NULL,
    origin text NOT NULL,
    entries bigint NOT NULL,
    imported_at bigint NOT NULL,
    report text NOT NULL
);

ALTER TABLE public.publications ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.publications_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.quota_windows (
    payer text NOT NULL COLLATE pg_catalog."C",
    limit_name text NOT NULL COLLATE pg_catalog."C",
    window_seconds bigint NOT NULL,
    window_number bigint NOT NULL,
    allowed bigint NOT NULL,
    reserved bigint NOT NULL,
    granted bigint NOT NULL,
    CONSTRAINT quota_windows_reserved_check CHECK ((reserved >= 0)),
    CONSTRAINT quota_windows_window_seconds_check CHECK ((window_seconds > 0))
);

CREATE TABLE public.schema_versions (
    version bigint NOT NULL,
    kind text NOT NULL,
    compatible_from bigint NOT NULL,
    CONSTRAINT schema_versions_check CHECK ((compatible_from <= version)),
    CONSTRAINT schema_versions_kind_check CHECK ((kind = ANY (ARRAY['expand'::text, 'contract'::text])))
);

CREATE TABLE public.seats (
    number bigint NOT NULL,
    holder text COLLATE pg_catalog."C",
    claimed_at bigint,
    expires_at bigint,
    previous_expiry bigint,
    CONSTRAINT seats_check CHECK (((holder IS NULL) = (expires_at IS NULL))),
    CONSTRAINT seats_check1 CHECK (((holder IS NULL) = (claimed_at IS NULL))),
    CONSTRAINT seats_number_check CHECK ((number >= 0))
);

CREATE TABLE public.sources (
    id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    sample boolean NOT NULL,
    fetched_at bigint NOT NULL,
    url text,
    etag text,
    last_modified text,
    CONSTRAINT sources_kind_check CHECK ((kind = ANY (ARRAY['sanctions'::text, 'labels'::text])))
);

CREATE TABLE public.usage (
    tenant text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    plan text NOT NULL COLLATE pg_catalog."C",
    day text NOT NULL COLLATE pg_catalog."C",
    operation text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL
);

ALTER TABLE ONLY public.usage FORCE ROW LEVEL SECURITY;

CREATE TABLE public.usage_writers (
    writer text NOT NULL COLLATE pg_catalog."C",
    batch bigint NOT NULL,
    written_at bigint NOT NULL
);

INSERT INTO public._sqlx_migrations VALUES (1, 'installation', '2026-11-23 00:16:27.42837+00', true, '\xee9942f60deb166823c135ae6ed9fa3b4a6f9be857e5e05e1dc5ee806e91fea87f04c5a9d34b09718d5edcd52f4f0208', 229608263);
INSERT INTO public._sqlx_migrations VALUES (2, 'fetched', '2026-11-23 00:16:27.660517+00', true, '\x0ba67a33ad8472709c083290ac65a857864136781fc7c59d0debb93bfcb6c3562973912fe0355411afbd6417b9186f72', 22929804);
INSERT INTO public._sqlx_migrations VALUES (3, 'schema versions', '2026-11-23 00:16:27.68588+00', true, '\xc823c855cbf33fba29c41cf1b439fdedca113692933464dc96af18272e216270edff27c237d404f257c85f00342d4885', 8697279);
INSERT INTO public._sqlx_migrations VALUES (4, 'change feed', '2026-11-23 00:16:27.695027+00', true, '\xecc87a6501d1c4801f339d4662fa4784d8584c89d7cffb883b45e8041b9d48415d91d9196d4e3302b3c2bcde33543479', 4745981);
INSERT INTO public._sqlx_migrations VALUES (5, 'limits', '2026-11-23 00:16:27.700669+00', true, '\x0194d886cf36fb938c0aa6d87a602acd273b34ef74575e1acf99277a134941b0683feb69b28c734cba76b5f74268b96b', 21305745);
INSERT INTO public._sqlx_migrations VALUES (6, 'isolation', '2026-11-23 00:16:27.725888+00', true, '\x4f4f01f15e5f8a8de4f4e5d8510fe6d08adad509dd3b80e0c413f8db2897ff14f9cd79990e46fe37b63d777218a26f7c', 3911428);
INSERT INTO public._sqlx_migrations VALUES (7, 'usage writers', '2026-11-23 00:16:27.736419+00', true, '\x3cc7be9c4191ed36701a3d4da32e5a7525e9528e9ac304ac1c33c34885c821fd90935b98a1d8d3e3b4ed6a749e67a95c', 7666102);
INSERT INTO public._sqlx_migrations VALUES (8, 'key names', '2026-11-23 00:16:27.746804+00', true, '\xf8def95927bfb94b30cca2f64a30a4b9caaf87052b6dfb3c8b25e7a6df3ef788277e431429f2c87a87fa59d17f05701e', 7044245);

INSERT INTO public.api_keys VALUES ('8RdzXibeAvQ', 'acme', '', '\x13f4d149078dc9396ce774fa9d972f5a6c2b7183a5941886462f11e1c0e504f9', '["check","screen","usage"]', 1795392988123, NULL, NULL, 1795392989498);

INSERT INTO public.checks VALUES ('01a205c2-e93a-756d-a572-236f8ef49fd0', 'acme', 1795392989498, '{"check_id":"01a205c2-e93a-756d-a572-236f8ef49fd0","reference":null,"direction":null,"address_submitted":"TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq","blockchain":"trx","address":"TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq","risk_score":85,"risk_level":"severe","verdict":"block","final":true,"reasons":[{"code":"labelled","message":"labelled issuer_frozen (Frozen) by own-labels"}],"entity":{"id":"own-labels:Frozen","name":"Frozen","category":"issuer_frozen","is_vasp":null,"country":null},"labels":[{"category":"issuer_frozen","entity":"Frozen","tier":"cryptographic","confidence":100,"source":"own-labels","upstream":"own-labels","author":null,"term":"issuer_frozen","reason":null,"reference":null,"valid_from":null,"valid_until":null,"status":"in_force"}],"conflicts":[],"sanctions":[],"scoring_components":[{"kind":"ownership","contribution":85,"worth":85,"detail":"labelled issuer_frozen: Frozen","category":"issuer_frozen","entity":"Frozen","tier":"cryptographic","severity":85,"confidence":100,"direction":null,"hops":null,"share":null,"amount":null,"source":"own-labels","evidence":[{"kind":"label","reference":"own-labels (own-labels)"}]}],"exposure":[],"associated_wallets":[],"transaction_patterns":[],"activity":{"status":"not_assessed","first_seen":null,"last_seen":null,"counts":null,"in":[],"out":[],"balance":[]},"warnings":[],"coverage":{"sanctions":{"status":"assessed","detail":"own-list"},"labels":{"status":"assessed","detail":"1 label source"},"association":{"status":"partial","detail":"the same key on other chains; no co-spend clusters"},"exposure":{"status":"not_assessed","detail":"no source follows this chain"},"behaviour":{"status":"not_assessed","detail":"no source follows this chain"}},"sources":[{"id":"own-labels","kind":"labels","lists":[],"published_at":"2026-11-23","fetched_at":"2026-11-23T00:16:28.028Z","digest":"a52af026939ee1be3b9a9f94767866ed2db27098be0f380d55cb66562a25aeb1","entries":3,"mandatory":false,"stale":false,"sample":false,"tip":null},{"id":"own-list","kind":"sanctions","lists":["own-list"],"published_at":"2026-11-20","fetched_at":"2026-11-23T00:16:27.961Z","digest":"8b1521f1ea78ca170562e9a8cfc465d1a2f49d3931f1ca3d3d3fd65a4d82b260","entries":1,"mandatory":true,"stale":false,"sample":false,"tip":null}],"assurance":"lists_only","environment":"production","data_revision":"2-e8f9c2680ded","model_version":"1.1","policy_revision":"3aa47324d538b038","assessed_at":"2026-11-23T00:16:29.498Z","assessment_digest":"sha256:94b4a85ff276ae19dc9d24417b27be591c42b2862ba70b21284394064dc13ab4","cached":false,"processing_time_ms":1.384}');

INSERT INTO public.installation VALUES (1, 'production', 2, 1, 2, 'e8f9c2680ded943c7ab7cf8ec53c94c92c64647e7cf22cc6e2484eba7287cf69', 3);

INSERT INTO public.labels OVERRIDING SYSTEM VALUE VALUES (1, 'own-labels', 'trx', 'TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq', 'issuer_frozen', 'Frozen', 'cryptographic', 100, 'own-labels', NULL, 'issuer_frozen', NULL, NULL, NULL, NULL, NULL, '\x99ce32b357a5418ae73d9ac860b9cdf1', 1795392988028, NULL);
INSERT INTO public.labels OVERRIDING SYSTEM VALUE VALUES (2, 'own-labels', 'btc', '12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h', 'exchange', 'Some Exchange', 'investigation', 80, 'own-labels', NULL, 'exchange', NULL, NULL, NULL, NULL, NULL, '\x42da44932aee1e01e0ad213802fe6f4f', 1795392988028, NULL);
INSERT INTO public.labels OVERRIDING SYSTEM VALUE VALUES (3, 'own-labels', 'btc', '1BoatSLRHtKNngkdXEeobR76b53LETtpyT', 'scam', 'A scam', 'behaviour', 60, 'own-labels', NULL, 'scam', NULL, NULL, NULL, NULL, NULL, '\x5296cc75461ccc6ce5846beef1cb939a', 1795392988028, NULL);

INSERT INTO public.listings OVERRIDING SYSTEM VALUE VALUES (1, 'own-list', 'own-list', 'own-list', '1', '{"id":"1","name":"DOE, Jane","aliases":[],"programmes":["CYBER2","SDNTK"],"remarks":null,"listed_on":null}', 'XBT', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', NULL, NULL, 1, NULL, 1795392987961, NULL);

INSERT INTO public.manifests VALUES ('Plan', 'business', '{"displayName":"Business","apiAccess":true,"cacheLifetime":"5m","retention":{"checks":"30d","usage":"400d"},"screenRows":100000,"limits":[{"name":"burst","requests":20,"window":"1s","counts":"requests","ceiling":100},{"name":"minute","requests":600,"window":"1m","counts":"requests","ceiling":3000},{"name":"daily","requests":100000,"window":"1d","counts":"checks","ceiling":1000000}]}', 1795392987793);
INSERT INTO public.manifests VALUES ('Plan', 'enterprise', '{"displayName":"Enterprise","apiAccess":true,"cacheLifetime":"5m","retention":{"checks":"365d","usage":"1100d"},"screenRows":1000000,"limits":[{"name":"burst","requests":200,"window":"1s","counts":"requests","ceiling":2000},{"name":"minute","requests":6000,"window":"1m","counts":"requests","ceiling":60000},{"name":"daily","requests":2000000,"window":"1d","counts":"checks","ceiling":20000000}]}', 1795392987793);
INSERT INTO public.manifests VALUES ('IntelSource', 'ofac-sdn', '{"location":"https://www.treasury.gov/ofac/downloads/sanctions/1.0/sdn_advanced.xml","format":"ofac-advanced","lists":["ofac-sdn"],"schedule":"17 */6 * * *"}', 1795392987793);
INSERT INTO public.manifests VALUES ('RiskPolicy', 'default', '{"thresholds":{"medium":25,"high":50,"severe":75,"review":50,"block":75},"halfLifeHops":2.4,"tierCaps":{"investigation":95,"community":69.9,"heuristic":59.9,"behaviour":49.9},"lists":{},"mandatorySources":[{"name":"ofac-sdn","maximumAgeHours":48}],"flowsRequired":false,"floors":{"graveFrom":90,"graveSharePercent":10},"amounts":{"USD":{"curve":[{"amount":10000,"worth":25},{"amount":100000,"worth":50},{"amount":1000000,"worth":75},{"amount":10000000,"worth":100}],"unsolicitedUpTo":1000,"cutBelow":1000},"BTC":{"curve":[{"amount":"0.1","worth":25},{"amount":1,"worth":50},{"amount":10,"worth":75},{"amount":100,"worth":100}],"unsolicitedUpTo":"0.01","cutBelow":"0.01"},"LTC":{"curve":[{"amount":100,"worth":25},{"amount":1000,"worth":50},{"amount":10000,"worth":75},{"amount":100000,"worth":100}],"unsolicitedUpTo":10,"cutBelow":10},"BCH":{"curve":[{"amount":20,"worth":25},{"amount":200,"worth":50},{"amount":2000,"worth":75},{"amount":20000,"worth":100}],"unsolicitedUpTo":2,"cutBelow":2},"DOGE":{"curve":[{"amount":50000,"worth":25},{"amount":500000,"worth":50},{"amount":5000000,"worth":75},{"amount":50000000,"worth":100}],"unsolicitedUpTo":5000,"cutBelow":5000},"DASH":{"curve":[{"amount":200,"worth":25},{"amount":2000,"worth":50},{"amount":20000,"worth":75},{"amount":200000,"worth":100}],"unsolicitedUpTo":20,"cutBelow":20},"ZEC":{"curve":[{"amount":100,"worth":25},{"amount":1000,"worth":50},{"amount":10000,"worth":75},{"amount":100000,"worth":100}],"unsolicitedUpTo":10,"cutBelow":10}},"trace":{"hops":6,"cutShare":1000,"addressesPerLevel":256,"transfersPerAddress":2000}}', 1795392987793);
INSERT INTO public.manifests VALUES ('Plan', 'gold', '{"displayName":"Gold \"floorShare\": x","apiAccess":true,"screenRows":500,"onStoreLoss":"closed","floorShare":20,"trace":{"hops":4,"addressesPerLevel":100},"limits":[{"name":"burst","requests":10,"window":"1s","counts":"requests"}]}', 1795392988076);
INSERT INTO public.manifests VALUES ('ChainSource', 'node', '{"chain":"ltc","mode":"on_demand","protocol":"esplora","endpoint":"http://127.0.0.1:1","timeBound":"3s","testNetwork":true,"suspended":true}', 1795392988076);
INSERT INTO public.manifests VALUES ('RiskPolicy', 'strict', '{"severities":{"mixer":80},"tierCaps":{"behaviour":40},"lists":{"own-list":"binding","other-list":"informative"},"mandatorySources":[{"name":"own-list","maximumAgeHours":80000}],"floors":{"graveFrom":85,"graveSharePercent":20},"amounts":{"BTC":{"curve":[{"amount":"0.1","worth":25},{"amount":1,"worth":50}],"unsolicitedUpTo":"0.01","cutBelow":"0.005"}},"trace":{"hops":5,"cutShare":2000,"addressesPerLevel":50}}', 1795392988076);
INSERT INTO public.manifests VALUES ('Tenant', 'acme', '{"displayName":"Acme","plan":"gold","policy":"strict"}', 1795392988076);
INSERT INTO public.manifests VALUES ('FormerTenant', 'gone', '{"leftAt":"2026-11-01T00:00:00Z","retention":{"checks":"30d","usage":"400d"}}', 0);

INSERT INTO public.publications OVERRIDING SYSTEM VALUE VALUES (1, 'own-list', 0, '2026-11-20', '8b1521f1ea78ca170562e9a8cfc465d1a2f49d3931f1ca3d3d3fd65a4d82b260', '8b1521f1ea78ca170562e9a8cfc465d1a2f49d3931f1ca3d3d3fd65a4d82b260', 'csv', 'list.csv', 1, 1795392987961, '{"added":[{"list":"own-list","entity_id":"1","entity":"DOE, Jane","asset_code":"XBT","address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}],"removed":[],"updated":0,"unchanged":0,"rejected":[],"invalid":[],"unsupported":{}}');
INSERT INTO public.publications OVERRIDING SYSTEM VALUE VALUES (2, 'own-labels', 0, '2026-11-23', 'a52af026939ee1be3b9a9f94767866ed2db27098be0f380d55cb66562a25aeb1', 'a52af026939ee1be3b9a9f94767866ed2db27098be0f380d55cb66562a25aeb1', 'csv', 'labels.csv', 3, 1795392988028, '{"files":1,"rejected":[],"unknown_terms":{},"unsupported":{}}');

INSERT INTO public.schema_versions VALUES (1, 'expand', 1);
INSERT INTO public.schema_versions VALUES (2, 'expand', 1);
INSERT INTO public.schema_versions VALUES (3, 'expand', 1);
INSERT INTO public.schema_versions VALUES (4, 'expand', 1);
INSERT INTO public.schema_versions VALUES (5, 'expand', 1);
INSERT INTO public.schema_versions VALUES (6, 'contract', 6);
INSERT INTO public.schema_versions VALUES (7, 'expand', 6);
INSERT INTO public.schema_versions VALUES (8, 'expand', 1);

INSERT INTO public.seats VALUES (0, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (1, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (2, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (3, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (4, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (5, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (6, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (7, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (8, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (9, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (10, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (11, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (12, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (13, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (14, NULL, NULL, NULL, NULL);
INSERT INTO public.seats VALUES (15, NULL, NULL, NULL, NULL);

INSERT INTO public.sources VALUES ('own-list', 'sanctions', false, 1795392987961, NULL, NULL, NULL);
INSERT INTO public.sources VALUES ('own-labels', 'labels', false, 1795392988028, NULL, NULL, NULL);

INSERT INTO public.usage VALUES ('acme', '8RdzXibeAvQ', 'gold', '2026-11-23', 'check', 'block', 1);

INSERT INTO public.usage_writers VALUES ('d392897276d3ae8286147d0a59c15aaf', 1, 1795392989525);

SELECT pg_catalog.setval('public.label_suppressions_id_seq', 1, false);

SELECT pg_catalog.setval('public.labels_id_seq', 3, true);

SELECT pg_catalog.setval('public.listings_id_seq', 1, true);

SELECT pg_catalog.setval('public.publications_id_seq', 2, true);

ALTER TABLE ONLY public._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.checks
    ADD CONSTRAINT checks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.fetched
    ADD CONSTRAINT fetched_pkey PRIMARY KEY (chain, kind, key);

ALTER TABLE ONLY public.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.label_suppressions
    ADD CONSTRAINT label_suppressions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.limiter_epochs_seen
    ADD CONSTRAINT limiter_epochs_seen_pkey PRIMARY KEY (bucket);

ALTER TABLE ONLY public.listings
    ADD CONSTRAINT listings_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.manifests
    ADD CONSTRAINT manifests_pkey PRIMARY KEY (kind, name);

ALTER TABLE ONLY public.publications
    ADD CONSTRAINT publications_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.publications
    ADD CONSTRAINT publications_source_ordinal_key UNIQUE (source, ordinal);

ALTER TABLE ONLY public.quota_windows
    ADD CONSTRAINT quota_windows_pkey PRIMARY KEY (payer, limit_name, window_seconds, window_number);

ALTER TABLE ONLY public.schema_versions
    ADD CONSTRAINT schema_versions_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.seats
    ADD CONSTRAINT seats_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.sources
    ADD CONSTRAINT sources_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (tenant, day, key_id, plan, operation, outcome);

ALTER TABLE ONLY public.usage_writers
    ADD CONSTRAINT usage_writers_pkey PRIMARY KEY (writer);

CREATE INDEX api_keys_name ON public.api_keys USING btree (name);

CREATE INDEX checks_of_tenant ON public.checks USING btree (tenant, made_at);

CREATE INDEX label_suppressions_in_force ON public.label_suppressions USING btree (chain, address) WHERE (lifted_at IS NULL);

CREATE INDEX labels_of_source ON public.labels USING btree (source) WHERE (recorded_to IS NULL);

CREATE INDEX labels_recorded_now ON public.labels USING btree (chain, address, source, id) WHERE (recorded_to IS NULL);

CREATE INDEX listings_recorded_now ON public.listings USING btree (source) WHERE (recorded_to IS NULL);

CREATE TRIGGER tell_change AFTER UPDATE ON public.installation FOR EACH ROW EXECUTE FUNCTION public.tell_change();

ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_source_fkey FOREIGN KEY (source) REFERENCES public.sources(id);

ALTER TABLE ONLY public.listings
    ADD CONSTRAINT listings_absent_from_fkey FOREIGN KEY (absent_from) REFERENCES public.publications(id);

ALTER TABLE ONLY public.listings
    ADD CONSTRAINT listings_present_from_fkey FOREIGN KEY (present_from) REFERENCES public.publications(id);

ALTER TABLE ONLY public.listings
    ADD CONSTRAINT listings_source_fkey FOREIGN KEY (source) REFERENCES public.sources(id);

ALTER TABLE ONLY public.publications
    ADD CONSTRAINT publications_source_fkey FOREIGN KEY (source) REFERENCES public.sources(id);

CREATE POLICY add_keys ON public.api_keys FOR INSERT WITH CHECK ((tenant = current_setting('assay.tenant'::text, true)));

CREATE POLICY add_usage ON public.usage FOR INSERT WITH CHECK ((current_setting('assay.reach'::text, true) = 'record'::text));

ALTER TABLE public.api_keys ENABLE ROW LEVEL SECURITY;

CREATE POLICY change_keys ON public.api_keys FOR UPDATE USING (((tenant = current_setting('assay.tenant'::text, true)) OR (current_setting('assay.reach'::text, true) = ANY (ARRAY['directory'::text, 'record'::text]))));

CREATE POLICY change_usage ON public.usage FOR UPDATE USING ((current_setting('assay.reach'::text, true) = 'record'::text));

ALTER TABLE public.checks ENABLE ROW LEVEL SECURITY;

CREATE POLICY forget_checks ON public.checks FOR DELETE USING ((tenant = current_setting('assay.tenant'::text, true)));

CREATE POLICY forget_usage ON public.usage FOR DELETE USING ((tenant = current_setting('assay.tenant'::text, true)));

CREATE POLICY keep_checks ON public.checks FOR INSERT WITH CHECK ((current_setting('assay.reach'::text, true) = 'record'::text));

CREATE POLICY read_checks ON public.checks FOR SELECT USING ((tenant = current_setting('assay.tenant'::text, true)));

CREATE POLICY read_keys ON public.api_keys FOR SELECT USING (((tenant = current_setting('assay.tenant'::text, true)) OR (current_setting('assay.reach'::text, true) = ANY (ARRAY['directory'::text, 'record'::text]))));

CREATE POLICY read_usage ON public.usage FOR SELECT USING (((tenant = current_setting('assay.tenant'::text, true)) OR (current_setting('assay.reach'::text, true) = ANY (ARRAY['record'::text, 'report'::text]))));

ALTER TABLE public.usage ENABLE ROW LEVEL SECURITY;


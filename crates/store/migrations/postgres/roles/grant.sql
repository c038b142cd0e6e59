-- What each role may do in this database; everything that is not here it may not.

BEGIN;

-- What stands is taken back first, so that a right that is no longer here ends. Nobody sees the gap.
REVOKE ALL ON _sqlx_migrations, schema_versions, installation, sources, publications, listings, labels,
    label_suppressions, manifests, api_keys, usage, checks, fetched, seats, quota_windows,
    limiter_epochs_seen, usage_writers, jobs, price_sources, prices, check_summaries, check_rules, receivers,
    idempotency_keys, console_sessions
    FROM assay_serve, assay_ingest, assay_control;
GRANT USAGE ON SCHEMA public TO assay_serve, assay_ingest, assay_control, assay_migrate;
GRANT SELECT ON _sqlx_migrations, schema_versions, installation, manifests, sources, publications,
    listings, labels, label_suppressions, price_sources, prices
    TO assay_serve, assay_ingest, assay_control;

-- Serving: writes what was charged, answered, fetched and used, and its share of limits. It can end a
-- key (the list of revoked keys beside the database is enforced at the start), and make or revive none:
-- the trigger `keep_revoked` refuses that.
GRANT SELECT ON api_keys, usage, checks, check_summaries, check_rules, fetched, seats, quota_windows,
    limiter_epochs_seen, usage_writers, receivers, idempotency_keys, console_sessions
    TO assay_serve;
GRANT UPDATE (last_used_at, revoked_at) ON api_keys TO assay_serve;
GRANT UPDATE (control_revision, key_changes) ON installation TO assay_serve;
GRANT INSERT, UPDATE (count) ON usage TO assay_serve;
GRANT INSERT, UPDATE (batch, written_at) ON usage_writers TO assay_serve;
GRANT INSERT ON checks, check_summaries, check_rules, limiter_epochs_seen TO assay_serve;
-- A key whose request failed is free again.
GRANT INSERT, DELETE, UPDATE (body_digest, holder, expires_at, answer) ON idempotency_keys TO assay_serve;
GRANT INSERT, DELETE, UPDATE (used_at) ON console_sessions TO assay_serve;
GRANT INSERT, UPDATE (first_checked_at, last_checked_at) ON receivers TO assay_serve;
GRANT INSERT, UPDATE (content, fetched_at) ON fetched TO assay_serve;
GRANT UPDATE (holder, claimed_at, expires_at, previous_expiry) ON seats TO assay_serve;
GRANT INSERT, UPDATE (allowed, reserved, granted) ON quota_windows TO assay_serve;
-- Background jobs: enqueues, claims and finishes them, and deletes none.
GRANT SELECT, INSERT, UPDATE (payload, status, due_at, failures, worker, claimed_until, finished_at,
    succeeded_at, last_error) ON jobs TO assay_serve;

-- Ingesting, and serving chains: lists, labels and prices, and nothing of tenants. What lists and labels recorded is
-- ended, never changed; a price is replaced.
GRANT UPDATE (intel_generation, label_generation, price_generation, data_number, data_hash)
    ON installation TO assay_ingest;
GRANT INSERT, UPDATE (fetched_at, url, etag, last_modified) ON sources TO assay_ingest;
GRANT INSERT ON publications TO assay_ingest;
GRANT INSERT, UPDATE (recorded_to) ON listings, labels TO assay_ingest;
GRANT INSERT, UPDATE (lifted_at) ON label_suppressions TO assay_ingest;
GRANT INSERT, UPDATE (fetched_at, url, etag, last_modified, digest, file_digest, format, origin, entries,
    newest_day, imported_at) ON price_sources TO assay_ingest;
GRANT INSERT, UPDATE (usd, source, recorded_at) ON prices TO assay_ingest;

-- Controlling: manifests, keys, and forgetting what is older than it is kept.
GRANT SELECT ON api_keys, usage, checks, check_summaries, check_rules, fetched, quota_windows, usage_writers,
    receivers, idempotency_keys, console_sessions
    TO assay_control;
GRANT UPDATE (control_revision, manifest_changes, key_changes, instance) ON installation TO assay_control;
GRANT INSERT, DELETE, UPDATE (spec, applied_at) ON manifests TO assay_control;
GRANT INSERT, UPDATE (scopes, expires_at, revoked_at) ON api_keys TO assay_control;
GRANT DELETE ON usage, checks, check_summaries, check_rules, usage_writers, receivers, idempotency_keys,
    console_sessions TO assay_control;
GRANT SELECT, DELETE ON jobs TO assay_control;
-- Rows are locked before they go.
GRANT DELETE, UPDATE (reserved) ON quota_windows TO assay_control;
GRANT DELETE, UPDATE (fetched_at) ON fetched TO assay_control;

-- The migrating role changes the schema of the tables.
DO $$
BEGIN
    -- Earlier versions kept the graph of each chain in a schema of the ingesting role.
    EXECUTE format('REVOKE CREATE ON DATABASE %I FROM assay_ingest', current_database());
    EXECUTE format('GRANT CREATE ON DATABASE %I TO assay_migrate', current_database());
    IF pg_has_role(current_user, 'assay_migrate', 'MEMBER') THEN
        GRANT CREATE ON SCHEMA public TO assay_migrate;
    END IF;
END
$$;

-- The tables are the migrating role's, whoever of its members made them.
DO $$
DECLARE
    thing record;
BEGIN
    IF NOT pg_has_role(current_user, 'assay_migrate', 'MEMBER') THEN
        RETURN;
    END IF;
    -- Who owned them joins the group, and loses nothing.
    FOR thing IN
        SELECT DISTINCT tableowner AS name FROM pg_tables
        WHERE schemaname = 'public' AND tablename IN ('installation', '_sqlx_migrations')
          AND NOT pg_has_role(tableowner, 'assay_migrate', 'MEMBER')
    LOOP
        EXECUTE format('GRANT assay_migrate TO %I', thing.name);
    END LOOP;
    FOR thing IN
        SELECT format('TABLE %I.%I', schemaname, tablename) AS name FROM pg_tables
        WHERE schemaname = 'public' AND tableowner <> 'assay_migrate'
          AND pg_has_role(current_user, tableowner, 'MEMBER')
          AND tablename = ANY (ARRAY['_sqlx_migrations', 'schema_versions', 'installation', 'sources',
              'publications', 'listings', 'labels', 'label_suppressions', 'manifests', 'api_keys',
              'usage', 'checks', 'fetched', 'seats', 'quota_windows', 'limiter_epochs_seen',
              'usage_writers', 'jobs', 'price_sources', 'prices', 'check_summaries', 'check_rules', 'receivers',
              'idempotency_keys', 'console_sessions'])
        UNION ALL
        SELECT format('FUNCTION %s', oid::regprocedure) FROM pg_proc
        WHERE oid IN (to_regprocedure('public.tell_change()'), to_regprocedure('public.keep_revoked()'))
          AND proowner <> 'assay_migrate'::regrole AND pg_has_role(current_user, proowner, 'MEMBER')
    LOOP
        EXECUTE format('ALTER %s OWNER TO assay_migrate', thing.name);
    END LOOP;
END
$$;

COMMIT;

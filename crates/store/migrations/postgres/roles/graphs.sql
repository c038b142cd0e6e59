-- The rights of each role on chain graphs, in the database that holds them.

BEGIN;

-- The ingesting role makes the schema of a chain, and owns it: indexes are built when it is loaded.
DO $$
BEGIN
    EXECUTE format('GRANT CREATE ON DATABASE %I TO assay_ingest', current_database());
END
$$;

-- Chains that were ingested before there were roles become the ingesting role's, so that any of its
-- members goes on with them; those who serve and control read them, whoever's they are.
DO $$
DECLARE
    chain record;
    thing record;
BEGIN
    FOR chain IN
        SELECT nspname AS name, pg_get_userbyid(nspowner) AS owner FROM pg_namespace
        WHERE starts_with(nspname, 'chain_') AND pg_has_role(current_user, nspowner, 'MEMBER')
          AND EXISTS (SELECT FROM pg_tables WHERE schemaname = nspname AND tablename = 'graph')
    LOOP
        -- Who ingested them joins the group, and loses nothing.
        IF NOT pg_has_role(chain.owner, 'assay_ingest', 'MEMBER') THEN
            BEGIN
                EXECUTE format('GRANT assay_ingest TO %I', chain.owner);
            EXCEPTION
                -- The role was made by somebody else, who decides.
                WHEN insufficient_privilege THEN NULL;
            END;
        END IF;
        IF pg_has_role(current_user, 'assay_ingest', 'MEMBER') THEN
            -- The schema first: only there its new owner may own tables.
            EXECUTE format('ALTER SCHEMA %I OWNER TO assay_ingest', chain.name);
            FOR thing IN
                SELECT format('TABLE %I.%I', schemaname, tablename) AS name FROM pg_tables
                WHERE schemaname = chain.name AND tableowner <> 'assay_ingest'
                UNION ALL
                SELECT format('FUNCTION %s', oid::regprocedure) FROM pg_proc
                WHERE pronamespace = to_regnamespace(quote_ident(chain.name))
                  AND proowner <> 'assay_ingest'::regrole
            LOOP
                EXECUTE format('ALTER %s OWNER TO assay_ingest', thing.name);
            END LOOP;
        END IF;
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO assay_serve, assay_control', chain.name);
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO assay_serve, assay_control',
                       chain.name);
    END LOOP;
END
$$;

COMMIT;

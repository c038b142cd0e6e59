-- The roles of Assay: groups without a login of their own. Give each program's login the one that it
-- needs, such as `GRANT assay_serve TO my_api`. They are shared by all databases of a server.
DO $$
DECLARE
    needed text;
BEGIN
    FOREACH needed IN ARRAY ARRAY['assay_serve', 'assay_ingest', 'assay_control', 'assay_migrate'] LOOP
        IF to_regrole(needed) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', needed);
            EXCEPTION
                -- Another database's migration was faster.
                WHEN duplicate_object OR unique_violation THEN NULL;
            END;
        END IF;
    END LOOP;
    IF NOT pg_has_role(current_user, 'assay_migrate', 'MEMBER') THEN
        BEGIN
            GRANT assay_migrate TO CURRENT_USER;
        EXCEPTION
            -- The role was made by somebody else, who decides.
            WHEN insufficient_privilege OR unique_violation THEN NULL;
        END;
    END IF;
END
$$;

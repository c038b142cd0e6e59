-- Programs that serve from memory listen to the channel `assay`, to look at once at what changed. A
-- trigger tells it, in the transaction that changes the counter: no writer can forget it, and nobody
-- hears of what was rolled back. It is a hint: the counters are the truth.
CREATE FUNCTION tell_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
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

CREATE TRIGGER tell_change AFTER UPDATE ON installation
    FOR EACH ROW EXECUTE FUNCTION tell_change();

INSERT INTO schema_versions (version, kind, compatible_from) VALUES (4, 'expand', 1);

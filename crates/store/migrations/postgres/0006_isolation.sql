-- A second wall between tenants, behind the queries: rows of a tenant are seen only in a transaction that
-- says so (`assay.tenant`), or that says what it does for all tenants together (`assay.reach`):
--
--   directory  reads every key to serve from memory, and revokes a key by its id
--   record     writes what was charged, answered and used, of many tenants in one batch; reads no answer
--   report     reads what was charged, of all tenants
--
-- Both settings end with their transaction, and code sets them in one place. They stop what a query does
-- by mistake: a missing condition, another tenant's name, a value that was taken for SQL. Whoever may
-- send statements of their own can set them, too; that is what the roles are for. A function that runs
-- with its owner's rights would hand out every key to the same callers, and would need an owner whom the
-- wall does not bind: there is none here (FORCE).
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
ALTER TABLE usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage FORCE ROW LEVEL SECURITY;
ALTER TABLE checks ENABLE ROW LEVEL SECURITY;
ALTER TABLE checks FORCE ROW LEVEL SECURITY;

-- Nobody deletes a key.
CREATE POLICY read_keys ON api_keys FOR SELECT USING (
    tenant = current_setting('assay.tenant', true)
    OR current_setting('assay.reach', true) IN ('directory', 'record'));
CREATE POLICY add_keys ON api_keys FOR INSERT WITH CHECK (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY change_keys ON api_keys FOR UPDATE USING (
    tenant = current_setting('assay.tenant', true)
    OR current_setting('assay.reach', true) IN ('directory', 'record'));

CREATE POLICY read_usage ON usage FOR SELECT USING (
    tenant = current_setting('assay.tenant', true)
    OR current_setting('assay.reach', true) IN ('record', 'report'));
CREATE POLICY add_usage ON usage FOR INSERT WITH CHECK (
    current_setting('assay.reach', true) = 'record');
CREATE POLICY change_usage ON usage FOR UPDATE USING (
    current_setting('assay.reach', true) = 'record');
CREATE POLICY forget_usage ON usage FOR DELETE USING (
    tenant = current_setting('assay.tenant', true));

-- An answer is never changed.
CREATE POLICY read_checks ON checks FOR SELECT USING (
    tenant = current_setting('assay.tenant', true));
CREATE POLICY keep_checks ON checks FOR INSERT WITH CHECK (
    current_setting('assay.reach', true) = 'record');
CREATE POLICY forget_checks ON checks FOR DELETE USING (
    tenant = current_setting('assay.tenant', true));

-- Programs that do not say whose rows they want would find none.
INSERT INTO schema_versions (version, kind, compatible_from) VALUES (6, 'contract', 6);

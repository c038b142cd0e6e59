-- A trace is bounded by the inputs and outputs that it reads, and no longer by addresses of a hop.
UPDATE manifests SET spec = (spec::jsonb #- '{trace,addressesPerHop}')::text
WHERE kind IN ('Plan', 'RiskPolicy') AND spec::jsonb #> '{trace,addressesPerHop}' IS NOT NULL;
-- What stood at the earlier default takes the new one: six hops, which six payments to oneself used up, and a
-- thousandth of the whole.
UPDATE manifests SET spec = (spec::jsonb #- '{trace,hops}')::text
WHERE kind IN ('Plan', 'RiskPolicy') AND spec::jsonb #>> '{trace,hops}' = '6';
UPDATE manifests SET spec = (spec::jsonb #- '{trace,stopBelowShareMillionths}')::text
WHERE kind IN ('Plan', 'RiskPolicy') AND spec::jsonb #>> '{trace,stopBelowShareMillionths}' = '1000';

-- Older programs cannot read a policy without the field that went.
INSERT INTO schema_versions (version, kind, compatible_from) VALUES (13, 'contract', 13);

-- A trace is bounded by the inputs and outputs that it reads, and no longer by addresses of a hop.
UPDATE manifests SET spec = json_remove(spec, '$.trace.addressesPerHop')
WHERE kind IN ('Plan', 'RiskPolicy') AND json_type(spec, '$.trace.addressesPerHop') IS NOT NULL;
-- What stood at the earlier default takes the new one: six hops, which six payments to oneself used up, and a
-- thousandth of the whole.
UPDATE manifests SET spec = json_remove(spec, '$.trace.hops')
WHERE kind IN ('Plan', 'RiskPolicy') AND json_extract(spec, '$.trace.hops') = 6;
UPDATE manifests SET spec = json_remove(spec, '$.trace.stopBelowShareMillionths')
WHERE kind IN ('Plan', 'RiskPolicy') AND json_extract(spec, '$.trace.stopBelowShareMillionths') = 1000;

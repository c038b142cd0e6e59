-- Manifests, listings and labels take the words of the public contract as it was renamed on 2026-11-22.
-- JSON was written without blanks, and a quotation mark inside of a text is escaped: `"name":` is a key.
UPDATE manifests SET spec = replace(spec, '"floorShare":', '"fallbackShare":') WHERE kind = 'Plan';
UPDATE manifests SET spec = replace(spec, '"onStoreLoss":"floor"', '"onTokenStoreLoss":"fallback"') WHERE kind = 'Plan';
UPDATE manifests SET spec = replace(spec, '"onStoreLoss":"closed"', '"onTokenStoreLoss":"refuse"') WHERE kind = 'Plan';
UPDATE manifests SET spec = replace(spec, '"screenRows":', '"maxScreenRows":') WHERE kind = 'Plan';
UPDATE manifests SET spec = replace(spec, '"addressesPerLevel":', '"addressesPerHop":') WHERE kind = 'Plan';

UPDATE manifests SET spec = replace(spec, '"timeBound":', '"fetchTimeout":') WHERE kind = 'ChainSource';
UPDATE manifests SET spec = replace(spec, '"testNetwork":', '"allowTestNetwork":') WHERE kind = 'ChainSource';

UPDATE manifests SET spec = replace(spec, '"leftAt":', '"deletedAt":') WHERE kind = 'FormerTenant';

UPDATE manifests SET spec = replace(spec, '"floors":', '"minimumScoreRules":') WHERE kind = 'RiskPolicy';
UPDATE manifests SET spec = replace(spec, '"graveFrom":', '"severeCategoryFrom":') WHERE kind = 'RiskPolicy';
UPDATE manifests SET spec = replace(spec, '"graveSharePercent":', '"severeCategorySharePercent":') WHERE kind = 'RiskPolicy';
UPDATE manifests SET spec = replace(spec, '"behaviour":', '"behavior":') WHERE kind = 'RiskPolicy';
UPDATE manifests SET spec = replace(spec, '"worth":', '"score":') WHERE kind = 'RiskPolicy';
UPDATE manifests SET spec = replace(spec, '"cutBelow":', '"stopTraceBelow":') WHERE kind = 'RiskPolicy';
UPDATE manifests SET spec = replace(spec, '"cutShare":', '"stopBelowShareMillionths":') WHERE kind = 'RiskPolicy';
UPDATE manifests SET spec = replace(spec, '"addressesPerLevel":', '"addressesPerHop":') WHERE kind = 'RiskPolicy';

-- A source may be called as an effect was: only the values of `lists` change.
UPDATE manifests
SET spec = json_set(spec, '$.lists', json((
    SELECT json_group_object(key, CASE value WHEN 'binding' THEN 'blocking' WHEN 'informative' THEN 'advisory' ELSE value END)
    FROM json_each(manifests.spec, '$.lists'))))
WHERE kind = 'RiskPolicy' AND json_type(spec, '$.lists') = 'object';

UPDATE listings SET entity = replace(entity, '"programmes":', '"programs":');

-- Fingerprints cover the tier: the next import of such a label records it anew.
UPDATE labels SET tier = 'on_chain_proof' WHERE tier = 'cryptographic';
UPDATE labels SET tier = 'behavior' WHERE tier = 'behaviour';

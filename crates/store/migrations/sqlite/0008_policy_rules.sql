-- Minimum scores of policies became rules. Numbers that differ from the defaults become a rule that replaces the
-- default one; equal numbers are left out, so that the policy has the default rule.
UPDATE manifests
SET spec = json_set(spec, '$.rules', json_array(json_object(
    'id', 'severe_category_exposure',
    'description', 'Exposure to sanctions or severe-crime categories',
    'severityFrom', coalesce(json_extract(spec, '$.minimumScoreRules.severeCategoryFrom'), 90),
    'shareFrom', coalesce(json_extract(spec, '$.minimumScoreRules.severeCategorySharePercent'), 10) || '%')))
WHERE kind = 'RiskPolicy' AND (
    coalesce(json_extract(spec, '$.minimumScoreRules.severeCategoryFrom'), 90) <> 90
    OR coalesce(json_extract(spec, '$.minimumScoreRules.severeCategorySharePercent'), 10) <> 10);

UPDATE manifests SET spec = json_remove(spec, '$.minimumScoreRules')
WHERE kind = 'RiskPolicy' AND json_type(spec, '$.minimumScoreRules') IS NOT NULL;

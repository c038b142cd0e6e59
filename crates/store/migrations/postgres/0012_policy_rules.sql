-- Minimum scores of policies became rules. Numbers that differ from the defaults become a rule that replaces the
-- default one; equal numbers are left out, so that the policy has the default rule.
UPDATE manifests
SET spec = (spec::jsonb || jsonb_build_object('rules', jsonb_build_array(jsonb_build_object(
    'id', 'severe_category_exposure',
    'description', 'Exposure to sanctions or severe-crime categories',
    'severityFrom', coalesce((spec::jsonb #>> '{minimumScoreRules,severeCategoryFrom}')::int, 90),
    'shareFrom', coalesce(spec::jsonb #>> '{minimumScoreRules,severeCategorySharePercent}', '10') || '%'))))::text
WHERE kind = 'RiskPolicy' AND (
    coalesce((spec::jsonb #>> '{minimumScoreRules,severeCategoryFrom}')::int, 90) <> 90
    OR coalesce((spec::jsonb #>> '{minimumScoreRules,severeCategorySharePercent}')::int, 10) <> 10);

UPDATE manifests SET spec = (spec::jsonb - 'minimumScoreRules')::text
WHERE kind = 'RiskPolicy' AND spec::jsonb ? 'minimumScoreRules';

-- Older programs cannot read rules.
INSERT INTO schema_versions (version, kind, compatible_from) VALUES (12, 'contract', 12);

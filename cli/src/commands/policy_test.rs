//! `assay policy test`: the rules of a policy that fire for recorded checks.

use std::{
    cell::Cell,
    collections::BTreeMap,
    io::{self, BufReader, Read, Write},
    path::PathBuf,
    rc::Rc,
};

use assay_address::ChainId;
use assay_engine::{
    account::decimals_of,
    assessment::ExposurePart,
    evidence::{Direction, FlowDistance, FlowEnd},
    policy::{FIXED_RULES, Policy, RuleVerdict},
    rules::{RuleFunds, RuleView, evaluate},
    score::{Score, Verdict},
};
use assay_input::{Encoding, TextFile};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    CommandOutcome, Context, Failure, check::policy, output, rows::open_text, terminal::output_row,
};

const EXAMPLES: &str = "\
Examples:
  assay apply -f stricter.yaml
  assay policy test --policy stricter last-week.jsonl
  assay policy test --policy stricter last-week.jsonl --changed --json";

/// Show which minimum score rules of a risk policy fire for recorded checks
///
/// The file has answers of the API or of `assay check --json`, as JSON Lines or JSON. Rules measure the funds of the
/// record by the severities and thresholds of the policy; all other evidence keeps its score of the record. Rules
/// that fire are named, with + if they did not fire in the record, and rules that no longer fire with -. The numbers
/// of changed verdicts are printed on standard error.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TestArgs {
    /// File with recorded answers; - is standard input
    file: PathBuf,
    /// Name of the risk policy [default: default; with --sample: sample]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Encoding of a file without byte order mark, such as utf-16le [default: utf-8]
    #[arg(long, value_name = "NAME")]
    encoding: Option<Encoding>,
    /// Show only the checks whose verdict or rules change
    #[arg(long)]
    changed: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &TestArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let policy = policy(&*context.open().await?, args.policy.as_deref()).await?;
    let TextFile { origin: name, text, .. } = open_text(&args.file, args.encoding)?;
    let mut output = output();
    let (mut same, mut unreadable, mut rules) = (0_u64, 0_u64, 0_u64);
    let mut changes: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut is_empty = true;
    for found in records(text) {
        is_empty = false;
        let (position, value) =
            found.map_err(|error| Failure::Input(format!("{name}, {error}")))?;
        let tested = Record::read(value).and_then(|record| record.test(&policy));
        let tested = match tested {
            Ok(tested) => tested,
            Err(error) => {
                writeln!(io::stderr(), "{name}, {position}: {error}")?;
                unreadable += 1;
                continue;
            }
        };
        if tested.before.verdict == tested.after.verdict {
            same += 1;
            rules += u64::from(tested.changes());
        } else {
            let verdicts = (tested.before.verdict.as_str(), tested.after.verdict.as_str());
            *changes.entry(verdicts).or_default() += 1;
        }
        if args.changed && !tested.changes() {
            continue;
        }
        if args.json {
            let line = serde_json::to_string(&tested).map_err(io::Error::from)?;
            writeln!(output, "{line}")?;
        } else {
            write!(output, "{}", output_row(&tested.line()))?;
        }
    }
    output.flush()?;
    if is_empty {
        return Err(Failure::Input(format!("{name} is empty: expected recorded answers as JSON")));
    }
    let mut summary = io::stderr().lock();
    for ((before, after), count) in &changes {
        writeln!(summary, "{count} from {before} to {after}")?;
    }
    writeln!(summary, "{same} with the same verdict, {rules} of them by other rules")?;
    if unreadable > 0 {
        return Err(Failure::Input(format!("{unreadable} records of {name} could not be tested")));
    }
    Ok(CommandOutcome::Success)
}

/// The properties of a recorded answer that rules depend on.
#[derive(Debug, Deserialize)]
struct Record {
    #[serde(default)]
    check_id: Option<String>,
    blockchain: ChainId,
    address: String,
    risk_score: Score,
    verdict: Verdict,
    complete: bool,
    scoring_components: Vec<Component>,
    exposure: Vec<Exposure>,
}

#[derive(Debug, Deserialize)]
struct Component {
    kind: String,
    #[serde(default)]
    rule: Option<String>,
    contribution: Score,
}

#[derive(Debug, Deserialize)]
struct Exposure {
    direction: Direction,
    endpoint_type: String,
    amount: Amount,
    recent_amount: Amount,
    #[serde(default)]
    parts: Option<Vec<ExposurePart>>,
}

#[derive(Debug, Deserialize)]
struct Amount {
    value: String,
    asset: String,
}

/// The result of the rules for one record.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct TestedRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    check_id: Option<String>,
    blockchain: ChainId,
    address: String,
    before: Outcome,
    after: Outcome,
}

#[derive(Debug, Serialize, PartialEq, Eq)]
struct Outcome {
    verdict: Verdict,
    risk_score: Score,
    rules: Vec<String>,
}

impl TestedRecord {
    /// True if the verdict of the record or its rules change.
    fn changes(&self) -> bool {
        self.before.verdict != self.after.verdict || self.before.rules != self.after.rules
    }

    /// One line for people about a record: the verdicts, and the rules with their changes.
    fn line(&self) -> String {
        let (before, after) = (&self.before, &self.after);
        let shown =
            |outcome: &Outcome| format!("{} {}", outcome.verdict.as_str(), outcome.risk_score);
        let differs = before.verdict != after.verdict || before.risk_score != after.risk_score;
        let earlier = if differs { format!("{} -> ", shown(before)) } else { String::new() };
        let fires = after.rules.iter().map(|rule| {
            let sign = if before.rules.contains(rule) { "" } else { "+" };
            format!("{sign}{rule}")
        });
        let gone = before.rules.iter().filter(|rule| !after.rules.contains(rule));
        let rules: Vec<_> = fires.chain(gone.map(|rule| format!("-{rule}"))).collect();
        let rules = if rules.is_empty() { "no rule".to_owned() } else { rules.join(" ") };
        format!("{} {}  {earlier}{}  {rules}", self.blockchain, self.address, shown(after))
    }
}

impl Record {
    fn read(value: Value) -> Result<Self, String> {
        if !value.is_object() {
            return Err("expected the JSON object of an answer".to_owned());
        }
        serde_json::from_value(value).map_err(|error| {
            format!(
                "{error}: expected an answer of `POST /api/v1/check`, `GET /api/v1/checks/{{check_id}}` or \
                 `assay check --json`"
            )
        })
    }

    /// Applies the rules of a policy.
    fn test(self, policy: &Policy) -> Result<TestedRecord, String> {
        let before = Outcome {
            verdict: self.verdict,
            risk_score: self.risk_score,
            rules: self.recorded_rules()?,
        };
        let mut score = self.without_rules();
        let mut rules: Vec<String> = Vec::new();
        let views = self.views()?;
        for rule in policy.rules() {
            let fired = views.iter().filter_map(|view| evaluate(rule, &view.view(), policy));
            for fired in fired {
                score = score.max(policy.minimum_score(rule.verdict, fired.can_block));
                if !rules.contains(&rule.id) {
                    rules.push(rule.id.clone());
                }
            }
        }
        let fixed = |rule: &&String| FIXED_RULES.iter().any(|fixed| fixed.id == **rule);
        for rule in before.rules.iter().filter(fixed) {
            score = score.max(policy.minimum_score(RuleVerdict::Review, false));
            rules.push(rule.clone());
        }
        let mut verdict = policy.verdict(score);
        if !self.complete && verdict == Verdict::Allow {
            verdict = Verdict::Indeterminate;
            score = score.max(policy.spec().thresholds.review);
        }
        rules.sort();
        Ok(TestedRecord {
            check_id: self.check_id,
            blockchain: self.blockchain,
            address: self.address,
            before,
            after: Outcome { verdict, risk_score: score, rules },
        })
    }

    /// The rules that fired when the answer was given.
    fn recorded_rules(&self) -> Result<Vec<String>, String> {
        let mut rules = Vec::new();
        for (index, component) in self.scoring_components.iter().enumerate() {
            if component.kind != "minimum_score_rule" {
                continue;
            }
            let rule = component.rule.as_ref();
            let rule =
                rule.ok_or_else(|| missing_field(&format!("scoring_components[{index}].rule")))?;
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        rules.sort();
        Ok(rules)
    }

    /// The score of the evidence, before rules and missing data raised it.
    fn without_rules(&self) -> Score {
        let raised = ["minimum_score_rule", "incomplete"];
        let components = self.scoring_components.iter();
        components
            .filter(|component| raised.contains(&component.kind.as_str()))
            .fold(self.risk_score, |score, component| score.minus(component.contribution))
    }

    /// The funds of each direction and unit, as rules see them.
    fn views(&self) -> Result<Vec<UnitFunds>, String> {
        let mut views: Vec<UnitFunds> = Vec::new();
        for (index, line) in self.exposure.iter().enumerate() {
            let path = format!("exposure[{index}]");
            let parts =
                line.parts.as_ref().ok_or_else(|| missing_field(&format!("{path}.parts")))?;
            let same = |view: &&mut UnitFunds| {
                view.direction == line.direction && view.unit == line.amount.asset
            };
            let mut rest = RuleFunds {
                amount: base_units(&line.amount.value, &format!("{path}.amount.value"))?,
                recent: base_units(
                    &line.recent_amount.value,
                    &format!("{path}.recent_amount.value"),
                )?,
                ..RuleFunds::default()
            };
            let mut funds = Vec::new();
            for (index, part) in parts.iter().enumerate() {
                let path = format!("{path}.parts[{index}]");
                let part = RuleFunds {
                    amount: base_units(&part.amount, &format!("{path}.amount"))?,
                    recent: base_units(&part.recent_amount, &format!("{path}.recent_amount"))?,
                    outstanding: part
                        .outstanding
                        .as_ref()
                        .map(|most| base_units(most, &format!("{path}.outstanding")))
                        .transpose()?,
                    since_listing: part
                        .since_listing
                        .as_ref()
                        .map(|since| base_units(since, &format!("{path}.since_listing")))
                        .transpose()?,
                    scored: part.scored,
                    claims: part.claims.clone(),
                };
                rest.amount = rest.amount.saturating_sub(part.amount);
                rest.recent = rest.recent.saturating_sub(part.recent);
                funds.push(part);
            }
            // Funds without a category are in no part, and those that returned are in no share.
            if line.endpoint_type != FlowEnd::Returned.as_str(FlowDistance::Hops(1)) {
                funds.push(rest);
            }
            if let Some(view) = views.iter_mut().find(same) {
                view.parts.append(&mut funds);
            } else {
                views.push(UnitFunds {
                    direction: line.direction,
                    unit: line.amount.asset.clone(),
                    decimals: decimals_of(self.blockchain, &line.amount.asset)
                        .unwrap_or_else(|| self.blockchain.info().native().decimals),
                    parts: funds,
                });
            }
        }
        Ok(views)
    }
}

/// The funds of one direction in one unit.
struct UnitFunds {
    direction: Direction,
    unit: String,
    decimals: u8,
    parts: Vec<RuleFunds>,
}

impl UnitFunds {
    fn view(&self) -> RuleView<'_> {
        RuleView {
            direction: self.direction,
            unit: &self.unit,
            decimals: self.decimals,
            funds: self.parts.clone(),
        }
    }
}

fn base_units(text: &str, path: &str) -> Result<u128, String> {
    text.parse().map_err(|_| format!("`{path}` is no amount in base units: `{text}`"))
}

/// The problem of an answer that was given before rules were recorded.
fn missing_field(path: &str) -> String {
    format!(
        "`{path}` is missing: answers before model 2.0 do not record what rules measure; check the address again"
    )
}

/// The JSON values of a file, each with its position for people. The elements of an array count as values of their
/// own.
fn records(input: impl Read) -> impl Iterator<Item = Result<(String, Value), String>> {
    let lines = Rc::new(Cell::new(Lines { line: 1, start: None }));
    let input = CountingReader { input: BufReader::new(input), lines: Rc::clone(&lines) };
    let mut values = serde_json::Deserializer::from_reader(input).into_iter::<Value>();
    let mut failed = false;
    let values = std::iter::from_fn(move || {
        if failed {
            return None;
        }
        lines.set(Lines { start: None, ..lines.get() });
        let found = values.next()?;
        failed = found.is_err();
        let Lines { line, start } = lines.get();
        let line = start.unwrap_or(line);
        Some(match found {
            Err(error) => vec![Err(format!(
                "the record from line {line} on is not JSON: {error}; expected JSON Lines, or JSON values one \
                 after another"
            ))],
            Ok(Value::Array(elements)) => (1..)
                .zip(elements)
                .map(|(number, element)| Ok((format!("line {line}, element {number}"), element)))
                .collect(),
            Ok(value) => vec![Ok((format!("line {line}"), value))],
        })
    });
    values.flatten()
}

/// Position of a value in a file.
#[derive(Clone, Copy)]
struct Lines {
    /// Line of the next byte.
    line: u64,
    /// Line on which the current value starts.
    start: Option<u64>,
}

/// A reader that counts lines.
struct CountingReader<R> {
    input: R,
    lines: Rc<Cell<Lines>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        let Lines { mut line, mut start } = self.lines.get();
        for byte in buffer.iter().take(length) {
            if !byte.is_ascii_whitespace() {
                start = start.or(Some(line));
            }
            line += u64::from(*byte == b'\n');
        }
        self.lines.set(Lines { line, start });
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use assay_engine::policy::PolicySpec;
    use serde_json::json;

    use super::*;

    fn policy(rules: &Value) -> Policy {
        let spec: PolicySpec = serde_json::from_value(json!({"rules": rules})).unwrap();
        Policy::compile(spec).unwrap()
    }

    /// A recorded answer with funds received directly from a mixer, beside clean funds.
    fn answer(mixer: u64, clean: u64) -> Value {
        let amount = |value: u64| json!({"value": value.to_string(), "asset": "BTC", "usd": null});
        let claim = json!({
            "category": "mixer", "tier": "investigation", "hops": 1, "direct": true, "listed": false,
        });
        let line = |value: u64, parts: Value| {
            json!({
                "direction": "source", "endpoint_type": "mixer", "amount": amount(value),
                "recent_amount": amount(0), "parts": parts,
            })
        };
        let part = json!({
            "amount": mixer.to_string(), "recent_amount": "0", "since_listing": null, "scored": true,
            "claims": [claim],
        });
        json!({
            "check_id": "7", "blockchain": "btc", "address": "a", "risk_score": 29.8, "verdict": "allow",
            "complete": true,
            "scoring_components": [{"kind": "exposure", "rule": null, "contribution": 29.8}],
            "exposure": [line(mixer, json!([part])), line(clean, json!([]))],
        })
    }

    fn test(answer: Value, policy: &Policy) -> Result<TestedRecord, String> {
        Record::read(answer)?.test(policy)
    }

    #[test]
    fn a_stricter_rule_changes_a_recorded_check() {
        let stricter = policy(&json!([{
            "id": "direct_mixing", "description": "Mixing", "categories": ["mixer"], "shareFrom": "5%",
        }]));
        let tested = test(answer(5, 95), &stricter).unwrap();
        assert_eq!(tested.line(), "btc a  allow 29.8 -> review 50.0  +direct_mixing");
        let unchanged = test(answer(5, 95), &Policy::default()).unwrap();
        assert!(!unchanged.changes());
        assert_eq!(unchanged.line(), "btc a  allow 29.8  no rule");
    }

    #[test]
    fn a_rule_that_no_longer_fires_gives_its_points_back() {
        let mut recorded = answer(10, 90);
        recorded["risk_score"] = json!(50);
        recorded["verdict"] = json!("review");
        recorded["scoring_components"].as_array_mut().unwrap().push(json!({
            "kind": "minimum_score_rule", "rule": "direct_mixing", "contribution": 20.2,
        }));
        let same = test(recorded.clone(), &Policy::default()).unwrap();
        assert!(!same.changes());
        assert_eq!(same.line(), "btc a  review 50.0  direct_mixing");
        let off = policy(&json!([{"id": "direct_mixing", "enabled": false}]));
        let tested = test(recorded, &off).unwrap();
        assert_eq!(tested.line(), "btc a  review 50.0 -> allow 29.8  -direct_mixing");
    }

    #[test]
    fn a_block_rule_and_missing_data_decide_as_in_a_check() {
        let block = policy(&json!([{
            "id": "own", "description": "Own", "categories": ["mixer"], "verdict": "block",
        }]));
        assert_eq!(test(answer(1, 99), &block).unwrap().after.verdict, Verdict::Block);
        let mut weak = answer(1, 99);
        weak["exposure"][0]["parts"][0]["claims"][0]["tier"] = json!("community");
        assert_eq!(test(weak, &block).unwrap().after.risk_score, Score::from_tenths(749));
        let mut incomplete = answer(1, 99);
        incomplete["complete"] = json!(false);
        incomplete["verdict"] = json!("indeterminate");
        let tested = test(incomplete, &Policy::default()).unwrap();
        assert_eq!(tested.after.verdict, Verdict::Indeterminate);
    }

    #[test]
    fn a_rule_on_listings_stays_as_it_was_recorded() {
        let mut listed = answer(1, 99);
        listed["scoring_components"].as_array_mut().unwrap().push(json!({
            "kind": "minimum_score_rule", "rule": "cluster_listed", "contribution": 20.2,
        }));
        listed["risk_score"] = json!(50);
        listed["verdict"] = json!("review");
        assert!(!test(listed, &Policy::default()).unwrap().changes());
    }

    #[test]
    fn a_record_without_what_rules_measure_is_refused_with_the_field() {
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut answer = answer(1, 99);
            change(&mut answer);
            test(answer, &Policy::default()).unwrap_err()
        };
        let old = refused(&|answer| {
            answer["exposure"][1].as_object_mut().unwrap().remove("parts");
        });
        assert!(
            old.starts_with("`exposure[1].parts` is missing: answers before model 2.0"),
            "{old}"
        );
        let wrong = refused(&|answer| answer["exposure"][0]["amount"]["value"] = json!("1.5"));
        assert_eq!(wrong, "`exposure[0].amount.value` is no amount in base units: `1.5`");
        let other = refused(&|answer| *answer = json!({"blockchain": "btc"}));
        assert!(other.starts_with("missing field `address`: expected an answer of"), "{other}");
        assert_eq!(refused(&|answer| *answer = json!(5)), "expected the JSON object of an answer");
    }

    #[test]
    fn records_have_the_line_on_which_they_start() {
        let positions = |text: &'static str| -> Vec<_> {
            let place = |found: Result<(String, Value), String>| found.map(|(place, _)| place);
            records(text.as_bytes()).map(place).collect()
        };
        let lines =
            |lines: &[&str]| lines.iter().map(|line| Ok((*line).to_owned())).collect::<Vec<_>>();
        assert_eq!(
            positions("{}\n{}\n\n{\n}\n{}"),
            lines(&["line 1", "line 2", "line 4", "line 6"])
        );
        assert_eq!(positions("[{},\n{}]"), lines(&["line 1, element 1", "line 1, element 2"]));
        let broken = positions("{}\n{]\n{}");
        assert_eq!(broken.len(), 2);
        let error = broken[1].as_ref().unwrap_err();
        assert!(error.starts_with("the record from line 2 on is not JSON"), "{error}");
    }
}

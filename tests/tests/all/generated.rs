//! Files that are generated from the code are what the code says. `UPDATE_GENERATED=1` writes them.

use std::{env, fs, path::PathBuf};

use assay_api::http::{
    openapi,
    problem::{Code, Retry},
};
use assay_engine::{
    evidence::{Pattern, Tier},
    policy::{Policy, PolicySpec},
    taxonomy::Category,
};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Compares a file with what it should be, or writes it.
fn expect(name: &str, expected: &str) {
    let path = path(name);
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} is out of date: run `just generate`");
}

/// Replaces what stands between a section's marks.
fn section(name: &str, mark: &str, content: &str) {
    let text = fs::read_to_string(path(name)).unwrap();
    let (begin, end) = (format!("<!-- generated: {mark} -->"), format!("<!-- end: {mark} -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{name} lacks {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{name} lacks {end}"));
    expect(name, &format!("{before}{begin}\n\n{content}\n{end}{after}"));
}

#[test]
fn the_api_description() {
    let text = serde_json::to_string_pretty(&openapi::document()).unwrap();
    expect("api/openapi.json", &format!("{text}\n"));
}

#[test]
fn the_table_of_problems() {
    let mut table = String::from("| status | `code` | meaning | try again |\n|---|---|---|---|\n");
    for code in Code::ALL {
        let retry = match code.retry() {
            Retry::No => "no",
            Retry::Later => "later",
        };
        let (status, name, title) = (code.status().as_u16(), code.as_str(), code.title());
        table += &format!("| {status} | `{name}` | {title} | {retry} |\n");
    }
    section("docs/api.md", "problems", &table);
}

#[test]
fn the_table_of_categories() {
    let mut table = String::from(
        "| category | severity | service | definition | what the severity rests on |\n|---|---|---|---|---|\n",
    );
    for category in Category::ALL {
        let info = category.info();
        let service = if info.service { "yes" } else { "" };
        table += &format!(
            "| `{}` | {} | {service} | {} | {} |\n",
            info.id, info.severity, info.definition, info.evidence
        );
    }
    section("docs/scoring.md", "categories", &table);
}

#[test]
fn the_table_of_patterns() {
    let mut table = String::from("| pattern | severity | definition |\n|---|---|---|\n");
    for pattern in Pattern::ALL {
        table += &format!(
            "| `{}` | {} | {} |\n",
            pattern.as_str(),
            pattern.severity(),
            pattern.definition()
        );
    }
    section("docs/scoring.md", "patterns", &table);
}

#[test]
fn the_constants_of_the_model() {
    let policy = Policy::default();
    let spec = PolicySpec::default();
    let t = spec.thresholds;
    let mut text = format!(
        "| constant | value |\n|---|---|\n\
         | model version | {} |\n\
         | bands: medium, high, severe from | {}, {}, {} |\n\
         | verdicts: review, block from | {}, {} |\n\
         | half-life of evidence | {} hops |\n\
         | severity of unresolved money | {} |\n\
         | the same key as a listed address scores at least | {} |\n\
         | grave categories from severity | {} |\n\
         | share of grave money that asks for a review | {} % |\n",
        assay_engine::MODEL_VERSION,
        t.medium,
        t.high,
        t.severe,
        t.review,
        t.block,
        f64::from(spec.half_life_hops.tenths()) / 10.0,
        assay_engine::policy::UNRESOLVED_SEVERITY,
        assay_engine::policy::SAME_KEY_SCORE,
        spec.floors.grave_from,
        spec.floors.grave_share_percent,
    );
    for tier in Tier::ALL {
        text += &format!("| cap of tier `{}` | {} |\n", tier.as_str(), policy.cap(tier));
    }
    for point in &spec.amounts["USD"].curve {
        text += &format!(
            "| {} US dollars of the riskiest money are worth | {} |\n",
            point.amount, point.worth
        );
    }
    let unasked = spec.amounts["USD"].unsolicited_up_to;
    text += &format!(
        "| unasked-for money of one category that is let pass, in US dollars | {unasked} |\n"
    );
    section("docs/scoring.md", "constants", &text);
}

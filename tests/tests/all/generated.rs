//! Generated files are up to date. `UPDATE_GENERATED=1` writes them.

use std::{env, fs, path::PathBuf};

use assay_address::{AddressRules, ChainId};
use assay_api::openapi;
use assay_cli::settings::DEFINITIONS;
use assay_engine::{
    evidence::{Direction, Pattern, Tier},
    policy::{Alternative, FIXED_RULES, Policy, Rule},
    taxonomy::Category,
};
use assay_intel::{
    formats::{FORMATS, Format, IntelKind, ReadOption, of_kind, tagpack::CONFIDENCES},
    labels::terms::TermTable,
};
use assay_request::problem::{Code, RetryAdvice};
use assay_service::ready_sources::READY_SOURCES;

mod chain_protocol;
mod client_types;
mod risk_policy;
mod sandbox;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Compares a file with its expected contents, or writes it.
fn expect(name: &str, expected: &str) {
    let path = path(name);
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} is out of date: run `just generate`");
}

/// Compares or writes the text between a section's marks.
pub(crate) fn section(name: &str, mark: &str, content: &str) {
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

/// A table in Markdown.
fn table<const WIDTH: usize>(
    titles: [&str; WIDTH],
    rows: impl IntoIterator<Item = [String; WIDTH]>,
) -> String {
    let line = |cells: &[String; WIDTH]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(WIDTH));
    let rows = rows.into_iter().map(|row| line(&row));
    [line(&titles.map(str::to_owned)), rule].into_iter().chain(rows).collect()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

#[test]
fn the_table_of_problems() {
    let rows = Code::ALL.iter().map(|problem| {
        let retry = match problem.retry() {
            RetryAdvice::No => "no",
            RetryAdvice::Later => "later",
        };
        let status = problem.status().as_u16().to_string();
        [status, code(problem.as_str()), problem.title().to_owned(), retry.to_owned()]
    });
    let titles = ["status", "`code`", "meaning", "try again"];
    section("docs/api.md", "problems", &table(titles, rows));
}

#[test]
fn the_table_of_blockchains() {
    let rows = ChainId::all().map(|chain| {
        let info = chain.info();
        let aliases: Vec<_> = info.aliases.iter().map(|alias| code(alias)).collect();
        [code(info.id), info.name.to_owned(), aliases.join(", "), info.native().code.to_owned()]
    });
    let titles = ["`blockchain`", "chain", "other names", "coin"];
    section("docs/api.md", "blockchains", &table(titles, rows));
}

#[test]
fn the_table_of_reorganization_bounds() {
    let rows = ChainId::all().filter_map(|chain| {
        let ledger = chain.info().outputs()?;
        Some([code(chain.as_str()), ledger.reorganization_bound.to_string()])
    });
    let titles = ["chain", "bound in blocks"];
    section("docs/running.md", "reorganization bounds", &table(titles, rows));
}

#[test]
fn the_table_of_coverage() {
    // A family of chains has one row: chains whose answers have the same parts, those of the EVM apart.
    let is_evm = |chain: ChainId| matches!(chain.info().rules, AddressRules::Evm);
    let family_of = |chain: ChainId| (chain.info().coverage(), is_evm(chain));
    let mut families: Vec<Vec<ChainId>> = Vec::new();
    for chain in ChainId::all() {
        let mut rows = families.iter_mut();
        match rows.find(|family| family_of(family[0]) == family_of(chain)) {
            Some(family) => family.push(chain),
            None => families.push(vec![chain]),
        }
    }
    let rows = families.iter().map(|family| {
        let (coverage, is_evm) = family_of(family[0]);
        let name = if is_evm {
            format!("Ethereum (`eth`) and {} other EVM chains", family.len() - 1)
        } else {
            family.iter().map(|chain| code(chain.as_str())).collect::<Vec<_>>().join(", ")
        };
        let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
        [
            name,
            yes(coverage.addresses),
            yes(coverage.lists),
            yes(coverage.labels),
            yes(coverage.flows),
            yes(coverage.tokens),
            yes(coverage.patterns),
            yes(coverage.transfers),
            yes(coverage.clusters),
        ]
    });
    let titles = [
        "chains",
        "addresses",
        "lists",
        "labels",
        "flows",
        "tokens",
        "patterns",
        "transfers",
        "clusters",
    ];
    let text = table(titles, rows);
    section("docs/api.md", "coverage", &text);
    section("README.md", "coverage", &text);
}

/// Ready-made sources, with their terms.
#[test]
fn the_table_of_ready_made_sources() {
    let rows = READY_SOURCES.map(|source| {
        let commercial = if source.commercial { "; off without a licence" } else { "" };
        [
            code(source.name),
            source.publisher.to_owned(),
            code(source.format),
            format!("{}{commercial}", source.licence),
            source.note.to_owned(),
        ]
    });
    let titles = ["source", "publisher", "format", "terms", "note"];
    section("docs/data-sources.md", "ready-made", &table(titles, rows));
}

#[test]
fn the_table_of_settings() {
    let rows = DEFINITIONS
        .map(|setting| [code(setting.name), code(setting.default), setting.meaning.to_owned()]);
    section("docs/running.md", "settings", &table(["setting", "default", "meaning"], rows));
}

#[test]
fn the_table_of_categories() {
    let rows = Category::ALL.iter().map(|category| {
        let info = category.info();
        let service = if info.service { "†" } else { "" };
        let name = format!("{}{service}", code(info.id));
        [name, info.severity.to_string(), info.definition.to_owned()]
    });
    let text = table(["category", "severity", "definition"], rows);
    section("docs/model/evidence.md", "categories", &text);
}

#[test]
fn the_table_of_patterns() {
    let mut rows: Vec<[String; 2]> = Vec::new();
    for pattern in Pattern::ALL {
        let (severity, name) = (pattern.severity().to_string(), code(pattern.as_str()));
        match rows.last_mut() {
            Some([last, names]) if *last == severity => names.extend([", ", &name]),
            _ => rows.push([severity, name]),
        }
    }
    section("docs/model/evidence.md", "patterns", &table(["severity", "patterns"], rows));
}

#[test]
fn the_constants_of_the_model() {
    let policy = Policy::default();
    let spec = policy.spec();
    let thresholds = spec.thresholds;
    let dollars = &spec.amounts["USD"];
    let row = |name: &str, value: String| [name.to_owned(), value];
    let mut rows = vec![
        row("model version", assay_engine::MODEL_VERSION.to_owned()),
        row(
            "bands: medium, high, severe from",
            format!("{}, {}, {}", thresholds.medium, thresholds.high, thresholds.severe),
        ),
        row("verdicts: review, block from", format!("{}, {}", thresholds.review, thresholds.block)),
        row(
            "half-life of evidence",
            format!("{} hops", f64::from(spec.half_life_hops.tenths()) / 10.0),
        ),
        row("severity of unresolved money", assay_engine::policy::UNRESOLVED_SEVERITY.to_string()),
        row(
            "minimum score of the same key as a listed address",
            assay_engine::policy::SAME_KEY_SCORE.to_string(),
        ),
    ];
    rows.extend(Tier::ALL.map(|tier| {
        row(&format!("cap of tier `{}`", tier.as_str()), policy.cap(tier).to_string())
    }));
    rows.extend(dollars.curve.iter().map(|point| {
        let name = format!("{} US dollars of the riskiest money score", point.amount);
        row(&name, point.score.to_string())
    }));
    rows.push(row(
        "largest sum of unsolicited money of one category that is not scored, in US dollars",
        dollars.unsolicited_up_to.to_string(),
    ));
    let text = table(["constant", "value"], rows);
    section("docs/model/score.md", "constants", &text);
}

#[test]
fn the_table_of_rules() {
    let policy = Policy::default();
    let alternatives = |rule: &Rule| {
        let texts: Vec<_> = rule.alternatives.iter().map(conditions).collect();
        texts.join("; or<br>")
    };
    let rows = policy
        .rules()
        .iter()
        .map(|rule| {
            let verdict = code(rule.verdict.as_str());
            [code(&rule.id), rule.description.clone(), alternatives(rule), verdict]
        })
        .chain(FIXED_RULES.iter().map(|rule| {
            let description = rule.description.trim_end_matches('.').to_owned();
            [code(rule.id), description, "fixed".to_owned(), code("review")]
        }));
    let titles = ["rule", "situation", "conditions", "verdict"];
    let text = table(titles, rows);
    section("docs/model/rules.md", "rules", &text);
}

/// The conditions of a rule, as in its manifest.
fn conditions(alternative: &Alternative) -> String {
    let (selection, thresholds) = (&alternative.selection, &alternative.thresholds);
    let mut texts = Vec::new();
    if let Some(categories) = &selection.categories {
        let names: Vec<_> = categories.iter().map(ToString::to_string).collect();
        texts.push(format!("categories {}", names.join(", ")));
    }
    texts.extend(selection.severity_from.map(|from| format!("severity from {from}")));
    texts.extend(alternative.direction.map(|direction| match direction {
        Direction::Source => "received".to_owned(),
        Direction::Destination => "sent".to_owned(),
    }));
    texts.extend(selection.direct.then(|| "direct".to_owned()));
    texts.extend(selection.hops_up_to.map(|most| format!("up to {most} hops")));
    texts.extend(selection.tier_from.map(|tier| format!("tier from {}", tier.as_str())));
    texts.extend(selection.since_listing.then(|| "since the listing".to_owned()));
    texts.extend(thresholds.share.map(|from| format!("share from {from}")));
    texts.extend(thresholds.recent_share.map(|from| format!("recent share from {from}")));
    texts.extend(thresholds.recent_part.map(|from| format!("recent part from {from}")));
    if !thresholds.amounts.is_empty() {
        let mut amounts: Vec<_> = thresholds.amounts.iter().collect();
        amounts.sort_by_key(|(unit, _)| *unit != "USD");
        let amounts = amounts.into_iter().map(|(unit, amount)| format!("{amount} {unit}"));
        texts.push(format!("amount from {}", amounts.collect::<Vec<_>>().join(" or ")));
    }
    texts.join(", ")
}

#[test]
fn the_terms_of_tagpacks_and_explorers() {
    let rows = CONFIDENCES.iter().map(|word| {
        let percent = format!("{} %", word.confidence.percent());
        [code(word.word), percent, code(word.tier.as_str())]
    });
    let content = table(["word", "confidence", "tier"], rows);
    section("docs/formats.md", "confidences", &content);
    for format in FORMATS {
        if let Some(terms) = format.terms {
            section("docs/formats.md", &format!("{}-terms", format.id), &words(terms));
        }
    }
}

#[test]
fn the_table_of_formats() {
    let rows = FORMATS.map(|format| {
        let id = match format.short_id {
            Some(short) => format!("{}, in short {}", code(format.id), code(short)),
            None => code(format.id),
        };
        let kind = match format.kind() {
            IntelKind::Listings => "listings",
            IntelKind::Labels => "labels",
            IntelKind::Prices => "prices",
        };
        [id, kind.to_owned(), format.title.to_owned(), input(format), options(format)]
    });
    let titles = ["format", "holds", "title", "input", "options"];
    section("docs/formats.md", "formats", &table(titles, rows));
}

/// The kinds of files that a format accepts.
fn input(format: &Format) -> String {
    let extensions: Vec<_> =
        format.files.extensions.iter().map(|extension| code(&format!(".{extension}"))).collect();
    let extensions = extensions.join(" or ");
    if format.files.several {
        format!("a file, or a folder or zip archive of {extensions} files")
    } else {
        format!("a file, or a zip archive with one {extensions} file")
    }
}

/// The options of the command line that a format takes, and its default source.
fn options(format: &Format) -> String {
    let mut options: Vec<_> = [ReadOption::PublishedOn, ReadOption::Blockchain]
        .into_iter()
        .filter(|option| format.takes(*option))
        .map(|option| code(&option.to_string()))
        .collect();
    options.push(match format.default_source {
        Some(source) => format!("{} defaults to {}", code("--source"), code(source)),
        None => format!("{} is required", code("--source")),
    });
    options.join("; ")
}

/// The manifests' list of formats: `assay-tenancy` depends on no other crate, so that the registry is
/// copied to it.
#[test]
fn the_formats_of_intel_sources() {
    let table = |name: &str, kind| {
        let ids: Vec<String> = of_kind(kind).map(|format| format!("\"{}\"", format.id)).collect();
        // As rustfmt writes it.
        let elements = match &ids[..] {
            [_, _] | [_, _, _] => ids.join(", "),
            _ => format!("\n    {},\n", ids.join(",\n    ")),
        };
        format!("\npub(super) static {name}: [&str; {}] = [{elements}];\n", ids.len())
    };
    let text = format!(
        "//! The formats of intel sources. Generated from the registry in `assay-intel`: run `just \
         generate`.\n{}{}{}",
        table("LISTINGS", IntelKind::Listings),
        table("LABELS", IntelKind::Labels),
        table("PRICES", IntelKind::Prices),
    );
    expect("crates/tenancy/src/manifest/intel_formats.rs", &text);
}

/// The words of each category, riskiest category first.
fn words(terms: &TermTable) -> String {
    let rows = Category::ALL.iter().filter_map(|category| {
        let words: Vec<String> = terms
            .rows()
            .filter(|row| row.category == *category)
            .map(|row| match row.only_from {
                [] => code(row.word),
                hosts => format!("{} (from {})", code(row.word), hosts.join(", ")),
            })
            .collect();
        (!words.is_empty()).then(|| [code(category.as_str()), words.join(", ")])
    });
    table(["category", "words"], rows)
}

//! Search of kept checks.
//!
//! One condition of a search leads to an index, the most selective one; the others are tested on the rows that it leads
//! to. A page reads at most [`MOST_READ`] rows, which bounds its cost whatever the conditions are: then it ends early,
//! and its cursor goes on from there.

use std::collections::HashMap;

use assay_tenancy::Name;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::{Session, Value};
use crate::{
    StoreError,
    checks::{COMMON_RULE, COMMON_VERDICT, CheckColumn, CheckKey, CheckPage, CheckQuery},
    row,
    usage::{KeptCheck, members},
    value,
};

/// Largest number of rows that one page reads: below 20 ms of processor time with the slower of both databases.
const MOST_READ: usize = 2_000;

const COLUMNS: &str = "tenant, made_at, id, chain, address, reference, verdict, score, rules";

/// Puts answers together from their parts: an assessment that several answers have is sent once.
const JOINED_ANSWERS: &str = "INSERT INTO checks (id, tenant, made_at, answer)
    SELECT id, tenant, made_at, before || CASE WHEN assessment IS NULL THEN '' ELSE members END || after
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[])
        AS answers (id, tenant, made_at, before, assessment, after)
    LEFT JOIN unnest($7::text[]) WITH ORDINALITY AS assessments (members, assessment) USING (assessment)
    ORDER BY id COLLATE \"C\"
    ON CONFLICT DO NOTHING";

/// Keeps answers.
pub(super) async fn keep_answers(
    session: &mut Session,
    checks: &[&KeptCheck],
) -> Result<(), StoreError> {
    if let Session::Postgres(_) = session {
        session.execute(JOINED_ANSWERS, &joined_answers(checks)).await?;
        return Ok(());
    }
    let mut rows = Vec::with_capacity(checks.len());
    for KeptCheck { id, tenant, made_at, answer, .. } in checks {
        let (id, tenant) = (id.as_str(), tenant.as_str());
        rows.push([id.into(), tenant.into(), (*made_at).into(), answer.to_string().into()]);
    }
    let columns = "id, tenant, made_at, answer";
    session.insert("checks", columns, &rows, "ON CONFLICT DO NOTHING").await
}

/// The values of [`JOINED_ANSWERS`].
fn joined_answers<'a>(checks: &[&'a KeptCheck]) -> [Value<'a>; 7] {
    // Equal assessments of different origin are sent twice.
    let mut numbers: HashMap<*const u8, i64> = HashMap::new();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let (mut number_of, mut assessments) = (Vec::new(), Vec::new());
    for check in checks {
        let (first, assessment, last) = check.answer.parts();
        number_of.push(assessment.map(|assessment| {
            *numbers.entry(assessment.as_ptr()).or_insert_with(|| {
                assessments.push(members(assessment));
                i64::try_from(assessments.len()).unwrap_or(i64::MAX)
            })
        }));
        before.push(first);
        after.push(last);
    }
    let texts = |of: fn(&'a KeptCheck) -> &'a str| -> Vec<&'a str> {
        checks.iter().copied().map(of).collect()
    };
    let made_at: Vec<i64> = checks.iter().map(|check| value::milliseconds(check.made_at)).collect();
    [
        texts(|check| &check.id).into(),
        texts(|check| check.tenant.as_str()).into(),
        made_at.into(),
        before.into(),
        Value::Integers(number_of),
        after.into(),
        Value::Texts(assessments),
    ]
}

/// Keeps the properties by which checks are found.
pub(super) async fn keep_summaries(
    session: &mut Session,
    checks: &[&KeptCheck],
) -> Result<(), StoreError> {
    let found = checks.iter().filter_map(|check| Some((check, check.summary.as_ref()?)));
    let found: Vec<_> =
        found.map(|(check, summary)| (check, summary, summary.rules_text())).collect();
    let mut summaries = Vec::with_capacity(found.len());
    let mut rules = Vec::new();
    for (check, summary, rules_text) in &found {
        let columns = || -> [Value<'_>; 9] {
            [
                check.tenant.as_str().into(),
                check.made_at.into(),
                check.id.as_str().into(),
                summary.blockchain.as_str().into(),
                summary.address.as_str().into(),
                summary.reference.as_deref().into(),
                summary.verdict.as_str().into(),
                u32::from(summary.score.tenths()).into(),
                rules_text.as_str().into(),
            ]
        };
        for rule in summary.rules.iter().filter(|rule| *rule != COMMON_RULE) {
            let [tenant, made_at, id, chain, address, reference, verdict, score, all] = columns();
            let rule = rule.as_str().into();
            rules.push([tenant, made_at, id, chain, address, reference, verdict, score, all, rule]);
        }
        summaries.push(columns());
    }
    let otherwise = "ON CONFLICT DO NOTHING";
    session.insert("check_summaries", COLUMNS, &summaries, otherwise).await?;
    session.insert("check_rules", &format!("{COLUMNS}, rule"), &rules, otherwise).await
}

/// The newest rows that one condition leads to.
struct NewestRows {
    sql: String,
    values: Vec<Value<'static>>,
    /// The other conditions.
    tests: Vec<(CheckColumn, String)>,
}

impl NewestRows {
    fn of(session: &Session, tenant: &Name, query: &CheckQuery) -> Self {
        let given = query.filter.texts().into_iter();
        let mut tests: Vec<(CheckColumn, String)> =
            given.filter_map(|(column, text)| Some((column, text?))).collect();
        let leading = tests.iter().position(|(column, text)| leads(*column, text));
        let leading = leading.map(|index| tests.remove(index));
        // The end of the page before, and the end of the period, are both upper bounds of the key.
        let end =
            query.filter.to.map(|to| CheckKey { made_at: to.as_millisecond(), id: String::new() });
        let below = query.after.clone().into_iter().chain(end).min();
        let below = below.unwrap_or(CheckKey { made_at: i64::MAX, id: String::new() });
        let from = query.filter.from.map_or(i64::MIN, Timestamp::as_millisecond);
        let mut values: Vec<Value<'static>> =
            vec![tenant.to_string().into(), from.into(), below.made_at.into(), below.id.into()];
        let (table, index, condition) = match leading.as_ref().map(|(column, _)| column) {
            // The condition is that of the index: no other search can use it.
            None => ("check_summaries", None, "score >= 0"),
            Some(CheckColumn::Reference) => {
                ("check_summaries", Some("check_summaries_reference"), "reference = $5")
            }
            Some(CheckColumn::Address) => {
                ("check_summaries", Some("check_summaries_address"), "address = $5")
            }
            Some(CheckColumn::Rule) => ("check_rules", None, "rule = $5"),
            Some(CheckColumn::Verdict) => (
                "check_summaries",
                Some("check_summaries_verdict"),
                "verdict = $5 AND verdict <> 'allow'",
            ),
            Some(CheckColumn::Chain) => {
                ("check_summaries", Some("check_summaries_chain"), "chain = $5")
            }
        };
        values.extend(leading.map(|(_, text)| text.into()));
        let table = session.by_index(table, index);
        let sql = format!(
            "SELECT {COLUMNS} FROM {table}
             WHERE tenant = $1 AND made_at >= $2 AND (made_at, id) < ($3, $4) AND {condition}
             ORDER BY made_at DESC, id DESC"
        );
        Self { sql, values, tests }
    }
}

/// True if an index leads to few rows by this condition.
fn leads(column: CheckColumn, text: &str) -> bool {
    match column {
        CheckColumn::Rule => text != COMMON_RULE,
        CheckColumn::Verdict => text != COMMON_VERDICT,
        CheckColumn::Reference | CheckColumn::Address | CheckColumn::Chain => true,
    }
}

/// Reads one page.
pub(super) async fn page(
    session: &mut Session,
    tenant: &Name,
    query: &CheckQuery,
) -> Result<CheckPage, StoreError> {
    let NewestRows { sql: newest, mut values, tests } = NewestRows::of(session, tenant, query);
    let of_newest = values.len();
    let mut conditions = Vec::with_capacity(tests.len());
    for (column, text) in &tests {
        let placeholder = format!("${}", values.len() + 1);
        conditions.push(match column {
            CheckColumn::Reference => format!("reference = {placeholder}"),
            CheckColumn::Address => format!("address = {placeholder}"),
            CheckColumn::Verdict => format!("verdict = {placeholder}"),
            CheckColumn::Chain => format!("chain = {placeholder}"),
            CheckColumn::Rule => session.contains("rules", &placeholder),
        });
        values.push(match column {
            CheckColumn::Rule => format!(" {text} ").into(),
            _ => text.clone().into(),
        });
    }
    let tested = if conditions.is_empty() {
        String::new()
    } else {
        format!("WHERE {}", conditions.join(" AND "))
    };
    let one_more = query.limit.saturating_add(1);
    let text = format!(
        "SELECT * FROM ({newest} LIMIT {MOST_READ}) AS newest {tested}
         ORDER BY made_at DESC, id DESC LIMIT {one_more}"
    );
    session.prefer_order_of_index().await?;
    let rows = session.rows(AssertSqlSafe(text), &values).await?;
    let mut checks = Vec::with_capacity(rows.len());
    for row in &rows {
        checks.push(row::usage::found_check(row)?);
    }
    if checks.len() > query.limit {
        checks.truncate(query.limit);
        let next = checks.last().map(|last| last.key.clone());
        return Ok(CheckPage { checks, next });
    }
    if tests.is_empty() {
        return Ok(CheckPage { checks, next: None });
    }
    // Not enough of the rows that were read passed the tests: the next page begins after the last of them.
    let last = MOST_READ - 1;
    let text = format!("SELECT made_at, id FROM ({newest} LIMIT 1 OFFSET {last}) AS last");
    values.truncate(of_newest);
    let last = session.optional_row(AssertSqlSafe(text), &values).await?;
    let next = last.map(|row| row::usage::check_key(&row)).transpose()?;
    Ok(CheckPage { checks, next })
}

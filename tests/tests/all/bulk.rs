//! Bulk checks by the API and by the command line, with their charges and records.

use std::{
    fmt::Write as _,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use assay_tests::{Caller, Server, assay, production, sample, tenant};
use serde_json::{Value, json};

use crate::support::wait_until;

const SCREEN: &str = "/api/v1/screen";
const LISTED: &str = "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn";
const MIXER: &str = "0x094B38aF1c2b20Ce653843E787754cDaB7846aa7";
const EXCHANGE: &str = "0xEf5dC08260F796c126053CfEEBF6E9b973E29737";

fn screened(caller: &Caller, body: &str) -> Vec<Value> {
    let answer = caller.post(SCREEN, body, &[("content-type", "application/x-ndjson")]);
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn usage(caller: &Caller) -> Vec<(String, String, u64)> {
    let answer = caller.get("/api/v1/usage").json();
    let rows = answer["usage"].as_array().unwrap().clone();
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    rows.iter()
        .map(|row| (text(row, "operation"), text(row, "verdict"), row["count"].as_u64().unwrap()))
        .collect()
}

#[test]
fn a_body_without_a_row_is_not_answered_by_silence() {
    let (_server, caller, _) = sample();
    for body in ["", "\n", " \r\n\n"] {
        let rows = screened(&caller, body);
        assert_eq!(rows.len(), 1, "{body:?}");
        assert_eq!((&rows[0]["row"], &rows[0]["verdict"]), (&json!(1), &Value::Null));
        assert_eq!(rows[0]["error"], "the body contains no row");
    }
}

#[test]
fn an_array_of_rows_is_answered_by_an_array() {
    let (_server, caller, _) = sample();
    let rows = [
        json!({ "blockchain": "btc", "address": LISTED, "reference": "a" }),
        json!(5),
        json!({ "blockchain": "eth", "address": MIXER }),
    ];
    let body = json!(rows).to_string();
    let answer = caller.post(SCREEN, &body, &[]);
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    assert_eq!(answer.json(), json!(screened(&caller, &lines.join("\n"))));
    assert_eq!(answer.json()[1]["error"], "expected a JSON object");

    let empty = caller.post(SCREEN, "[]", &[]).json();
    assert_eq!(empty[0]["error"], "the body contains no row");
    assert_eq!(caller.post(SCREEN, "{}", &[]).problem(), (400, "invalid_request".into()));
    assert_eq!(caller.post(SCREEN, "[1,", &[]).problem(), (400, "malformed_json".into()));
    let large = format!("[{}1]", "1,".repeat(600_000));
    assert_eq!(caller.post(SCREEN, &large, &[]).problem(), (413, "body_too_large".into()));
    // More rows than are answered together.
    let many = format!("[{}1]", "1,".repeat(700));
    assert_eq!(caller.post(SCREEN, &many, &[]).json().as_array().unwrap().len(), 701);
}

#[test]
fn rows_are_answered_in_order_and_wrong_ones_by_themselves() {
    let (_server, caller, _) = sample();
    let body = format!(
        "{{\"blockchain\":\"btc\",\"address\":\"{LISTED}\",\"reference\":\"a\"}}\n\
         nonsense\n\n\
         {{\"blockchain\":\"eth\",\"address\":\"{MIXER}\"}}\r\n\
         {{\"blockchain\":\"eth\",\"address\":\"{LISTED}\"}}\n\
         {{\"blockchain\":\"btc\",\"address\":\"x\",\"more\":1}}\n\
         {{\"blockchain\":\"btc\",\"address\":\"{}\"}}\n\
         {{\"blockchain\":\"bsc\",\"address\":\"{EXCHANGE}\"}}",
        "1".repeat(9000)
    );
    let rows = screened(&caller, &body);
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row["row"].as_u64().unwrap(), row["verdict"].as_str(), row["error"].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (1, Some("block"), None),
            (2, None, Some("expected a JSON object")),
            (3, Some("review"), None),
            (
                4,
                None,
                Some(
                    "not a valid eth address: this is a BTC address (`btc`): ask for that blockchain"
                )
            ),
            (
                5,
                None,
                Some(
                    "unknown field `more`, expected one of `blockchain`, `address`, `reference` at \
                     character 40"
                )
            ),
            (6, None, Some("the line is longer than 8192 bytes")),
            (7, Some("allow"), None),
        ]
    );
    assert_eq!(
        rows[0],
        json!({
            "row": 1, "reference": "a", "blockchain": "btc", "address": LISTED, "risk_score": 100,
            "risk_level": "severe", "verdict": "block", "categories": ["sanctions"],
            "sanctioned": true,
            "reason": "listed on Sample Sanctions List: GREYMARSH, Ilja (SAMPLE-CYBER)",
            "scope": "lists_and_labels", "decided_by": "lists_and_labels",
            "error": null,
        })
    );
    let refused = caller.post(SCREEN, "{}", &[]);
    assert_eq!(refused.problem(), (400, "invalid_request".into()));
    let rows = screened(&caller, &format!("x\n{{\"x\":\"{}\"}}", "a".repeat(9000)));
    assert_eq!(rows.len(), 2, "also where the last line has no end");
}

#[test]
fn answered_rows_are_charged_and_no_others() {
    let (server, caller, _) = sample();
    let row = |address: &str| format!("{{\"blockchain\":\"btc\",\"address\":\"{address}\"}}\n");
    screened(&caller, &[row(LISTED), row("bad"), row(LISTED)].concat());
    let _ = caller.check("btc", LISTED);
    let _ = caller.check("btc", "bad");
    let expected =
        [("check".to_owned(), "block".to_owned(), 1), ("screen".to_owned(), "block".to_owned(), 2)];
    assert_eq!(usage(&caller), expected, "at once");
    let limits = caller.get("/api/v1/sources").header("ratelimit").to_owned();
    assert!(limits.contains("\"daily\";r=99997"), "{limits}");
    // The stored usage is the same in the API and on the command line.
    wait_until("usage is written", || {
        server.assay(&["usage", "--json"]).ok().json().as_array().unwrap().len() == 2
    });
    assert_eq!(usage(&caller), expected);
}

#[test]
fn usage_is_written_when_the_server_stops() {
    let (mut server, caller, _) = sample();
    for _ in 0..20 {
        let _ = caller.check("btc", LISTED);
    }
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let rows = server.assay(&["usage", "--json"]).ok().json();
    assert_eq!(rows[0]["count"], 20);
}

#[test]
fn a_quota_ends_the_rows_that_exceed_it() {
    let (server, _) = production();
    let plan = "\
apiVersion: assay.dev/v1alpha1
kind: Plan
metadata: {name: tiny}
spec:
  displayName: Tiny
  apiAccess: true
  maxScreenRows: 5
  retention: {checks: 0s, usage: 1d}
  limits:
    - {name: daily, requests: 3, window: 1d, counts: checks}
---
";
    let manifests = [plan, &tenant("tiny", "tiny")].concat();
    fs::write(server.directory().path().join("tiny.yaml"), manifests).unwrap();
    let _ = server.assay(&["apply", "-f", "tiny.yaml"]).ok();
    let key = server.assay(&["keys", "create", "--tenant", "tiny", "--json"]).ok().json();
    let caller = server.caller(key["key"].as_str().unwrap());
    wait_until("the key is known", || caller.get("/api/v1/sources").status == 200);
    let row = "{\"blockchain\":\"btc\",\"address\":\"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\"}\n";
    let rows = screened(&caller, &row.repeat(7));
    let errors: Vec<&str> = rows.iter().map(|row| row["error"].as_str().unwrap_or("")).collect();
    assert_eq!((errors.len(), &errors[..3]), (6, &["", "", ""][..]));
    assert!(errors[3].starts_with("daily is used up; try again in "), "{errors:?}");
    assert_eq!(errors[5], "more than 5 rows: the plan allows at most 5 in one request");
    // Without the list that is mandatory, nothing is allowed.
    assert_eq!(rows[0]["verdict"], "indeterminate");

    // A plan that keeps no answers has none to look up.
    let refused = caller.check("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
    assert_eq!(refused.problem().1, "quota_exceeded");
}

#[test]
fn with_mandatory_flows_screening_allows_nothing() {
    let (server, _, caller) = sample();
    let exchange = format!("{{\"blockchain\":\"bsc\",\"address\":\"{EXCHANGE}\"}}");
    assert_eq!(screened(&caller, &exchange)[0]["verdict"], "allow");
    let policy = "apiVersion: assay.dev/v1alpha1\nkind: RiskPolicy\nmetadata: {name: sample}\n\
                  spec: {flowsRequired: true, mandatorySources: [{name: sample-sanctions}], lists: {sample-sanctions: blocking}}\n";
    fs::write(server.directory().path().join("flows.yaml"), policy).unwrap();
    let _ = server.assay(&["apply", "-f", "flows.yaml"]).ok();
    wait_until("the policy is there", || {
        screened(&caller, &exchange)[0]["verdict"] == "indeterminate"
    });
}

#[test]
fn rows_are_answered_while_more_are_on_their_way() {
    let (server, caller, _) = sample();
    let mut stream = TcpStream::connect(server.api).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let head = format!(
        "POST {SCREEN} HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nContent-Type: application/x-ndjson\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        caller.key
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut received = String::new();
    for number in 1..=3 {
        let row = format!("{{\"blockchain\":\"btc\",\"address\":\"{LISTED}\"}}\n");
        stream.write_all(format!("{:x}\r\n{row}\r\n", row.len()).as_bytes()).unwrap();
        let mut buffer = [0; 4096];
        while !received.contains(&format!("\"row\":{number},")) {
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0, "{received}");
            received.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }
    // A key that is revoked meanwhile answers no more rows.
    let id = caller.key.split('_').nth(2).unwrap();
    let _ = server.assay(&["keys", "revoke", id]).ok();
    wait_until("the key is dead", || caller.get("/api/v1/sources").status == 401);
    let row = format!("{{\"blockchain\":\"btc\",\"address\":\"{LISTED}\"}}\n");
    stream.write_all(format!("{:x}\r\n{row}\r\n", row.len()).as_bytes()).unwrap();
    let mut buffer = [0; 4096];
    while !received.contains("the API key is no longer valid for this operation") {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "{received}");
        received.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    assert!(
        !received.contains("\"row\":4,\"reference\":null,\"blockchain\":\"btc\""),
        "{received}"
    );
}

#[test]
fn an_answer_can_be_looked_up_by_its_tenant_only() {
    let (server, caller, other) = sample();
    let answer = caller.check("btc", LISTED);
    let id = answer.json()["check_id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/checks/{id}");
    assert_eq!(caller.get(&path).text, answer.text, "at once, to the byte");
    assert_eq!(other.get(&path).problem(), (404, "not_found".into()));
    wait_until("it is written", || {
        // Once it is purged it was there.
        caller.get(&path).status == 200 && {
            let run = server.assay(&["purge", "--tenant", "sample-business", "--all"]).ok();
            run.stdout.contains("sample-business: 1 answers")
        }
    });
    assert_eq!(caller.get(&path).problem(), (404, "not_found".into()));
}

#[test]
fn earlier_checks_are_found_by_what_people_remember() {
    // Given checks of two tenants.
    let (_server, caller, other) = sample();
    let post = |caller: &Caller, chain: &str, address: &str, reference: &str| {
        let body = json!({ "blockchain": chain, "address": address, "reference": reference });
        let answer = caller.post("/api/v1/check/address", &body.to_string(), &[]);
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["check_id"].clone()
    };
    let listed = post(&caller, "btc", LISTED, "order 1");
    let mixer = post(&caller, "eth", MIXER, "order 2");
    let exchange = post(&caller, "bsc", EXCHANGE, "order 3");
    let theirs = post(&other, "btc", LISTED, "order 1");
    let found = |caller: &Caller, query: &str| -> Vec<Value> {
        let answer = caller.get(&format!("/api/v1/checks?{query}"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.text);
        let checks = answer.json()["checks"].as_array().unwrap().clone();
        checks.into_iter().map(|check| check["check_id"].clone()).collect()
    };
    let only = |id: &Value| vec![id.clone()];
    // When they are searched for, before and after they are written, then each tenant finds its own, the newest first.
    for _ in 0..2 {
        assert_eq!(found(&caller, ""), [&exchange, &mixer, &listed].map(Value::clone));
        assert_eq!(found(&caller, "reference=order%201"), only(&listed));
        assert_eq!(found(&caller, "blockchain=Ethereum"), only(&mixer));
        let lower = MIXER.to_lowercase();
        assert_eq!(found(&caller, &format!("address={lower}")), only(&mixer));
        assert_eq!(found(&caller, &format!("address={LISTED}&verdict=block")), only(&listed));
        assert_eq!(found(&caller, "verdict=review&blockchain=btc"), Vec::<Value>::new());
        assert_eq!(found(&caller, "from=2100-01-01T00:00:00Z"), Vec::<Value>::new());
        assert_eq!(found(&other, &format!("address={LISTED}")), only(&theirs));
        let answer = caller.get(&format!("/api/v1/checks/{}", listed.as_str().unwrap())).json();
        let rule = answer["reasons"][0]["code"].as_str().unwrap().to_owned();
        assert_eq!(found(&caller, &format!("rule={rule}")), only(&listed), "{rule}");
        // And pages lead to each once.
        let mut pages = Vec::new();
        let mut path = "/api/v1/checks?limit=1".to_owned();
        loop {
            let page = caller.get(&path).json();
            pages.extend(
                page["checks"].as_array().unwrap().iter().map(|one| one["check_id"].clone()),
            );
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("/api/v1/checks?limit=1&cursor={cursor}");
        }
        assert_eq!(pages, [&exchange, &mixer, &listed].map(Value::clone));
        std::thread::sleep(Duration::from_secs(2));
    }
    // And a wrong parameter is refused by its name.
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("cursor=x", "cursor"),
        ("verdict=good", "verdict"),
        ("from=yesterday", "from"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from"),
        ("blockchain=btc&address=nobody", "address"),
        ("blockchain=nowhere", "blockchain"),
    ] {
        let answer = caller.get(&format!("/api/v1/checks?{query}"));
        assert!([400, 422].contains(&answer.status), "{query}: {}", answer.text);
        assert_eq!(answer.json()["errors"][0]["field"], field, "{query}: {}", answer.text);
    }
}

#[test]
fn an_answer_older_than_the_plan_keeps_it_is_gone() {
    let (server, caller) = production();
    let id = caller.check("btc", LISTED).json()["check_id"].as_str().unwrap().to_owned();
    assert_eq!(caller.get(&format!("/api/v1/checks/{id}")).status, 200);
    let plan = "\
apiVersion: assay.dev/v1alpha1
kind: Plan
metadata: {name: enterprise}
spec:
  displayName: Enterprise
  apiAccess: true
  retention: {checks: 0s, usage: 1d}
  limits:
    - {name: burst, requests: 1000, window: 1s, counts: requests}
";
    fs::write(server.directory().path().join("plan.yaml"), plan).unwrap();
    let _ = server.assay(&["apply", "-f", "plan.yaml"]).ok();
    wait_until("it is forgotten", || caller.get(&format!("/api/v1/checks/{id}")).status == 404);
}

fn screen_file(directory: &Path, name: &str, content: &str, more: &[&str]) -> String {
    fs::write(directory.join(name), content).unwrap();
    let base = ["--sample", "screen", name, "-o", "out"];
    let _ = assay(directory, base.iter().chain(more)).ok();
    fs::read_to_string(directory.join("out")).unwrap()
}

#[test]
fn a_file_keeps_its_columns_and_gains_the_result() {
    let (server, ..) = sample();
    let directory = server.directory();
    let input = format!(
        "\u{FEFF}id,Blockchain,address,note\n1,btc,{LISTED},\"a, b\"\n2,btc,bad,\n3,eth\n4,BSC,{EXCHANGE},=1+1\n"
    );
    let output = screen_file(directory.path(), "in.csv", &input, &[]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(
        lines[0],
        "id,Blockchain,address,note,risk_score,risk_level,verdict,categories,sanctioned,error,reason,scope,decided_by"
    );
    assert_eq!(
        lines[1],
        format!(
            "1,btc,{LISTED},\"a, b\",100,severe,block,sanctions,true,,\"listed on Sample Sanctions List: GREYMARSH, Ilja (SAMPLE-CYBER)\",lists_and_labels,lists_and_labels"
        )
    );
    assert!(lines[2].starts_with("2,btc,bad,,,,,,,\"not a valid btc address: "), "{}", lines[2]);
    assert_eq!(lines[3], "3,eth,,,,,,,,line 4: 2 cells where the header has 4,,,");
    assert!(lines[4].starts_with(&format!("4,BSC,{EXCHANGE},=1+1,4.7,low,allow,exchange,false,,")));

    let same = assay(directory.path(), ["--sample", "screen", "in.csv", "-o", "in.csv"]);
    assert_eq!(same.code, 2, "{}", same.stderr);
    assert_eq!(fs::read_to_string(directory.path().join("in.csv")).unwrap(), input);

    // An interrupted run is continued from any point of interruption.
    for cut in [1, 40, 130, output.len() - 1, output.len()] {
        fs::write(directory.path().join("out"), &output.as_bytes()[..cut]).unwrap();
        let resumed = screen_file(directory.path(), "in.csv", &input, &["--resume"]);
        assert_eq!(resumed, output, "cut at {cut}");
    }

    let lines = format!(
        "{{\"blockchain\":\"btc\",\"address\":\"{LISTED}\",\"id\":7}}\n[1]\n\n{{\"blockchain\":5}}\n"
    );
    let output = screen_file(directory.path(), "in.jsonl", &lines, &[]);
    let rows: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&rows[0]["id"], &rows[0]["verdict"]), (&json!(7), &json!("block")));
    assert_eq!(rows[1]["error"], "line 2: expected a JSON object");
    assert_eq!(rows[2]["error"], "line 4: `blockchain` is not a text");

    // A quote that is not closed spoils its own row and no other.
    let open = format!("blockchain,address,name\nbtc,x,\"Foo\nbtc,{LISTED},\"a \"\"b\"\"\"\n");
    let output = screen_file(directory.path(), "open.csv", &open, &[]);
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[1].contains("line 2: a quoted cell is not closed"), "{}", lines[1]);
    assert!(lines[2].contains(",block,sanctions,"), "{}", lines[2]);

    for (input, message) in [
        ("chain,address\n", "no column `blockchain` in the header: it has chain, address"),
        ("blockchain,address,verdict\n", "the output would have the column `verdict` twice"),
    ] {
        fs::write(directory.path().join("wrong.csv"), input).unwrap();
        let run = assay(directory.path(), ["--sample", "screen", "wrong.csv"]);
        assert_eq!(run.code, 3);
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn spans_of_a_file_are_screened_apart_and_joined() {
    let (server, ..) = sample();
    let directory = server.directory();
    let mut input = "id,blockchain,address\n".to_owned();
    for id in 0..11 {
        // An invalid row is told by its line in the whole file.
        let address = if id % 4 == 1 { "bad" } else { LISTED };
        writeln!(input, "{id},btc,{address}").unwrap();
    }
    for extension in ["csv", "jsonl"] {
        let format = ["--output-format", extension];
        let whole = screen_file(directory.path(), "in.csv", &input, &format);
        let spans: Vec<String> = (0..4)
            .map(|index| {
                let span = format!("{index}/4");
                let flags = [&format[..], &["--span", &span]].concat();
                let part = screen_file(directory.path(), "in.csv", &input, &flags);
                // A lost program's span is continued alone.
                fs::write(directory.path().join("out"), &part.as_bytes()[..part.len() / 2])
                    .unwrap();
                let flags = [&flags[..], &["--resume"]].concat();
                assert_eq!(screen_file(directory.path(), "in.csv", &input, &flags), part);
                part
            })
            .collect();
        assert_eq!(spans.concat(), whole);
    }
    // More spans than rows: some are empty.
    let last = screen_file(directory.path(), "in.csv", &input, &["--span", "0/100"]);
    assert_eq!(last.lines().count(), 1, "{last}");
    for (flags, code, message) in [
        (["in.csv", "--span", "4/4"], 2, "0/8 to 7/8"),
        (["-", "--span", "0/4"], 2, "standard input is read once"),
    ] {
        let run = assay(directory.path(), ["--sample", "screen"].iter().chain(&flags));
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn input_and_output_of_screen_have_a_format_each() {
    let (server, ..) = sample();
    let directory = server.directory();
    let csv = format!("id,blockchain,address\n1,btc,{LISTED}\n2,btc\n");
    let output = screen_file(directory.path(), "f.csv", &csv, &["--output-format", "jsonl"]);
    let rows: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&rows[0]["id"], &rows[0]["verdict"]), (&json!("1"), &json!("block")));
    assert_eq!(rows[1]["error"], "line 3: 2 cells where the header has 3");

    // A CSV output has the fields of the first row, one line a row.
    let lines = format!(
        "{{\"note\":\"a\\nb\",\"blockchain\":\"btc\",\"address\":\"{LISTED}\"}}\n\
         {{\"blockchain\":\"btc\",\"address\":\"{LISTED}\",\"more\":1}}\n[1]\n"
    );
    let csv = ["--output-format", "csv"];
    let output = screen_file(directory.path(), "f.jsonl", &lines, &csv);
    let rows: Vec<&str> = output.lines().collect();
    assert!(rows[0].starts_with("note,blockchain,address,risk_score,"), "{output}");
    assert!(rows[1].starts_with(&format!("a b,btc,{LISTED},100,")), "{output}");
    assert!(rows[2].starts_with(&format!(",btc,{LISTED},100,")), "{output}");
    assert!(rows[3].contains("line 3: expected a JSON object"), "{output}");
    let end = output.len() - 5;
    fs::write(directory.path().join("out"), &output.as_bytes()[..end]).unwrap();
    let resumed = ["--output-format", "csv", "--resume"];
    assert_eq!(screen_file(directory.path(), "f.jsonl", &lines, &resumed), output);

    let run = assay(directory.path(), ["--sample", "screen", "f.jsonl", "--format", "jsonl"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("replaced by --input-format and --output-format"),
        "{}",
        run.stderr
    );
}

#[test]
fn policy_diff_reports_a_change_before_it_is_applied() {
    let (server, ..) = sample();
    let input = format!("blockchain,address\nbtc,{LISTED}\neth,{MIXER}\nbsc,{EXCHANGE}\nbtc,bad\n");
    fs::write(server.directory().path().join("in.csv"), input).unwrap();
    let run = server.assay(&["policy", "diff", "sample", "default", "in.csv", "--json"]).ok();
    let rows: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<_> = rows
        .iter()
        .map(|row| (row["before"]["verdict"].as_str(), row["after"]["verdict"].as_str()))
        .collect();
    // To the default policy the sample's list is not binding, and its own mandatory list is missing.
    assert_eq!(verdicts, [(Some("block"), Some("review")), (Some("allow"), Some("indeterminate"))]);
    assert!(run.stderr.contains("1 from block to review"), "{}", run.stderr);
    assert!(run.stderr.contains("1 unchanged, 1 not valid"), "{}", run.stderr);
}

/// A server stops reading rows if the client reads no answers.
#[test]
fn a_caller_that_does_not_read_is_not_read_from() {
    let (server, caller, _): (Server, Caller, Caller) = {
        let (server, caller, other) = sample();
        (server, other, caller)
    };
    let mut stream = TcpStream::connect(server.api).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    let head = format!(
        "POST {SCREEN} HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nContent-Type: application/x-ndjson\r\n\
         Content-Length: 1000000000\r\n\r\n",
        caller.key
    );
    stream.write_all(head.as_bytes()).unwrap();
    let row = "{\"blockchain\":\"btc\",\"address\":\"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\"}\n";
    let block = row.repeat(1000);
    let mut sent = 0;
    while stream.write_all(block.as_bytes()).is_ok() {
        sent += block.len();
        assert!(sent < 200 << 20, "the server reads on although nobody reads its answers");
    }
    assert!(server.peak_resident_bytes() < 200 << 20);
}

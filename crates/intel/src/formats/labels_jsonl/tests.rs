use assay_engine::{evidence::Tier, taxonomy::Category};

use super::*;

const ADDRESS: &str = "1NDyJtNTjmwk5xPNhjgAMu4HDHigtobu1s";

fn read_lines(text: &str) -> Result<LabelSet, String> {
    let text = text.replace("ADDRESS", ADDRESS);
    read(text.as_bytes(), "l.jsonl", &"mine".parse().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn a_line_is_a_label_as_in_csv() {
    let set = read_lines(
        "{\"blockchain\": \"btc\", \"address\": \"ADDRESS\", \"category\": \"scam\", \
         \"confidence\": 80, \"tier\": \"heuristic\", \"entity\": \"A \\\"B\\\"\", \
         \"author\": null}\r\n\n",
    )
    .unwrap();
    assert_eq!(set.rejected, []);
    let label = &set.labels[0].label;
    assert_eq!((label.category, label.tier), (Category::Scam, Tier::Heuristic));
    assert_eq!(label.confidence.percent(), 80);
    assert_eq!(label.entity.as_deref(), Some("A \"B\""));
    assert_eq!(label.author, None);
}

#[test]
fn a_bad_value_rejects_its_line() {
    let set = read_lines(
        "{\"blockchain\": \"btc\", \"address\": \"ADDRESS\"}\n\
         {\"blockchain\": \"btc\", \"address\": \"ADDRESS\", \"category\": \"scam\", \
         \"confidence\": 0.8}\n",
    )
    .unwrap();
    assert_eq!(set.labels, []);
    assert_eq!(set.rejected[0].position, "l.jsonl, line 1");
    assert_eq!(set.rejected[0].reason, "`category` is empty");
    assert_eq!(
        set.rejected[1].reason,
        "`confidence` is `0.8`: write a whole number of percent from 0 to 100"
    );
}

#[test]
fn a_line_that_is_no_label_is_refused() {
    for (line, expected) in [
        ("{\"notes\": \"x\"}", "no such field: `notes` (known: blockchain, address, "),
        ("{\"address\": \"x\", \"address\": \"y\"}", "field `address` is repeated"),
        ("{\"address\": [\"x\"]}", "expected a text or a number"),
        ("{\"address\": true}", "expected a text or a number"),
        ("[]", "expected an object with the fields of a label"),
        ("{\"address\": \"x\"", "EOF while parsing"),
        ("{} {}", "trailing characters"),
    ] {
        let error = read_lines(&format!("\n{line}\n")).unwrap_err();
        let told = "line 2 cannot be read as a label in JSON: ";
        assert!(error.starts_with(told) && error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn other_encodings_and_endless_lines_are_refused() {
    assert!(read_lines("{}\0").unwrap_err().starts_with("line 1: a NUL byte"));
    assert!(read_lines(&" ".repeat(1_048_577)).unwrap_err().contains("line 1 is longer than"));
    assert_eq!(read_lines("\u{feff}").unwrap(), LabelSet::default());
}

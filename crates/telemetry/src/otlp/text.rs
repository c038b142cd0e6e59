//! Parser for the program's own `OpenMetrics` text, so that a collector and a scraper get the same
//! values from every part of the program.

/// A metric family: all samples of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FamilyText {
    pub(super) name: String,
    pub(super) help: String,
    pub(super) kind: String,
    pub(super) samples: Vec<Sample>,
}

/// One line: the suffix after the family's name, labels, and the value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) suffix: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) value: f64,
}

/// Parses all families of a text. Lines of unknown form are skipped.
pub(super) fn families(text: &str) -> Vec<FamilyText> {
    let mut families: Vec<FamilyText> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (Some(what), Some(name), Some(said)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            if families.last().is_none_or(|family| family.name != name) {
                families.push(FamilyText { name: name.to_owned(), ..FamilyText::default() });
            }
            let Some(family) = families.last_mut() else { continue };
            match what {
                "HELP" => said.trim_end_matches('.').clone_into(&mut family.help),
                "TYPE" => said.clone_into(&mut family.kind),
                _ => {}
            }
        } else if let Some(family) = families.last_mut() {
            family.samples.extend(sample(line, &family.name));
        }
    }
    families
}

fn sample(line: &str, family: &str) -> Option<Sample> {
    let (named, value) = line.rsplit_once(' ')?;
    let (name, labels) = match named.split_once('{') {
        Some((name, labels)) => (name, read_labels(labels.strip_suffix('}')?)),
        None => (named, Vec::new()),
    };
    let suffix = name.strip_prefix(family)?.to_owned();
    Some(Sample { suffix, labels, value: value.parse().ok()? })
}

/// Parses `name="value",name="value"`, with `\"`, `\\` and `\n` in values.
fn read_labels(text: &str) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once("=\"") {
        let mut value = String::new();
        let mut characters = after.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => break,
                '\\' => match characters.next() {
                    Some('n') => value.push('\n'),
                    Some(other) => value.push(other),
                    None => {}
                },
                other => value.push(other),
            }
        }
        labels.push((name.trim_start_matches(',').to_owned(), value));
        rest = characters.as_str();
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_read_with_their_samples() {
        let text = "# HELP assay_requests HTTP requests.\n# TYPE assay_requests counter\n\
                    assay_requests_total{route=\"/a\",code=\"ok\"} 3\n\
                    assay_requests_total{route=\"/b\",code=\"x\"} 1\n\
                    # HELP assay_ready Whether it is ready.\n# TYPE assay_ready gauge\n\
                    assay_ready 1\n# EOF\n";
        let families = families(text);
        let names: Vec<_> = families.iter().map(|family| family.name.as_str()).collect();
        assert_eq!(names, ["assay_requests", "assay_ready"]);
        let requests = &families[0];
        assert_eq!((requests.kind.as_str(), requests.help.as_str()), ("counter", "HTTP requests"));
        assert_eq!(requests.samples.len(), 2);
        assert_eq!(requests.samples[0].suffix, "_total");
        assert_eq!(requests.samples[0].labels[0], ("route".into(), "/a".into()));
        assert!((requests.samples[0].value - 3.0).abs() < f64::EPSILON);
        assert_eq!(families[1].samples[0].suffix, "");
    }

    #[test]
    fn label_values_are_unescaped() {
        let labels = read_labels(r#"a="x\"y\\z\n",b="},{ =""#);
        assert_eq!(labels[0], ("a".into(), "x\"y\\z\n".into()));
        assert_eq!(labels[1], ("b".into(), "},{ =".into()));
    }
}

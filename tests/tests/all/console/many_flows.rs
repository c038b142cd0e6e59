//! A check with thousands of flows: its page shows the most important ones, and links pages of the others.

use std::collections::BTreeSet;

use assay_tests::{ManyFlows, production_with};

use super::Person;

/// Number of payers, and of payees: 2,000 flows together.
const PARTIES: u32 = 1_000;
/// Beginning of a flow.
const FLOW: &str = "<details class=\"flow\"";

#[test]
fn of_two_thousand_flows_the_first_are_shown_and_the_others_linked() {
    let flows = ManyFlows { parties: PARTIES, name: &|number| format!("Party {number:04}") };
    let (server, _, subject) = production_with(|directory| flows.record(directory));
    let person = Person::sign_in(&server, "acme");
    let page = person.get(&format!("/console/check/btc/{subject}"));
    assert_eq!(page.status, 200, "{}", page.text);
    let text = &page.text;

    // The pictures, a wide one and narrow ones, have ten flows of each side by themselves, and the sum of the others: by its
    // name in both, and in the wide one by its label for readers who do not see it, its title and its details.
    assert_eq!(text.matches("990 more flows").count(), 2 * 5);
    // The lists show the first forty of each direction, and what the others are together.
    assert_eq!(text.matches(FLOW).count(), 2 * 40);
    assert_eq!(text.matches("<details class=\"flow\" open>").count(), 2 * 3, "risky ones");
    assert_eq!(text.matches(">960 more flows</a>, 9").count(), 2, "more than 90 % of all: {text}");
    // The timeline has the forty weeks of the payments, and the one of the payout.
    assert!(text.contains("As a table: 41 weeks"), "{text}");
    assert!(text.len() < 400_000, "{} bytes", text.len());

    // Pages of a hundred have the others, each flow once.
    let mut parties: Vec<String> = parties_of(text);
    for direction in ["source", "destination"] {
        let mut next = linked(text, &format!("flows?direction={direction}"));
        let mut pages = 0;
        while let Some(path) = next {
            let page = person.get(&path);
            assert_eq!(page.status, 200, "{path}: {}", page.text);
            assert!(page.text.matches(FLOW).count() <= 100, "{path}");
            parties.extend(parties_of(&page.text));
            let before_next = page.text.split(">Next flows</a>").next().unwrap();
            let has_next = before_next.len() < page.text.len();
            next = has_next.then(|| linked_last(before_next));
            pages += 1;
        }
        assert_eq!(pages, 10, "{direction}");
    }
    assert_eq!(parties.len(), 2_000);
    assert_eq!(parties.iter().collect::<BTreeSet<_>>().len(), 2_000);

    // A number beyond the last flow shows none.
    let first = linked(text, "flows?direction=source").unwrap();
    let beyond = person.get(&first.replace("from=41", "from=2000"));
    assert!(
        beyond.text.contains("No flow has the number 2000: there are 1000."),
        "{}",
        beyond.text
    );
}

/// The parties of the flows on a page.
fn parties_of(page: &str) -> Vec<String> {
    let summaries =
        page.split("<summary>").skip(1).filter_map(|rest| rest.split("</summary>").next());
    let named = summaries.filter_map(|summary| summary.split("Party ").nth(1));
    named.filter_map(|rest| rest.get(..4)).map(str::to_owned).collect()
}

/// The first path on a page that has a part.
fn linked(page: &str, part: &str) -> Option<String> {
    let (before, rest) = page.split_once(part)?;
    let beginning = before.rsplit("href=\"").next()?;
    let end = rest.split('"').next()?;
    Some(format!("{beginning}{part}{end}").replace("&amp;", "&"))
}

/// The last path of a text.
fn linked_last(text: &str) -> String {
    let path = text.rsplit("href=\"").next().unwrap().split('"').next().unwrap();
    path.replace("&amp;", "&")
}

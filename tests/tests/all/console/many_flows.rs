//! A check with thousands of flows: the largest are shown, the others summed up and opened.

use assay_tests::{ManyFlows, production_with};

use super::Person;

/// Number of payers, and of payees: 2,000 flows together.
const PARTIES: u32 = 1_000;

#[test]
fn of_two_thousand_flows_the_largest_are_shown_and_the_others_open() {
    let flows = ManyFlows { parties: PARTIES, name: &|number| format!("Party {number:04}") };
    let (server, _, subject) = production_with(|directory| flows.record(directory));
    let person = Person::sign_in(&server, "acme");
    let page = person.get(&format!("/console/check/btc/{subject}"));
    assert_eq!(page.status, 200, "{}", page.text);
    let text = &page.text;

    // The picture has ten flows of each side by themselves, and the sum of the others: by its name, its label for readers who
    // do not see it, its title and its details.
    assert_eq!(text.matches("990 more flows").count(), 2 * 4);
    // The lists show the first forty of each direction, and every other one in a part that opens.
    assert_eq!(text.matches("<details class=\"flow\"").count(), 2 * 1_000);
    assert_eq!(text.matches("<details class=\"flow\" open>").count(), 2 * 3, "risky ones");
    assert_eq!(text.matches("<summary>960 more flows</summary>").count(), 2);
    for party in ["Party 0000", "Party 0999", "Party 1000", "Party 1999"] {
        assert!(text.contains(party), "{party}");
    }
    // The timeline has the forty weeks of the payments, and the one of the payout.
    assert!(text.contains("As a table: 41 weeks"), "{text}");
    assert!(text.len() < 3_000_000, "{} bytes", text.len());
}

//! Simulated people on account chains: nobody innocent is blocked, and hardly anybody reviewed.

use assay_tests::{
    accounts::economy::{Economy, EconomySize, Survey},
    is_full,
};

/// Asserts what the engine says of the members of an economy, and prints the reasons of the reviewed.
fn assert_innocents_are_left_alone(seed: u64, size: EconomySize) {
    let economy = Economy::simulate(seed, size);
    let innocents = Survey::of(&economy, &economy.innocents);
    let unpaid = Survey::of(&economy, &economy.unpaid);
    eprintln!(
        "economy {seed}, {size:?}, {} transactions, {} % of the ether in pools stolen",
        economy.transactions,
        economy.stolen_percent_in_pools()
    );
    eprintln!("  innocents: {innocents}");
    eprintln!("  of them, paid by no criminal: {unpaid}");
    for accused in &unpaid.accused {
        eprintln!("    {accused}");
    }
    eprintln!("  victims: {}", Survey::of(&economy, &economy.victims));
    let criminals = Survey::of(&economy, &economy.criminals);
    eprintln!("  criminals: {criminals}");
    assert_eq!(innocents.blocked, 0, "economy {seed}: {innocents}");
    assert_eq!(innocents.indeterminate, 0, "economy {seed}: {innocents}");
    assert!(unpaid.reviewed * 100 <= unpaid.count, "economy {seed}: {unpaid}");
    assert!(!is_full() || innocents.count >= 1_000, "economy {seed}: {innocents}");
    // The engine is not blind.
    let accused = criminals.blocked + criminals.reviewed;
    assert!(accused * 4 > criminals.count, "economy {seed}: {criminals}");
}

#[test]
fn innocents_of_a_calm_economy_are_rarely_reviewed() {
    let (seeds, size) = if is_full() {
        (0..3, EconomySize::YEAR)
    } else {
        (0..1, EconomySize { people: 400, days: 120, heat: 1 })
    };
    seeds.for_each(|seed| assert_innocents_are_left_alone(seed, size));
}

#[test]
fn innocents_of_an_economy_with_pools_full_of_stolen_money_are_rarely_reviewed() {
    let (seeds, size) = if is_full() {
        (3..6, EconomySize { heat: 4, ..EconomySize::YEAR })
    } else {
        (3..4, EconomySize { people: 200, days: 120, heat: 4 })
    };
    seeds.for_each(|seed| assert_innocents_are_left_alone(seed, size));
}

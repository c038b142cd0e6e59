//! Simulated people on account chains: nobody innocent is blocked, and hardly anybody reviewed.

use assay_tests::{
    accounts::economy::{Economy, EconomySize, Survey},
    is_full,
};

#[test]
fn innocents_of_an_economy_are_rarely_reviewed() {
    let (seeds, size) = if is_full() {
        (0..3, EconomySize::YEAR)
    } else {
        (0..1, EconomySize { people: 400, days: 120 })
    };
    for seed in seeds {
        let economy = Economy::simulate(seed, size);
        let innocents = Survey::of(&economy, &economy.innocents);
        eprintln!("economy {seed}, {} transactions: innocents: {innocents}", economy.transactions);
        for accused in &innocents.accused {
            eprintln!("  {accused}");
        }
        eprintln!("  victims: {}", Survey::of(&economy, &economy.victims));
        let criminals = Survey::of(&economy, &economy.criminals);
        eprintln!("  criminals: {criminals}");
        assert_eq!(innocents.blocked, 0, "economy {seed}: {innocents}");
        assert_eq!(innocents.indeterminate, 0, "economy {seed}: {innocents}");
        assert!(innocents.reviewed * 100 <= innocents.count, "economy {seed}: {innocents}");
        assert!(!is_full() || innocents.count >= 1_000, "economy {seed}: {innocents}");
        // The engine is not blind.
        let accused = criminals.blocked + criminals.reviewed;
        assert!(accused * 4 > criminals.count, "economy {seed}: {criminals}");
    }
}

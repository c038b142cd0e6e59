//! Any answer of a bank: no panic, and no more is spent than it granted.

use assay_limiter::{
    Account, Ask, BankKind, Purse, SeatView, Settings, Share, Terms, Verdict, admit, note, redis,
};
use assay_tenancy::{
    Period,
    directory::Limit,
    manifest::{Counts, OnStoreLoss, Per},
};

const TERMS: Terms = Terms { on_store_loss: OnStoreLoss::Floor, floor_share: 10 };

/// Checks what the module promises.
///
/// # Panics
///
/// If it does not hold.
pub fn run(bytes: &[u8]) {
    let (words, _) = bytes.as_chunks::<8>();
    let answer: Vec<i64> = words.iter().map(|word| i64::from_le_bytes(*word)).collect();
    let Some(drawn) = redis::read(&answer, 1) else { return };
    let limit = Limit {
        name: "burst".parse().unwrap(),
        requests: 1000,
        ceiling: 1000,
        window: Period::from_seconds(1),
        counts: Counts::Requests,
        per: Per::Tenant,
    };
    let account = Account { plan: "p", tenant: "t", key: "k" };
    let (seats, settings) = (SeatView::default(), Settings::default());
    let mut purse = Purse::new(account.payer(Per::Tenant));
    let mut admitted = 0;
    for now in [5_000_000, 5_010_000, 5_020_000, 5_500_000] {
        let mut shares = [Share { purse: &mut purse, limits: vec![&limit] }];
        note(&mut shares, TERMS, Ask::Check, 1, now, &seats, &settings);
        let verdict = admit(&mut shares, TERMS, Ask::Check, now, &seats, &settings);
        admitted += u64::from(matches!(verdict, Verdict::Admitted { .. }));
        if let Some(draw) = purse.due(BankKind::Short, now, &seats, &settings) {
            purse.drawn(BankKind::Short, draw.sequence, &drawn, now, &seats, &settings);
        }
        purse.forget_idle(now, &seats, &settings);
    }
    assert!(admitted <= drawn.cells[0].granted.saturating_mul(4));
}

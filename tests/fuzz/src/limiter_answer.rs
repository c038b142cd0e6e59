//! Any answer of a token store: no panic, and the limiter spends no more tokens than the store granted.

use std::slice;

use assay_limiter::{
    Account, Admission, ApplicableLimits, DecisionContext, LimiterSettings, RequestKind, SlotView,
    StoreLossPolicy, SubjectLimits, TokenStoreKind, admit, note, redis,
};
use assay_tenancy::{
    Period,
    directory::Limit,
    manifest::{Counts, OnTokenStoreLoss, Per},
};

const POLICY: StoreLossPolicy =
    StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Fallback, fallback_share: 10 };

/// Checks the promise of this module for an input.
///
/// # Panics
///
/// Panics if the promise does not hold.
pub fn run(bytes: &[u8]) {
    let (words, _) = bytes.as_chunks::<8>();
    let answer: Vec<i64> = words.iter().map(|word| i64::from_le_bytes(*word)).collect();
    let Some(grant) = redis::parse_grant(&answer, 1) else { return };
    let limit = Limit {
        name: "burst".parse().unwrap(),
        requests: 1000,
        ceiling: 1000,
        window: Period::from_seconds(1),
        counts: Counts::Requests,
        per: Per::Tenant,
    };
    let account = Account { plan: "p", tenant: "t", key: "k" };
    let (slots, settings) = (SlotView::default(), LimiterSettings::default());
    let mut subject = SubjectLimits::new(account.subject(Per::Tenant));
    let mut admitted = 0;
    for now in [5_000_000, 5_010_000, 5_020_000, 5_500_000] {
        let context = DecisionContext { now, slots: &slots, settings: &settings };
        let mut applicable =
            [ApplicableLimits { state: &mut subject, limits: slice::from_ref(&limit) }];
        note(&mut applicable, POLICY, RequestKind::Check, 1, &context);
        let admission = admit(&mut applicable, POLICY, RequestKind::Check, &context);
        admitted += u64::from(matches!(admission, Admission::Admitted { .. }));
        if let Some(request) = subject.due_request(TokenStoreKind::Short, &context) {
            subject.apply_grant(TokenStoreKind::Short, request.sequence, &grant, &context);
        }
        subject.forget_idle(&context);
    }
    assert!(admitted <= grant.windows[0].granted.saturating_mul(4));
}

//! Expected results of a check of each party, computed by hand.
//!
//! The rules are those of the model: the origin of an output is the inputs of its transaction by
//! value, its destination the payments of its spending transaction, fee included; change is no
//! income, and a step to oneself no hop; a trace ends at a party that a label of investigation tier or
//! a listing names, at mined coins, at unspent coins and at fees. Amounts in the comments are coins. The balance of each party counts among its destinations too, as held at no hops; this
//! file leaves it out.

use super::{
    blocks::{END, Moment},
    expected::{
        Expectation, LISTED, NORTH, Row, SOUTH, THEFT, at, mined, nobody, person, row, unresolved,
    },
    payments::{DUST, coins},
};

use Moment::{BeforeReorganisation, End};

/// The dust as the thief's check shows it: its share is below 2^-14 and its amount below the policy's,
/// so that it is not worth a look whether the bystander still holds it.
const DUST_AS_SENT: Row = unresolved("below_threshold", DUST);

/// Both moments: before and after the reorganisation.
const ALWAYS: &[Moment] = &[BeforeReorganisation, End];

/// The expectations of all parties.
pub const EXPECTATIONS: &[Expectation] = &[
    // Mined six blocks of 50 and sold 40.00 to alice (9.99 of 50 came back: 40.01 went), 31.01 to bob
    // and 18.98 to carol. Of alice's 40, 8.99 came back to her; her 31 and bob's 31 are swept to
    // North, 30.995 each after the fee of 0.01 is split by value. Carol paid 7 to grace, and 11.97
    // came back to her.
    person("miner", &[End], (1, 111), (6, 2), coins("300"), &[MINED_SIX]).sent(
        coins("90.01"),
        &[
            at("exchange", NORTH, 3, coins("61.99"), SWEPT),
            // 8.99 alice, who paid herself, 7 grace, 11.97 carol.
            row(
                "unspent_downstream",
                1,
                coins("27.96"),
                &["buy-alice", "deposit-alice", "buy-bob", "instead"],
            ),
            // 0.01 each: buy-alice, buy-bob; deposit-alice, deposit-bob, instead; sweep.
            row(
                "fee",
                1,
                coins("0.06"),
                &["buy-alice", "buy-bob", "deposit-alice", "deposit-bob", "instead", "sweep"],
            ),
        ],
    ),
    // The same before: 5 to ghost and 13.97 back instead of 7 and 11.97.
    person("miner", &[BeforeReorganisation], (1, 111), (6, 2), coins("300"), &[MINED_SIX]).sent(
        coins("90.01"),
        &[
            at("exchange", NORTH, 3, coins("61.99"), SWEPT),
            row(
                "unspent_downstream",
                1,
                coins("27.96"),
                &["buy-alice", "deposit-alice", "buy-bob", "lost"],
            ),
            row(
                "fee",
                1,
                coins("0.06"),
                &["buy-alice", "buy-bob", "deposit-alice", "deposit-bob", "lost", "sweep"],
            ),
        ],
    ),
    // Bought 40 and deposited 31; 8.99 of 40 came back. Of the 31, 30.995 reach North's hot wallet.
    person(
        "alice",
        ALWAYS,
        (111, 112),
        (1, 1),
        coins("40"),
        &[mined(2, coins("40"), &["buy-alice", "mined-1"])],
    )
    .sent(
        coins("31.01"),
        &[
            at("exchange", NORTH, 2, coins("30.995"), &["deposit-alice", "sweep"]),
            // 0.01 of the deposit, 0.005 of the sweep.
            row("fee", 1, coins("0.015"), &["deposit-alice", "sweep"]),
        ],
    ),
    // The same without change.
    person(
        "bob",
        ALWAYS,
        (111, 112),
        (1, 1),
        coins("31.01"),
        &[mined(2, coins("31.01"), &["buy-bob", "mined-2"])],
    )
    .sent(
        coins("31.01"),
        &[
            at("exchange", NORTH, 2, coins("30.995"), &["deposit-bob", "sweep"]),
            row("fee", 1, coins("0.015"), &["deposit-bob", "sweep"]),
        ],
    ),
    // Bought 18.98. On the branch that goes she pays 5 to ghost, and 13.97 come back.
    person("carol", &[BeforeReorganisation], (111, 133), (1, 1), coins("18.98"), &[CAROLS]).sent(
        coins("5.01"),
        &[
            row("unspent_downstream", 1, coins("5"), &["lost"]),
            row("fee", 1, coins("0.01"), &["lost"]),
        ],
    ),
    // On the branch that stays she pays 7 to grace, and 11.97 come back.
    person("carol", &[End], (111, 134), (1, 1), coins("18.98"), &[CAROLS]).sent(
        coins("7.01"),
        &[
            row("unspent_downstream", 1, coins("7"), &["instead"]),
            row("fee", 1, coins("0.01"), &["instead"]),
        ],
    ),
    // Paid on the branch that goes, and nowhere else.
    person(
        "ghost",
        &[BeforeReorganisation],
        (133, 133),
        (1, 0),
        coins("5"),
        &[mined(3, coins("5"), &["lost", "buy-bob", "mined-2"])],
    ),
    nobody("ghost", &[End]),
    // Paid on the branch that stays, and nowhere else.
    nobody("grace", &[BeforeReorganisation]),
    person(
        "grace",
        &[End],
        (134, 134),
        (1, 0),
        coins("7"),
        &[mined(3, coins("7"), &["instead", "buy-bob", "mined-2"])],
    ),
    // 31 from alice; the hot wallet gets 30.995 of it.
    person(
        "north-deposit-alice",
        ALWAYS,
        (112, 113),
        (1, 1),
        coins("31"),
        &[mined(3, coins("31"), &["deposit-alice", "buy-alice", "mined-1"])],
    )
    .sent(
        coins("31"),
        &[
            at("exchange", NORTH, 1, coins("30.995"), &["sweep"]),
            row("fee", 1, coins("0.005"), &["sweep"]),
        ],
    ),
    // 61.99 came in by the sweep. 8.94 went by the payouts (53.05 of 61.99 came back), 40.04 by the
    // theft (13.01 of 53.05 came back), 13.01 to dave and the bystander.
    person(
        "north-hot",
        ALWAYS,
        (113, 118),
        (1, 3),
        coins("61.99"),
        &[mined(
            4,
            coins("61.99"),
            &[
                "sweep",
                "deposit-alice",
                "deposit-bob",
                "buy-alice",
                "buy-bob",
                "mined-1",
                "mined-2",
            ],
        )],
    )
    .sent(
        coins("61.99"),
        &[
            at("stolen_funds", THEFT, 1, coins("40.03"), &["theft"]),
            // 3.93 erin, 3 bystander; in the second transaction 4.99 of frank's 5 (2 heidi, 2.99
            // back) and of dave's 10, half of what he mixed, 6 shop and 3.995 back.
            row(
                "unspent_downstream",
                1,
                coins("21.915"),
                &["payouts", "payout-dave", "again", "mix"],
            ),
            // 0.01 each: payouts, theft, payout-dave, again; half of the mix' 0.01.
            row("fee", 1, coins("0.045"), &["payouts", "theft", "payout-dave", "again", "mix"]),
        ],
    ),
    // Took 40.03. 0.01 went with the dust (40.02 of 40.03 came back), 10.01 to dave (30.01 of 40.02
    // came back), 30.01 into the peel chain.
    person(
        "thief",
        ALWAYS,
        (115, 120),
        (1, 3),
        coins("40.03"),
        &[at("exchange", NORTH, 1, coins("40.03"), &["theft"])],
    )
    .sent(
        coins("40.03"),
        &[
            Row { listed: true, ..at("sanctions", LISTED, 1, coins("2"), &["peel-a"]) },
            // 2.99 at the fourth hop and 2.99 at the sixth.
            at(
                "exchange",
                SOUTH,
                4,
                coins("5.98"),
                &["peel-a", "peel-b", "peel-c", "peel-d", "peel-e", "peel-f"],
            ),
            // Of dave's 10: 6 shop, at the second hop, and 3.995 back, at the first. 2.99 each: cash-1
            // at the second hop, cash-2 at the third, cash-3 at the fifth, cash-4 at the seventh; 10
            // peel-7.
            row(
                "unspent_downstream",
                1,
                coins("31.955"),
                &[
                    "pay-dave", "mix", "peel-a", "peel-b", "peel-c", "peel-d", "peel-e", "peel-f",
                    "peel-g",
                ],
            ),
            // 0.00999454 dust, 0.01 each pay-dave and peel-a, 0.005 mix, 0.01 each peel-b to peel-g.
            row(
                "fee",
                1,
                coins("0.09499454"),
                &[
                    "dust", "pay-dave", "peel-a", "mix", "peel-b", "peel-c", "peel-d", "peel-e",
                    "peel-f", "peel-g",
                ],
            ),
            DUST_AS_SENT,
        ],
    ),
    // Never asked for the dust and did nothing with it; the 3 are a payout.
    person(
        "bystander",
        ALWAYS,
        (116, 118),
        (2, 0),
        coins("3.00000546"),
        &[
            at("exchange", NORTH, 1, coins("3"), &["payout-dave"]),
            Row { solicited: false, ..at("stolen_funds", THEFT, 1, DUST, &["dust"]) },
        ],
    ),
    // 10 stolen and 10 clean, spent together; 7.99 of 20 came back.
    person(
        "dave",
        ALWAYS,
        (117, 119),
        (2, 1),
        coins("20"),
        &[
            at("stolen_funds", THEFT, 1, coins("10"), &["pay-dave"]),
            at("exchange", NORTH, 1, coins("10"), &["payout-dave"]),
        ],
    )
    .sent(
        coins("12.01"),
        &[
            row("unspent_downstream", 1, coins("12"), &["mix"]),
            row("fee", 1, coins("0.01"), &["mix"]),
        ],
    ),
    // Half and half.
    person(
        "shop",
        ALWAYS,
        (119, 119),
        (1, 0),
        coins("12"),
        &[
            at("stolen_funds", THEFT, 2, coins("6"), &["mix", "pay-dave"]),
            at("exchange", NORTH, 2, coins("6"), &["mix", "payout-dave"]),
        ],
    ),
    person(
        "erin",
        ALWAYS,
        (114, 114),
        (1, 0),
        coins("3.93"),
        &[at("exchange", NORTH, 1, coins("3.93"), &["payouts"])],
    ),
    // Paid 2 to heidi and got 2.99 of 5 back: in block 135, and after the reorganisation in 138.
    person("frank", &[BeforeReorganisation], (114, 135), (1, 1), coins("5"), &[FRANKS])
        .sent(coins("2.01"), FRANKS_PAYMENT),
    person("frank", &[End], (114, 138), (1, 1), coins("5"), &[FRANKS])
        .sent(coins("2.01"), FRANKS_PAYMENT),
    person("heidi", &[BeforeReorganisation], (135, 135), (1, 0), coins("2"), &[HEIDIS]),
    person("heidi", &[End], (138, 138), (1, 0), coins("2"), &[HEIDIS]),
    person(
        "listed",
        ALWAYS,
        (120, 120),
        (1, 0),
        coins("2"),
        &[at("stolen_funds", THEFT, 1, coins("2"), &["peel-a"])],
    ),
    // 2.99 each to cash-1 (first hop), cash-2 (second), south (third), cash-3 (fourth), south (fifth);
    // 2.99 to cash-4 and 10 to peel-7 at the sixth hop; six fees.
    person(
        "peel-1",
        ALWAYS,
        (120, 121),
        (1, 1),
        coins("28"),
        &[at("stolen_funds", THEFT, 1, coins("28"), &["peel-a"])],
    )
    .sent(
        coins("28"),
        &[
            at(
                "exchange",
                SOUTH,
                3,
                coins("5.98"),
                &["peel-b", "peel-c", "peel-d", "peel-e", "peel-f"],
            ),
            row(
                "unspent_downstream",
                1,
                coins("21.96"),
                &["peel-b", "peel-c", "peel-d", "peel-e", "peel-f", "peel-g"],
            ),
            row(
                "fee",
                1,
                coins("0.06"),
                &["peel-b", "peel-c", "peel-d", "peel-e", "peel-f", "peel-g"],
            ),
        ],
    ),
    // One hop further: 2.99 each to cash-2 (first hop), south (second), cash-3
    // (third), south (fourth), cash-4 (fifth), 10 to peel-7 (fifth), five fees.
    person(
        "peel-2",
        ALWAYS,
        (121, 122),
        (1, 1),
        coins("25"),
        &[at("stolen_funds", THEFT, 2, coins("25"), &["peel-b", "peel-a"])],
    )
    .sent(
        coins("25"),
        &[
            at("exchange", SOUTH, 2, coins("5.98"), &["peel-c", "peel-d", "peel-e", "peel-f"]),
            row(
                "unspent_downstream",
                1,
                coins("18.97"),
                &["peel-c", "peel-d", "peel-e", "peel-f", "peel-g"],
            ),
            row("fee", 1, coins("0.05"), &["peel-c", "peel-d", "peel-e", "peel-f", "peel-g"]),
        ],
    ),
    // peel-5, -4, -3, -2, -1, thief: six hops.
    person(
        "peel-6",
        ALWAYS,
        (125, 126),
        (1, 1),
        coins("13"),
        &[at(
            "stolen_funds",
            THEFT,
            6,
            coins("13"),
            &["peel-f", "peel-e", "peel-d", "peel-c", "peel-b", "peel-a"],
        )],
    )
    .sent(
        coins("13"),
        // 10 peel-7, 2.99 cash-4.
        &[
            row("unspent_downstream", 1, coins("12.99"), &["peel-g"]),
            row("fee", 1, coins("0.01"), &["peel-g"]),
        ],
    ),
    // peel-6, -5, -4, -3, -2, -1: the thief is the seventh hop.
    person(
        "peel-7",
        ALWAYS,
        (126, 126),
        (1, 0),
        coins("10"),
        &[at("stolen_funds", THEFT, 7, coins("10"), SEVEN_PEELS)],
    ),
    person(
        "cash-4",
        ALWAYS,
        (126, 126),
        (1, 0),
        coins("2.99"),
        &[at("stolen_funds", THEFT, 7, coins("2.99"), SEVEN_PEELS)],
    ),
    person(
        "cash-1",
        ALWAYS,
        (121, 121),
        (1, 0),
        coins("2.99"),
        &[at("stolen_funds", THEFT, 2, coins("2.99"), &["peel-b", "peel-a"])],
    ),
    // From peel-3 (peel-2, peel-1, thief: four hops) and peel-5 (six hops), 2.99 each.
    person(
        "south",
        ALWAYS,
        (123, 125),
        (2, 0),
        coins("5.98"),
        &[at(
            "stolen_funds",
            THEFT,
            4,
            coins("5.98"),
            &["peel-a", "peel-b", "peel-c", "peel-d", "peel-e", "peel-f"],
        )],
    ),
    // Mined blocks 7 to 142: 136 x 50 = 6,800. Fees: seventeen of 0.01 and 0.00999454 up to block 126,
    // then 0.01 each of lost and again.
    person(
        "pool",
        &[BeforeReorganisation],
        (7, 142),
        (136, 0),
        coins("6800.19999454"),
        // Each fee is followed to those who paid it.
        &[
            mined(1, coins("6800.06"), &[]),
            at("exchange", NORTH, 2, coins("0.045"), &[]),
            at("stolen_funds", THEFT, 2, coins("0.09499454"), &[]),
        ],
    ),
    // Mined blocks 7 to 130 and 144 to 146: 127 x 50 = 6,350, and the fees up to block 126.
    person(
        "pool",
        &[End],
        (7, END),
        (127, 0),
        coins("6350.17999454"),
        &[
            mined(1, coins("6350.05"), &[]),
            at("exchange", NORTH, 2, coins("0.035"), &[]),
            at("stolen_funds", THEFT, 2, coins("0.09499454"), &[]),
        ],
    ),
    // Mined blocks 131 to 143 of the branch that stays: 13 x 50 and the fees of instead and again.
    nobody("rival", &[BeforeReorganisation]),
    person(
        "rival",
        &[End],
        (131, 143),
        (13, 0),
        coins("650.02"),
        &[mined(1, coins("650.01"), &[]), at("exchange", NORTH, 3, coins("0.01"), &[])],
    ),
];

const MINED_SIX: Row =
    mined(1, coins("300"), &["mined-1", "mined-2", "mined-3", "mined-4", "mined-5", "mined-6"]);
const SWEPT: &[&str] = &["buy-alice", "deposit-alice", "buy-bob", "deposit-bob", "sweep"];
const SEVEN_PEELS: &[&str] =
    &["peel-g", "peel-f", "peel-e", "peel-d", "peel-c", "peel-b", "peel-a"];
const CAROLS: Row = mined(2, coins("18.98"), &["buy-bob", "mined-2"]);
const FRANKS: Row = at("exchange", NORTH, 1, coins("5"), &["payouts"]);
const FRANKS_PAYMENT: &[Row] = &[
    row("unspent_downstream", 1, coins("2"), &["again"]),
    row("fee", 1, coins("0.01"), &["again"]),
];
const HEIDIS: Row = at("exchange", NORTH, 2, coins("2"), &["again", "payouts"]);

//! Expected results of a check of each party, computed by hand.
//!
//! The rules are those of the model: the origin of an output is the inputs of its transaction by value, its destination
//! the payments of its spending transaction, fee included; change is no income, and a step to oneself no hop; a trace
//! ends at a party that a label of investigation tier or a listing names, at mined coins, at unspent coins and at fees.
//! Amounts in the comments are coins. The balance of each party counts among its destinations too, as held at 0 hops;
//! this file leaves it out.
//!
//! A party has one or more expectations, `before` the reorganisation, at the `end`, or `always`: the first and the last
//! block in which it appears, and what came in and went out, in coins, by how many transactions, change aside. The
//! lines below are the origins and destinations, with their fewest hops, and every transaction that the money passed
//! between the endpoint and the address. Money that is not followed further counts as one hop away.

use std::sync::LazyLock;

use super::expected::{Expectation, expectations};

/// The expectations of all parties. The thief's dust is below 2^-14 of his money and below the policy's amount, so that
/// a trace does not look up whether the bystander still holds the dust.
pub static EXPECTATIONS: LazyLock<Vec<Expectation>> = LazyLock::new(|| expectations(TEXT));

const TEXT: &str = "\
# Mined six blocks of 50 and sold 40.00 to alice (9.99 of 50 came back: 40.01 went), 31.01 to
# bob and 18.98 to carol. Of alice's 40, 8.99 came back to her; her 31 and bob's 31 are swept to
# North, 30.995 each after the fee of 0.01 is split by value. Carol paid 7 to grace, and 11.97
# came back to her.
miner end: blocks 1 to 111, 300 in by 6, 90.01 out by 2
  from mining at 1: 300 by mined-1 mined-2 mined-3 mined-4 mined-5 mined-6
  to exchange (North Exchange) at 3: 61.99 by buy-alice deposit-alice buy-bob deposit-bob sweep
  # 8.99 alice, who paid herself, 7 grace, 11.97 carol.
  to unspent_downstream at 1: 27.96 by buy-alice deposit-alice buy-bob instead
  # 0.01 each: buy-alice, buy-bob; deposit-alice, deposit-bob, instead; sweep.
  to fee at 1: 0.06 by buy-alice buy-bob deposit-alice deposit-bob instead sweep
# The same before: 5 to ghost and 13.97 back instead of 7 and 11.97.
miner before: blocks 1 to 111, 300 in by 6, 90.01 out by 2
  from mining at 1: 300 by mined-1 mined-2 mined-3 mined-4 mined-5 mined-6
  to exchange (North Exchange) at 3: 61.99 by buy-alice deposit-alice buy-bob deposit-bob sweep
  to unspent_downstream at 1: 27.96 by buy-alice deposit-alice buy-bob lost
  to fee at 1: 0.06 by buy-alice buy-bob deposit-alice deposit-bob lost sweep
# Bought 40 and deposited 31; 8.99 of 40 came back. Of the 31, 30.995 reach North's hot wallet.
alice always: blocks 111 to 112, 40 in by 1, 31.01 out by 1
  from mining at 2: 40 by buy-alice mined-1
  to exchange (North Exchange) at 2: 30.995 by deposit-alice sweep
  # 0.01 of the deposit, 0.005 of the sweep.
  to fee at 1: 0.015 by deposit-alice sweep
# The same without change.
bob always: blocks 111 to 112, 31.01 in by 1, 31.01 out by 1
  from mining at 2: 31.01 by buy-bob mined-2
  to exchange (North Exchange) at 2: 30.995 by deposit-bob sweep
  to fee at 1: 0.015 by deposit-bob sweep
# Bought 18.98. On the branch that goes she pays 5 to ghost, and 13.97 come back.
carol before: blocks 111 to 133, 18.98 in by 1, 5.01 out by 1
  from mining at 2: 18.98 by buy-bob mined-2
  to unspent_downstream at 1: 5 by lost
  to fee at 1: 0.01 by lost
# On the branch that stays she pays 7 to grace, and 11.97 come back.
carol end: blocks 111 to 134, 18.98 in by 1, 7.01 out by 1
  from mining at 2: 18.98 by buy-bob mined-2
  to unspent_downstream at 1: 7 by instead
  to fee at 1: 0.01 by instead
# Paid on the branch that goes, and nowhere else.
ghost before: blocks 133 to 133, 5 in by 1, 0 out by 0
  from mining at 3: 5 by lost buy-bob mined-2
ghost end: nothing
# Paid on the branch that stays, and nowhere else.
grace before: nothing
grace end: blocks 134 to 134, 7 in by 1, 0 out by 0
  from mining at 3: 7 by instead buy-bob mined-2
# 31 from alice; the hot wallet gets 30.995 of it.
north-deposit-alice always: blocks 112 to 113, 31 in by 1, 31 out by 1
  from mining at 3: 31 by deposit-alice buy-alice mined-1
  to exchange (North Exchange) at 1: 30.995 by sweep
  to fee at 1: 0.005 by sweep
# 61.99 came in by the sweep. 8.94 went by the payouts (53.05 of 61.99 came back), 40.04 by the
# theft (13.01 of 53.05 came back), 13.01 to dave and the bystander.
north-hot always: blocks 113 to 118, 61.99 in by 1, 61.99 out by 3
  from mining at 4: 61.99 by sweep deposit-alice deposit-bob buy-alice buy-bob mined-1 mined-2
  to stolen_funds (Theft from North Exchange) at 1: 40.03 by theft
  # 3.93 erin, 3 bystander; in the second transaction 4.99 of frank's 5 (2 heidi, 2.99 back) and
  # of dave's 10, half of what he mixed, 6 shop and 3.995 back.
  to unspent_downstream at 1: 21.915 by payouts payout-dave again mix
  # 0.01 each: payouts, theft, payout-dave, again; half of the mix' 0.01.
  to fee at 1: 0.045 by payouts theft payout-dave again mix
# Took 40.03. 0.01 went with the dust (40.02 of 40.03 came back), 10.01 to dave (30.01 of 40.02
# came back), 30.01 into the peel chain.
thief always: blocks 115 to 120, 40.03 in by 1, 40.03 out by 3
  from exchange (North Exchange) at 1: 40.03 by theft
  to sanctions (Listed Holdings) listed at 1: 2 by peel-a
  # 2.99 at the fourth hop and 2.99 at the sixth.
  to exchange (South Exchange) at 4: 5.98 by peel-a peel-b peel-c peel-d peel-e peel-f
  # Of dave's 10: 6 shop, at the second hop, and 3.995 back, at the first. 2.99 each: cash-1 at
  # the second hop, cash-2 at the third, cash-3 at the fifth, cash-4 at the seventh; 10 peel-7.
  to unspent_downstream at 1: 31.955 by pay-dave mix peel-a peel-b peel-c peel-d peel-e peel-f peel-g
  # 0.00999454 dust, 0.01 each pay-dave and peel-a, 0.005 mix, 0.01 each peel-b to peel-g.
  to fee at 1: 0.09499454 by dust pay-dave peel-a mix peel-b peel-c peel-d peel-e peel-f peel-g
  to unresolved:below_threshold at 1: 0.00000546
# Never asked for the dust and did nothing with it; the 3 are a payout.
bystander always: blocks 116 to 118, 3.00000546 in by 2, 0 out by 0
  from exchange (North Exchange) at 1: 3 by payout-dave
  from stolen_funds (Theft from North Exchange) unsolicited at 1: 0.00000546 by dust
# 10 stolen and 10 clean, spent together; 7.99 of 20 came back.
dave always: blocks 117 to 119, 20 in by 2, 12.01 out by 1
  from stolen_funds (Theft from North Exchange) at 1: 10 by pay-dave
  from exchange (North Exchange) at 1: 10 by payout-dave
  to unspent_downstream at 1: 12 by mix
  to fee at 1: 0.01 by mix
# Half and half.
shop always: blocks 119 to 119, 12 in by 1, 0 out by 0
  from stolen_funds (Theft from North Exchange) at 2: 6 by mix pay-dave
  from exchange (North Exchange) at 2: 6 by mix payout-dave
erin always: blocks 114 to 114, 3.93 in by 1, 0 out by 0
  from exchange (North Exchange) at 1: 3.93 by payouts
# Paid 2 to heidi and got 2.99 of 5 back: in block 135, and after the reorganisation in 138.
frank before: blocks 114 to 135, 5 in by 1, 2.01 out by 1
  from exchange (North Exchange) at 1: 5 by payouts
  to unspent_downstream at 1: 2 by again
  to fee at 1: 0.01 by again
frank end: blocks 114 to 138, 5 in by 1, 2.01 out by 1
  from exchange (North Exchange) at 1: 5 by payouts
  to unspent_downstream at 1: 2 by again
  to fee at 1: 0.01 by again
heidi before: blocks 135 to 135, 2 in by 1, 0 out by 0
  from exchange (North Exchange) at 2: 2 by again payouts
heidi end: blocks 138 to 138, 2 in by 1, 0 out by 0
  from exchange (North Exchange) at 2: 2 by again payouts
listed always: blocks 120 to 120, 2 in by 1, 0 out by 0
  from stolen_funds (Theft from North Exchange) at 1: 2 by peel-a
# 2.99 each to cash-1 (first hop), cash-2 (second), south (third), cash-3 (fourth), south
# (fifth); 2.99 to cash-4 and 10 to peel-7 at the sixth hop; six fees.
peel-1 always: blocks 120 to 121, 28 in by 1, 28 out by 1
  from stolen_funds (Theft from North Exchange) at 1: 28 by peel-a
  to exchange (South Exchange) at 3: 5.98 by peel-b peel-c peel-d peel-e peel-f
  to unspent_downstream at 1: 21.96 by peel-b peel-c peel-d peel-e peel-f peel-g
  to fee at 1: 0.06 by peel-b peel-c peel-d peel-e peel-f peel-g
# One hop further: 2.99 each to cash-2 (first hop), south (second), cash-3 (third), south
# (fourth), cash-4 (fifth), 10 to peel-7 (fifth), five fees.
peel-2 always: blocks 121 to 122, 25 in by 1, 25 out by 1
  from stolen_funds (Theft from North Exchange) at 2: 25 by peel-b peel-a
  to exchange (South Exchange) at 2: 5.98 by peel-c peel-d peel-e peel-f
  to unspent_downstream at 1: 18.97 by peel-c peel-d peel-e peel-f peel-g
  to fee at 1: 0.05 by peel-c peel-d peel-e peel-f peel-g
# peel-5, -4, -3, -2, -1, thief: six hops.
peel-6 always: blocks 125 to 126, 13 in by 1, 13 out by 1
  from stolen_funds (Theft from North Exchange) at 6: 13 by peel-f peel-e peel-d peel-c peel-b peel-a
  # 10 peel-7, 2.99 cash-4.
  to unspent_downstream at 1: 12.99 by peel-g
  to fee at 1: 0.01 by peel-g
# peel-6, -5, -4, -3, -2, -1: the thief is the seventh hop.
peel-7 always: blocks 126 to 126, 10 in by 1, 0 out by 0
  from stolen_funds (Theft from North Exchange) at 7: 10 by peel-g peel-f peel-e peel-d peel-c peel-b peel-a
cash-4 always: blocks 126 to 126, 2.99 in by 1, 0 out by 0
  from stolen_funds (Theft from North Exchange) at 7: 2.99 by peel-g peel-f peel-e peel-d peel-c peel-b peel-a
cash-1 always: blocks 121 to 121, 2.99 in by 1, 0 out by 0
  from stolen_funds (Theft from North Exchange) at 2: 2.99 by peel-b peel-a
# From peel-3 (peel-2, peel-1, thief: four hops) and peel-5 (six hops), 2.99 each.
south always: blocks 123 to 125, 5.98 in by 2, 0 out by 0
  from stolen_funds (Theft from North Exchange) at 4: 5.98 by peel-a peel-b peel-c peel-d peel-e peel-f
# Mined blocks 7 to 142: 136 x 50 = 6,800. Fees: seventeen of 0.01 and 0.00999454 up to block
# 126, then 0.01 each of lost and again.
pool before: blocks 7 to 142, 6800.19999454 in by 136, 0 out by 0
  # Each fee is followed to those who paid it.
  from mining at 1: 6800.06
  from exchange (North Exchange) at 2: 0.045
  from stolen_funds (Theft from North Exchange) at 2: 0.09499454
# Mined blocks 7 to 130 and 144 to 146: 127 x 50 = 6,350, and the fees up to block 126.
pool end: blocks 7 to 146, 6350.17999454 in by 127, 0 out by 0
  from mining at 1: 6350.05
  from exchange (North Exchange) at 2: 0.035
  from stolen_funds (Theft from North Exchange) at 2: 0.09499454
# Mined blocks 131 to 143 of the branch that stays: 13 x 50 and the fees of instead and again.
rival before: nothing
rival end: blocks 131 to 143, 650.02 in by 13, 0 out by 0
  from mining at 1: 650.01
  from exchange (North Exchange) at 3: 0.01
";

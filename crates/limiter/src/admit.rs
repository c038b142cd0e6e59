//! Whether a request passes: one token of each of its cells, whoever pays for them, or none.

use assay_tenancy::{
    directory::Limit,
    manifest::{Counts, LimitName},
};

use crate::{
    Ask, Purse, SeatView, Settings, Spent, Standing, Terms,
    cell::{Lack, Moment},
};

/// The limits of a request that one payer pays for.
#[derive(Debug)]
pub struct Share<'a> {
    /// What is known of the payer.
    pub purse: &'a mut Purse,
    /// The limits.
    pub limits: Vec<&'a Limit>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passes.
    Admitted {
        /// What was spent, of limits on requests too.
        spent: Vec<Spent>,
    },
    /// Banks are to be asked first: send what is due, and try again once one has answered.
    Wait,
    /// Limits are used up.
    Refused {
        /// The limits that are used up.
        violated: Vec<LimitName>,
        /// Seconds until all of them have room again.
        retry_after: u64,
    },
    /// Banks do not answer, and what may be spent without them is spent.
    Unavailable {
        /// The limits that cannot be counted.
        violated: Vec<LimitName>,
        /// Whether the plan refuses everything meanwhile.
        closed: bool,
        /// Seconds after which trying again may help.
        retry_after: u64,
    },
}

/// Whether every limit of one kind has room, or the worst that one of them lacks.
enum Room {
    Enough,
    Ask,
    No(Verdict),
}

/// Notes that `count` of what `ask` is are asked for: once for each request, before it is decided.
pub fn note(
    shares: &mut [Share<'_>],
    terms: Terms,
    ask: Ask,
    count: u64,
    now: u64,
    seats: &SeatView,
    settings: &Settings,
) {
    let moment = Moment { now, seats, settings };
    for share in shares {
        for limit in &share.limits {
            if limit.counts == Counts::Requests || ask == Ask::Check {
                share.purse.cell(limit, terms, settings).note(count, &moment);
            }
        }
    }
}

/// Decides on one request at local time `now`.
///
/// All limits hold at once: it is charged to all or refused by one. A request that only a limit on checks
/// refuses still counts as a request.
pub fn admit(
    shares: &mut [Share<'_>],
    terms: Terms,
    ask: Ask,
    now: u64,
    seats: &SeatView,
    settings: &Settings,
) -> Verdict {
    let moment = Moment { now, seats, settings };
    let requests = room(shares, terms, Counts::Requests, 1, &moment);
    if let Room::No(verdict) = requests {
        return verdict;
    }
    let checks = match ask {
        Ask::Request => Room::Enough,
        Ask::Check => room(shares, terms, Counts::Checks, 1, &moment),
    };
    match (requests, checks) {
        (Room::Ask, _) | (_, Room::Ask) => {
            wait(shares, terms, Counts::Requests, 1, &moment);
            if ask == Ask::Check {
                wait(shares, terms, Counts::Checks, 1, &moment);
            }
            Verdict::Wait
        }
        (_, Room::No(verdict)) => {
            let _ = spend(shares, terms, Counts::Requests, 1, &moment);
            verdict
        }
        (_, Room::Enough) => {
            let mut spent = spend(shares, terms, Counts::Requests, 1, &moment);
            if ask == Ask::Check {
                spent.extend(spend(shares, terms, Counts::Checks, 1, &moment));
            }
            Verdict::Admitted { spent }
        }
    }
}

/// Takes as many of `wanted` checks as every limit on checks has room for, once no bank may have more.
/// Limits on requests are not asked: the checks are rows of one request. Returns what was spent, how many
/// that are, and what hinders more; `None` where banks are to be asked first.
pub fn take_checks(
    shares: &mut [Share<'_>],
    terms: Terms,
    wanted: u64,
    now: u64,
    seats: &SeatView,
    settings: &Settings,
) -> Option<(Vec<Spent>, u64, Verdict)> {
    let moment = Moment { now, seats, settings };
    let verdict = match room(shares, terms, Counts::Checks, wanted, &moment) {
        Room::Enough => Verdict::Admitted { spent: Vec::new() },
        Room::No(verdict) => verdict,
        Room::Ask => {
            wait(shares, terms, Counts::Checks, wanted, &moment);
            return None;
        }
    };
    let mut count = wanted;
    for share in &mut *shares {
        for limit in share.limits.iter().filter(|limit| limit.counts == Counts::Checks) {
            let lost = share.purse.is_lost(settings.bank(limit.window.seconds()));
            count = count.min(share.purse.cell(limit, terms, settings).room(lost, &moment));
        }
    }
    Some((spend(shares, terms, Counts::Checks, count, &moment), count, verdict))
}

/// Where every limit stands. `wall` is the time since 1970 by the replica's own clock, in microseconds.
pub fn standings(
    shares: &mut [Share<'_>],
    terms: Terms,
    wall: u64,
    now: u64,
    seats: &SeatView,
    settings: &Settings,
) -> Vec<Standing> {
    let moment = Moment { now, seats, settings };
    let mut standings = Vec::new();
    for share in shares {
        for limit in &share.limits {
            standings.push(share.purse.standing(limit, terms, wall, &moment));
        }
    }
    standings
}

fn room(
    shares: &mut [Share<'_>],
    terms: Terms,
    counts: Counts,
    count: u64,
    moment: &Moment<'_>,
) -> Room {
    let (mut used_up, mut unknown) = (Vec::new(), Vec::new());
    let (mut retry_after, mut learnt_after, mut closed, mut ask) = (0, 0, false, false);
    for share in shares {
        for limit in share.limits.iter().filter(|limit| limit.counts == counts) {
            let lost = share.purse.is_lost(moment.settings.bank(limit.window.seconds()));
            let cell = share.purse.cell(limit, terms, moment.settings);
            if cell.room(lost, moment) >= count {
                continue;
            }
            match cell.lack(lost, moment) {
                Lack::Ask => ask = true,
                Lack::UsedUp => {
                    used_up.push(limit.name.clone());
                    retry_after = retry_after.max(cell.resets_in(moment.now));
                }
                Lack::Unknown => {
                    unknown.push(limit.name.clone());
                    closed |= cell.is_closed();
                    // A bank that does not answer may do so at any time.
                    learnt_after =
                        learnt_after.max(if lost { 1 } else { cell.resets_in(moment.now) });
                }
            }
        }
    }
    if !used_up.is_empty() {
        Room::No(Verdict::Refused { violated: used_up, retry_after })
    } else if !unknown.is_empty() {
        Room::No(Verdict::Unavailable { violated: unknown, closed, retry_after: learnt_after })
    } else if ask {
        Room::Ask
    } else {
        Room::Enough
    }
}

/// Notes for every cell that has too little that somebody waits for the rest.
fn wait(shares: &mut [Share<'_>], terms: Terms, counts: Counts, count: u64, moment: &Moment<'_>) {
    for share in shares {
        for limit in share.limits.iter().filter(|limit| limit.counts == counts) {
            let lost = share.purse.is_lost(moment.settings.bank(limit.window.seconds()));
            let cell = share.purse.cell(limit, terms, moment.settings);
            let short = count.saturating_sub(cell.room(lost, moment));
            if short > 0 {
                cell.wait(short);
            }
        }
    }
}

/// Spends `count` of each cell of one kind; there is room.
fn spend(
    shares: &mut [Share<'_>],
    terms: Terms,
    counts: Counts,
    count: u64,
    moment: &Moment<'_>,
) -> Vec<Spent> {
    let mut all = Vec::new();
    for share in shares {
        for limit in share.limits.iter().filter(|limit| limit.counts == counts) {
            let payer = share.purse.payer().clone();
            let cell = share.purse.cell(limit, terms, moment.settings);
            let (leased, floor) = cell.spend(count, moment);
            all.push(Spent {
                payer,
                limit: limit.name.clone(),
                window_seconds: cell.window_seconds,
                counts,
                leased,
                window: cell.window(),
                floor,
            });
        }
    }
    all
}

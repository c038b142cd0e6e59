//! Registry of replica slots, as a database implements it.

use super::replica::SlotAnswer;
use crate::slots::SLOT_TTL;

#[derive(Clone, Debug, Default)]
struct Slot {
    holder: Option<u64>,
    claim: u64,
    until: u64,
}

/// The slots of an installation. Times are of the registry's clock.
#[derive(Debug)]
pub(super) struct SlotRegistry {
    slots: Vec<Slot>,
    claims: u64,
}

impl SlotRegistry {
    pub(super) fn new(total: u32) -> Self {
        Self { slots: vec![Slot::default(); usize::try_from(total).unwrap()], claims: 0 }
    }

    /// Renews the slot of `holder`, or claims the first free slot.
    pub(super) fn renew_or_claim(&mut self, holder: u64, asked_at: u64, now: u64) -> SlotAnswer {
        let own = |slot: &Slot| slot.holder == Some(holder) && slot.until > now;
        let index = self.slots.iter().position(own);
        let free = || self.slots.iter().position(|slot| slot.until <= now);
        let claim = index.or_else(free).map(|index| {
            let slot = &mut self.slots[index];
            if !own(slot) {
                self.claims += 1;
                (slot.holder, slot.claim) = (Some(holder), self.claims);
            }
            slot.until = now + SLOT_TTL;
            slot.claim
        });
        let was_held = |slot: &&Slot| slot.holder.is_some() && slot.until <= now;
        SlotAnswer {
            asked_at,
            claim,
            total: u32::try_from(self.slots.len()).unwrap(),
            held: u32::try_from(self.slots.iter().filter(|slot| slot.until > now).count()).unwrap(),
            ended: self.slots.iter().filter(was_held).map(|slot| now - slot.until).collect(),
        }
    }

    /// Releases the slot of a replica that shuts down, once the replica no longer uses the slot.
    pub(super) fn release(&mut self, holder: u64, now: u64) {
        for slot in self.slots.iter_mut().filter(|slot| slot.holder == Some(holder)) {
            slot.until = slot.until.min(now);
        }
    }
}

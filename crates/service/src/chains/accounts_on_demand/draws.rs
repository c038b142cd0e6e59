//! Random draws of a subject's money. Nobody can know beforehand which payers a check draws: a scheme of many small payers cannot
//! rely on being read last. A repeated check of the same day draws the same, so that repeating it finds no luckier draw.

use std::fmt;

use assay_engine::account::AccountAddress;
use hmac::{Hmac, Mac, digest::Key};
use jiff::civil::Date;
use sha2::Sha256;

/// Secret of an installation for one day.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct DrawSecret([u8; 32]);

impl DrawSecret {
    /// The secret of random bits.
    pub(super) fn of(random: [u128; 2]) -> Self {
        let mut secret = [0; 32];
        let bytes = random.into_iter().flat_map(u128::to_be_bytes);
        secret.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        Self(secret)
    }

    /// Parses a secret as it is stored; `None` if it is malformed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut secret = [0; 32];
        hex::decode_to_slice(text, &mut secret).ok().map(|()| Self(secret))
    }

    /// The secret as it is stored.
    pub(super) fn text(&self) -> String {
        hex::encode(self.0)
    }
}

impl fmt::Debug for DrawSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DrawSecret")
    }
}

/// The draws of a subject on a day: numbers from HMAC-SHA-256 with the secret as its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draws {
    secret: DrawSecret,
    subject: AccountAddress,
    day: Date,
}

impl Draws {
    /// The draws of a subject on a day by a secret.
    pub(super) const fn new(secret: DrawSecret, subject: AccountAddress, day: Date) -> Self {
        Self { secret, subject, day }
    }

    /// The numbers by which one dollar is walked back.
    pub(super) fn dollar(&self, number: u32) -> DrawnDollar {
        // HMAC fills up a key with zeros itself.
        let mut key = Key::<Hmac<Sha256>>::default();
        key.iter_mut().zip(self.secret.0).for_each(|(to, from)| *to = from);
        let mut keyed = Hmac::<Sha256>::new(&key);
        keyed.update(&self.subject.0);
        keyed.update(self.day.to_string().as_bytes());
        keyed.update(&number.to_be_bytes());
        DrawnDollar { keyed, step: 0 }
    }
}

/// The numbers of one dollar, one for each step back.
#[derive(Clone, Debug)]
pub(super) struct DrawnDollar {
    keyed: Hmac<Sha256>,
    step: u32,
}

impl DrawnDollar {
    /// The next number, from 0 to below `whole`; 0 if that is 0.
    pub(super) fn below(&mut self, whole: u128) -> u128 {
        let mut keyed = self.keyed.clone();
        keyed.update(&self.step.to_be_bytes());
        let code = keyed.finalize().into_bytes();
        let number = code.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        self.step = self.step.saturating_add(1);
        // The number is a part of 2^64: that part of the whole, without an overflow.
        let (high, low) = (whole >> 64, whole & u128::from(u64::MAX));
        high * u128::from(number) + ((low * u128::from(number)) >> 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: AccountAddress = AccountAddress([7; 20]);

    fn day(day: i8) -> Date {
        Date::new(2026, 11, day).unwrap()
    }

    fn secret(number: u128) -> DrawSecret {
        DrawSecret::of([number; 2])
    }

    #[test]
    fn a_secret_reads_back_and_is_not_shown() {
        let kept = DrawSecret::of([0x0123, 0x4567]);
        assert_eq!(DrawSecret::parse(&kept.text()), Some(kept));
        assert_eq!(DrawSecret::parse("0123"), None);
        assert!(!format!("{:?}", Draws::new(kept, SUBJECT, day(1))).contains("4567"));
    }

    #[test]
    fn draws_repeat_on_a_day_and_differ_by_secret_subject_day_and_dollar() {
        let numbers = |draws: Draws, dollar: u32| {
            let mut dollar = draws.dollar(dollar);
            [(); 3].map(|()| dollar.below(1_000_000))
        };
        let draws = Draws::new(secret(1), SUBJECT, day(3));
        let expected = numbers(draws, 0);
        assert_eq!(expected, numbers(draws, 0));
        let others = [
            numbers(Draws::new(secret(2), SUBJECT, day(3)), 0),
            numbers(Draws::new(secret(1), AccountAddress([8; 20]), day(3)), 0),
            numbers(Draws::new(secret(1), SUBJECT, day(4)), 0),
            numbers(draws, 1),
        ];
        assert!(others.iter().all(|other| *other != expected), "{others:?}");
    }

    #[test]
    fn draws_are_spread_evenly_below_the_whole() {
        let draws = Draws::new(secret(5), SUBJECT, day(3));
        let whole = 10_u128 << 70;
        let mut counts = [0_u32; 10];
        for number in 0..10_000 {
            counts[usize::try_from(draws.dollar(number).below(whole) >> 70).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
        assert_eq!(draws.dollar(3).below(0), 0);
        assert!(draws.dollar(3).below(u128::MAX) < u128::MAX);
    }
}

//! Exchanges of codes by the address of the caller: a caller whose codes the issuer refuses cannot make the server ask without
//! end.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::{SignedDuration, Timestamp};

/// Largest number of exchanges of a network in a window that signed nobody in.
const MOST_FAILED: u32 = 30;
const WINDOW: SignedDuration = SignedDuration::from_mins(1);
/// Largest number of networks that are counted.
const MOST_NETWORKS: usize = 10_000;

/// Address of the caller of a request. A request through a proxy that does not name its callers has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerAddress(pub IpAddr);

/// Exchanges that signed nobody in, or have not ended, by the network of the caller.
#[derive(Debug, Default)]
pub(crate) struct CodeExchanges(Mutex<HashMap<IpAddr, ExchangeWindow>>);

#[derive(Debug)]
struct ExchangeWindow {
    began: Timestamp,
    count: u32,
}

impl ExchangeWindow {
    /// Time until the window ends; nothing if it has ended, or if the clock was set back.
    fn rest(&self, now: Timestamp) -> SignedDuration {
        let passed = now.duration_since(self.began);
        if passed.is_negative() {
            SignedDuration::ZERO
        } else {
            (WINDOW - passed).max(SignedDuration::ZERO)
        }
    }
}

impl CodeExchanges {
    /// Counts an exchange.
    ///
    /// # Errors
    ///
    /// Returns the time after which the caller may try again.
    pub(crate) fn begin(
        &self,
        caller: CallerAddress,
        now: Timestamp,
    ) -> Result<(), SignedDuration> {
        let mut windows = self.lock();
        if windows.len() >= MOST_NETWORKS {
            windows.retain(|_, window| !window.rest(now).is_zero());
        }
        if windows.len() >= MOST_NETWORKS {
            // So many networks are no single caller: the number of requests at the same time bounds them.
            windows.clear();
        }
        let new = || ExchangeWindow { began: now, count: 0 };
        let window = windows.entry(network(caller)).or_insert_with(new);
        let rest = window.rest(now);
        if rest.is_zero() {
            *window = new();
        }
        if window.count >= MOST_FAILED {
            return Err(rest);
        }
        window.count += 1;
        Ok(())
    }

    /// Takes back an exchange that signed a person in.
    pub(crate) fn succeeded(&self, caller: CallerAddress) {
        if let Some(window) = self.lock().get_mut(&network(caller)) {
            window.count = window.count.saturating_sub(1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, ExchangeWindow>> {
        // Every change is a single step, so that the state after a panic is consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The network of a caller: an IPv4 address, or the first 64 bits of an IPv6 address, of which one caller has many.
const fn network(CallerAddress(address): CallerAddress) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(address: &str) -> CallerAddress {
        CallerAddress(address.parse().unwrap())
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    #[test]
    fn a_caller_whose_exchanges_fail_waits_for_the_next_window() {
        let exchanges = CodeExchanges::default();
        let ada = caller("192.0.2.1");
        for _ in 0..MOST_FAILED {
            assert_eq!(exchanges.begin(ada, second(0)), Ok(()));
        }
        assert_eq!(exchanges.begin(ada, second(20)), Err(SignedDuration::from_secs(40)));
        assert_eq!(exchanges.begin(caller("192.0.2.2"), second(20)), Ok(()), "another caller");
        assert_eq!(exchanges.begin(ada, second(60)), Ok(()), "the next window");
    }

    #[test]
    fn exchanges_that_sign_in_do_not_count() {
        let exchanges = CodeExchanges::default();
        for _ in 0..MOST_FAILED * 2 {
            assert_eq!(exchanges.begin(caller("192.0.2.1"), second(0)), Ok(()));
            exchanges.succeeded(caller("192.0.2.1"));
        }
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        let exchanges = CodeExchanges::default();
        for number in 0..MOST_FAILED {
            let address = caller(&format!("2001:db8::{number:x}"));
            assert_eq!(exchanges.begin(address, second(0)), Ok(()));
        }
        assert!(exchanges.begin(caller("2001:db8::ffff"), second(0)).is_err());
        assert_eq!(exchanges.begin(caller("2001:db8:0:1::1"), second(0)), Ok(()));
    }

    #[test]
    fn a_bounded_number_of_networks_is_counted() {
        let exchanges = CodeExchanges::default();
        for number in 0..u32::try_from(MOST_NETWORKS).unwrap() + 5 {
            let address = CallerAddress(IpAddr::V4(number.into()));
            assert_eq!(exchanges.begin(address, second(0)), Ok(()));
        }
        assert_eq!(exchanges.lock().len(), 5);
    }
}

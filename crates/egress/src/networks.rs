//! Addresses that requests to other servers may reach: public addresses, and those of networks that a setting names.
//!
//! The location of a list comes from a manifest, and a server may redirect to any other location. Without a bound, a
//! manifest or a redirect could make this program request internal services, such as a cloud's metadata service.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// Networks in CIDR notation, such as the private networks that requests may reach in addition to all public
/// addresses. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<Network>);

/// A network in CIDR notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    prefix: u8,
}

/// A text that is no list of networks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no network: write it as 10.0.0.0/8 or fd00::/8")]
pub struct InvalidNetwork(String);

impl Networks {
    /// True if an address is in one of the networks.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(address))
    }

    /// True if requests may reach an address.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        !is_private(address) || self.contains(address)
    }
}

impl FromStr for Networks {
    type Err = InvalidNetwork;

    /// Reads networks that are separated by commas; an empty text has no network.
    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        entries.map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Network { address, prefix }) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(formatter, "{separator}{address}/{prefix}")?;
        }
        Ok(())
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let invalid = || InvalidNetwork(text.to_owned());
        let (address, prefix) = text.split_once('/').ok_or_else(invalid)?;
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let prefix: u8 = prefix.parse().map_err(|_| invalid())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if prefix > longest {
            return Err(invalid());
        }
        Ok(Self { address, prefix })
    }
}

impl Network {
    fn contains(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let kept = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                network.to_bits() & kept == address.to_bits() & kept
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let kept = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                network.to_bits() & kept == address.to_bits() & kept
            }
            _ => false,
        }
    }
}

/// True if an address is not public, by IANA's registries of special addresses.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || first == 0
        || first >= 240
        // Carrier-grade NAT, protocol assignments, and networks for benchmarks.
        || (first == 100 && (64..128).contains(&second))
        || (first == 192 && second == 0 && third == 0)
        || (first == 198 && (18..20).contains(&second))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    // Addresses that stand for one of IPv4: translated (NAT64) and tunneled (6to4).
    let embedded = match address.segments() {
        [0x64, 0xff9b, .., high, low] | [0x2002, high, low, ..] => Some((high, low)),
        _ => None,
    };
    if let Some((high, low)) = embedded {
        return is_private_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    }
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(allowed: &str, address: &str) -> bool {
        let allowed: Networks = allowed.parse().unwrap();
        allowed.permits(address.parse().unwrap())
    }

    #[test]
    fn only_public_addresses_are_reached_by_default() {
        for public in
            ["1.1.1.1", "93.184.216.34", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1"]
        {
            assert!(permits("", public), "{public}");
        }
        for private in [
            "127.0.0.1",
            "127.8.9.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.0.8",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::1",
            "2002:a00:1::",
        ] {
            assert!(!permits("", private), "{private}");
        }
    }

    #[test]
    fn networks_of_the_setting_are_reached_too() {
        let allowed = " 10.0.0.0/8, 127.0.0.1/32 ,fd00::/8 ";
        for (address, is_permitted) in [
            ("10.255.0.1", true),
            ("127.0.0.1", true),
            ("::ffff:10.0.0.1", true),
            ("127.0.0.2", false),
            ("172.16.0.1", false),
            ("fdff::1", true),
            ("fe80::1", false),
        ] {
            assert_eq!(permits(allowed, address), is_permitted, "{address}");
        }
        assert!(permits("0.0.0.0/0", "127.0.0.1") && !permits("0.0.0.0/0", "::1"));
        assert!(permits("::/0", "::1"));
    }

    #[test]
    fn a_text_that_is_no_network_is_refused_with_the_right_form() {
        for wrong in ["10.0.0.0", "10.0.0.0/33", "x/8", "fd00::/129", "10.0.0.0/-1"] {
            let error = wrong.parse::<Networks>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("`{wrong}` is no network: write it as 10.0.0.0/8 or fd00::/8")
            );
        }
        let written: Networks = "10.0.0.0/8,fd00::/8".parse().unwrap();
        assert_eq!(written.to_string(), "10.0.0.0/8,fd00::/8");
    }
}

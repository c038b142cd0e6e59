//! Addresses that commit to a mark instead of a key: nobody can have the key of such an address.

use super::{
    AddressRules, CanonicalAddress, ChainId, Payload, cardano, eos, hedera, icp, kaspa, move_vm,
    neo, opaque, tezos, ton,
};

/// A text and a number to which addresses commit.
///
/// An address holds them as its hash, key or account: the bytes of the text, zeros, and the number as the last byte. On
/// chains whose accounts are short names, the name holds the text's first letters and the number as two letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMark {
    /// The text: at most 19 bytes of it are used, on some chains fewer.
    pub text: &'static str,
    /// The number.
    pub number: u8,
}

impl AddressMark {
    /// Returns the mark as bytes: the text, zeros, and the number.
    #[must_use]
    pub fn bytes<const LENGTH: usize>(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        if let Some((last, rest)) = bytes.split_last_mut() {
            rest.iter_mut().zip(self.text.bytes()).for_each(|(byte, text)| *byte = text);
            *last = self.number;
        }
        bytes
    }

    /// Returns the addresses of a chain that commit to the mark: one of each form that Assay writes, in canonical form.
    /// Every chain has at least one.
    #[must_use]
    pub fn addresses(self, chain: ChainId) -> Vec<CanonicalAddress> {
        let payloads = [
            Payload::PublicKeyHash(self.bytes()),
            Payload::ScriptHash(self.bytes()),
            Payload::LongScriptHash(self.bytes()),
            Payload::Witness { version: 0, program: self.bytes::<20>().into() },
            Payload::Witness { version: 0, program: self.bytes::<32>().into() },
            Payload::Witness { version: 1, program: self.bytes::<32>().into() },
            Payload::Account(self.bytes()),
            Payload::LongAccount(self.bytes()),
            Payload::Monero { keys: self.bytes(), subaddress: false },
            Payload::Monero { keys: self.bytes(), subaddress: true },
        ];
        let mut addresses: Vec<CanonicalAddress> = payloads
            .into_iter()
            .filter_map(|payload| CanonicalAddress::from_payload(chain, payload))
            .collect();
        if addresses.is_empty() {
            let text = self.text_address(chain.info().rules);
            addresses.extend(text.and_then(|text| CanonicalAddress::parse(chain, &text).ok()));
        }
        addresses
    }

    /// Returns the address by rules without payloads that other chains share.
    fn text_address(self, rules: AddressRules) -> Option<String> {
        match rules {
            AddressRules::Cardano => cardano::enterprise(&self.bytes()),
            AddressRules::Ton => Some(ton::write(0, &self.bytes())),
            AddressRules::Tezos => Some(tezos::write(&self.bytes())),
            AddressRules::Eos => Some(eos::name(self.text, self.number)),
            AddressRules::Hedera => Some(hedera::write(u64::from_be_bytes(self.bytes()))),
            AddressRules::Neo => Some(neo::write(&self.bytes())),
            AddressRules::Move => Some(move_vm::write(&self.bytes())),
            AddressRules::InternetComputer => Some(icp::write(&self.bytes())),
            AddressRules::Kaspa => Some(kaspa::write(&self.bytes())),
            AddressRules::Opaque => Some(opaque::name(self.text, self.number)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn marked(chain: &str, number: u8) -> Vec<String> {
        let mark = AddressMark { text: "assay sandbox", number };
        let addresses = mark.addresses(chain.parse().unwrap());
        addresses.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_chain_has_distinct_valid_addresses_for_every_number() {
        for chain in ChainId::all() {
            let mut seen = BTreeSet::new();
            let forms = marked(chain.as_str(), 0).len();
            assert!(forms > 0, "{chain}");
            for number in 0..=u8::MAX {
                let addresses = marked(chain.as_str(), number);
                assert_eq!(addresses.len(), forms, "{chain} {number}");
                for address in addresses {
                    let parsed = CanonicalAddress::parse(chain, &address).unwrap();
                    assert_eq!(parsed.as_str(), address, "{chain} {number}: canonical");
                    assert_eq!(parsed.unowned_kind(), None, "{chain} {number}");
                    assert!(seen.insert(address), "{chain} {number}: twice");
                }
            }
        }
    }

    #[test]
    fn the_bytes_of_an_address_are_the_text_zeros_and_the_number() {
        let bytes = format!("{}{}03", hex::encode("assay sandbox"), "00".repeat(6));
        assert_eq!(marked("eth", 3)[0].to_lowercase(), format!("0x{bytes}"));
        assert_eq!(marked("btc", 3).len(), 5, "P2PKH, P2SH, P2WPKH, P2WSH and P2TR");
        assert_eq!(marked("bch", 3).len(), 3, "P2PKH, and P2SH of both lengths");
        assert_eq!(marked("xmr", 3).len(), 2, "main address and subaddress");
        assert_eq!(marked("eos", 27), ["assaysandbbb"]);
        assert_eq!(marked("other", 3), ["assay-sandbox-3"]);
    }
}

//! The genesis blocks of test networks, with the headlines of the main networks.

use super::{
    Block, BlockHash, Network, Transaction, TxIn, TxOut,
    block::BITS,
    bytes::{push, sha256d},
};

const OP_CHECKSIG: u8 = 0xac;
/// Bytes before the headline: the difficulty of the main network, and the number 4.
const DIFFICULTY: [u8; 7] = [0x04, 0xff, 0xff, 0x00, 0x1d, 0x01, 0x04];
const TIME: u32 = 1_296_688_602;

impl Block {
    /// The genesis block of a network.
    ///
    /// # Panics
    ///
    /// Never panics.
    #[must_use]
    pub fn genesis(network: Network) -> Self {
        let (headline, key, nonce) = match network {
            Network::BitcoinRegtest => (
                "The Times 03/Jan/2009 Chancellor on brink of second bailout for banks",
                "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb6\
                 49f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f",
                2,
            ),
            Network::LitecoinRegtest => (
                "NY Times 05/Oct/2011 Steve Jobs, Apple\u{2019}s Visionary, Dies at 56",
                "040184710fa689ad5023690c80f3a49c8f13f8d45b8c857fbcbc8bc4a8e4d3eb4b\
                 10f4d4604fa08dce601aaf0f470216fe1b51850b4acf21b179c45070ac7b03a9",
                0,
            ),
        };
        let key = hex::decode(key).expect("hexadecimal");
        let output =
            TxOut { value: network.subsidy(0), script: [&*push(&key), &[OP_CHECKSIG]].concat() };
        let script = [&DIFFICULTY, &*push(headline.as_bytes())].concat();
        let mut coinbase = Transaction::new(vec![TxIn::coinbase(script)], vec![output]);
        coinbase.version = 1;
        let mut block = Self {
            height: 0,
            hash: BlockHash([0; 32]),
            parent: BlockHash([0; 32]),
            version: 1,
            merkle_root: sha256d(&coinbase.stripped()),
            time: TIME,
            bits: BITS,
            nonce,
            transactions: vec![coinbase],
        };
        block.hash = BlockHash(sha256d(&block.header()));
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_begin_with_the_genesis_blocks_of_their_nodes() {
        for (network, hash) in [
            (
                Network::BitcoinRegtest,
                "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
            ),
            (
                Network::LitecoinRegtest,
                "530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9",
            ),
        ] {
            assert_eq!(Block::genesis(network).hash.to_string(), hash);
        }
    }
}

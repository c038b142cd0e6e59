//! Wallet of a Litecoin Core node: addresses, and payments that the caller composes.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::utxo::ScriptOwner;
use serde_json::{Value, json};

use super::Node;

/// Wallet of a node, with the coins of mature blocks.
#[derive(Clone, Copy, Debug)]
pub struct Wallet<'n>(&'n Node);

/// Address of a wallet, in the form of the node's test network and of the main network, which checks use.
#[derive(Clone, Debug)]
pub struct WalletAddress {
    /// Address on the node's network.
    pub node: String,
    /// Address of the same key on the main network.
    pub main: CanonicalAddress,
}

impl<'n> Wallet<'n> {
    /// Creates the wallet of a node, and mines until the coins of the first block can be spent.
    ///
    /// # Panics
    ///
    /// Panics if the node refuses.
    #[must_use]
    pub fn create(node: &'n Node) -> Self {
        let _ = node.call("createwallet", &[json!("test")]).expect("a wallet");
        let wallet = Self(node);
        wallet.mine(101);
        wallet
    }

    /// Mines blocks to the wallet.
    ///
    /// # Panics
    ///
    /// Panics if the node refuses.
    pub fn mine(&self, blocks: u64) {
        let to = self.address().node;
        let _ = self.0.call("generatetoaddress", &[json!(blocks), json!(to)]).expect("blocks");
    }

    /// A new address.
    ///
    /// # Panics
    ///
    /// Panics if the node refuses.
    #[must_use]
    pub fn address(&self) -> WalletAddress {
        let node = self.0.call("getnewaddress", &[json!(""), json!("bech32")]).expect("an address");
        let told = self.0.call("getaddressinfo", std::slice::from_ref(&node)).expect("its script");
        let script = hex::decode(told["scriptPubKey"].as_str().expect("a script")).expect("digits");
        let chain: ChainId = "ltc".parse().expect("a chain");
        let main = ScriptOwner::from_script(chain, &script).address(chain);
        let node = node.as_str().expect("a text").to_owned();
        WalletAddress { node, main: main.expect("an address") }
    }

    /// The coins of the oldest mature block.
    ///
    /// # Panics
    ///
    /// Panics if the wallet has none.
    #[must_use]
    pub fn oldest_coins(&self) -> (String, u32) {
        let unspent = self.0.call("listunspent", &[]).expect("coins");
        let coins = unspent.as_array().expect("a list");
        let oldest = coins.iter().max_by_key(|coin| coin["confirmations"].as_u64());
        let txid = oldest.expect("coins")["txid"].as_str().expect("a text");
        (txid.to_owned(), 0)
    }

    /// Signs a payment of one output, sends it and returns its identifier. Amounts are in LTC; what they leave over is
    /// the fee.
    ///
    /// # Panics
    ///
    /// Panics if the node refuses.
    #[must_use]
    pub fn pay(
        &self,
        (txid, output): (&str, u32),
        outputs: &[(&WalletAddress, &str)],
        replaceable: bool,
    ) -> String {
        let inputs = json!([{"txid": txid, "vout": output}]);
        let outputs: Vec<Value> =
            outputs.iter().map(|(to, amount)| json!({ to.node.as_str(): amount })).collect();
        let call = |method: &str, parameters: &[Value]| {
            self.0.call(method, parameters).unwrap_or_else(|error| panic!("{method}: {error:?}"))
        };
        let drafted =
            call("createrawtransaction", &[inputs, json!(outputs), json!(0), json!(replaceable)]);
        let signed = call("signrawtransactionwithwallet", &[drafted]);
        let sent = call("sendrawtransaction", &[signed["hex"].clone()]);
        sent.as_str().expect("an identifier").to_owned()
    }
}

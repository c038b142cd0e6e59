//! Blocks, and histories of single addresses, from an Esplora API: the HTTP interface of Blockstream's explorer, which
//! other explorers offer too.
//!
//! The data is validated as a node's data is: a transaction's identifier is recomputed from its contents, a block's
//! merkle root from its transactions. Two things cannot be validated: that a history is complete, and which block a
//! transaction is in.

mod answer;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    ledger::BlockRef,
    utxo::{Block, TransactionKind, Txid},
};
use serde::de::DeserializeOwned;

pub use self::answer::AddressStatistics;

use self::answer::{
    AddressAnswer, BlockAnswer, CheckedHeader, MOST_TRANSACTIONS, MerkleProofAnswer,
    OutspendAnswer, Reader, TransactionAnswer,
};
use super::{
    BlockSource, ChainParams, SourceError, TestNetworks, TipRef,
    hash::{hash_text, parse_hash},
    histories::{ChainPosition, ConfirmedTransaction},
    http::{AttemptError, Request, Response, Server, shortened},
    identity,
    mempool::{MempoolEntry, MempoolSource},
    params::{HeaderForm, TransactionForm},
    raw::merkle::merkle_root,
};

/// Number of transactions on a page.
pub const PAGE: usize = 25;

/// Client of an Esplora API.
#[derive(Clone, Debug)]
pub struct Esplora {
    server: Server,
    reader: Reader,
}

impl Esplora {
    /// Returns a client of the API of a chain. `test_networks` decides if the API may serve a test network, with its
    /// easier targets.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain has no Esplora API.
    pub fn new(
        chain: ChainId,
        server: Server,
        test_networks: TestNetworks,
    ) -> Result<Self, SourceError> {
        let known = |params: &&ChainParams| {
            let header = matches!(params.header, HeaderForm::Plain { .. } | HeaderForm::AuxPow);
            let form = params.transactions;
            header && !matches!(form, TransactionForm::Zcash | TransactionForm::Other)
        };
        let params =
            ChainParams::for_chain(chain).filter(known).ok_or(SourceError::Unsupported {
                chain,
                how: "from an Esplora API",
                instead: "read it from a node (--rpc)",
            })?;
        Ok(Self { server, reader: Reader { chain, params, test_networks } })
    }

    /// Returns the chain that the API serves.
    #[must_use]
    pub const fn chain(&self) -> ChainId {
        self.reader.chain
    }

    /// Verifies that the API serves the chain, as far as the API's blocks identify the chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the API serves another chain or a refused test network; and the errors of [`Esplora::tip`].
    pub fn check_chain(&self) -> Result<(), SourceError> {
        let Reader { chain, test_networks, .. } = self.reader;
        let url = self.server.url();
        identity::check(chain, url, test_networks, |height| self.hash_at(height))
    }

    /// Returns the newest block.
    ///
    /// # Errors
    ///
    /// Returns an error if the API does not answer, or answers with invalid data.
    pub fn tip(&self) -> Result<TipRef, SourceError> {
        self.newest().map(|newest| TipRef { height: newest.height, hash: newest.hash })
    }

    /// Returns the newest block with its parent and time.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Esplora::tip`].
    pub fn newest(&self) -> Result<BlockRef, SourceError> {
        // The header is requested by its hash, so that both responses are of the same block.
        let path = "/blocks/tip/hash";
        let hash =
            self.hash(path)?.ok_or_else(|| self.invalid_data(path, "there is none".to_owned()))?;
        let answer = self.block_answer(&hash)?;
        Ok(self.reference(&answer, &hash)?.reference)
    }

    /// Returns the hash of the block at a height; `None` if there is no block.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Esplora::tip`].
    pub fn hash_at(&self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        self.hash(&format!("/block-height/{height}"))
    }

    /// Returns a block with its spent outputs.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Esplora::tip`]; [`SourceError::NotOnChain`] if no block has the hash.
    pub fn block(&self, hash: &[u8; 32]) -> Result<Block, SourceError> {
        let path = block_path(hash);
        let answer = self.block_answer(hash)?;
        let CheckedHeader { reference, merkle_root: committed, work } =
            self.reference(&answer, hash)?;
        let count = answer.tx_count;
        if u64::try_from(count).is_ok_and(|count| count > MOST_TRANSACTIONS) {
            return Err(self.invalid_data(&path, format!("it says it has {count} transactions")));
        }
        let mut transactions = Vec::with_capacity(count);
        while transactions.len() < count {
            let page = format!("{path}/txs/{}", transactions.len());
            let gone = SourceError::NotOnChain { hash: *hash };
            let answers: Vec<TransactionAnswer> = self.json(&page)?.ok_or(gone)?;
            let expected = PAGE.min(count - transactions.len());
            if answers.len() != expected {
                let found = answers.len();
                let reason = format!("there are {found} transactions instead of {expected}");
                return Err(self.invalid_data(&page, reason));
            }
            for answer in &answers {
                let read = self.reader.unconfirmed(answer);
                transactions.push(read.map_err(|reason| self.invalid_data(&page, reason))?);
            }
        }
        let computed = merkle_root(transactions.iter().map(|read| read.txid));
        if computed != Ok(committed) {
            let reason =
                format!("its transactions do not have the merkle root {}", hash_text(&committed));
            return Err(self.invalid_data(&path, reason));
        }
        let mut coinbases = transactions.iter().map(|read| read.kind == TransactionKind::Coinbase);
        if coinbases.next() != Some(true) || coinbases.any(|coinbase| coinbase) {
            return Err(
                self.invalid_data(&path, "it does not begin with its only coinbase".to_owned())
            );
        }
        Ok(Block { reference, work: Some(work), transactions })
    }

    /// Returns the totals of an address.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Esplora::tip`].
    pub fn address(&self, address: &CanonicalAddress) -> Result<AddressStatistics, SourceError> {
        let path = address_path(address);
        let answer: Option<AddressAnswer> = self.json(&path)?;
        answer.map(Into::into).ok_or_else(|| self.refused(&path, 404, "no such address"))
    }

    /// Returns a page of an address's confirmed transactions, newest first: the first page, or the page after a
    /// transaction. The last page has fewer than [`PAGE`] transactions.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Esplora::tip`].
    pub fn address_transactions(
        &self,
        address: &CanonicalAddress,
        after: Option<&Txid>,
    ) -> Result<Vec<ConfirmedTransaction>, SourceError> {
        let mut path = format!("{}/txs/chain", address_path(address));
        if let Some(after) = after {
            path = format!("{path}/{after}");
        }
        let answers: Option<Vec<TransactionAnswer>> = self.json(&path)?;
        let answers = answers.ok_or_else(|| self.refused(&path, 404, "no such address"))?;
        let read = |answer| {
            self.reader.transaction(answer).map_err(|reason| self.invalid_data(&path, reason))
        };
        answers.iter().filter_map(|answer| read(answer).transpose()).collect()
    }

    /// Returns a confirmed transaction; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Esplora::tip`].
    pub fn transaction(&self, txid: &Txid) -> Result<Option<ConfirmedTransaction>, SourceError> {
        let path = format!("/tx/{txid}");
        let Some(answer) = self.json::<TransactionAnswer>(&path)? else { return Ok(None) };
        let read = self.reader.transaction(&answer);
        let found = read.map_err(|reason| self.invalid_data(&path, reason))?;
        match found {
            Some(found) if found.transaction.txid != *txid => {
                Err(self
                    .invalid_data(&path, format!("it is transaction {}", found.transaction.txid)))
            }
            found => Ok(found),
        }
    }

    /// Returns the confirmed transactions that spend a transaction's outputs, by output index; `None` for an unspent
    /// output.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Esplora::tip`].
    pub fn spenders(&self, txid: &Txid) -> Result<Vec<Option<Txid>>, SourceError> {
        let path = format!("/tx/{txid}/outspends");
        let answers: Option<Vec<OutspendAnswer>> = self.json(&path)?;
        let answers = answers.ok_or_else(|| self.refused(&path, 404, "no such transaction"))?;
        let read =
            |answer| answer::spender(answer).map_err(|reason| self.invalid_data(&path, reason));
        answers.iter().map(read).collect()
    }

    /// Returns the position of a confirmed transaction, from its merkle proof; `None` if the API has no proof of it, or
    /// serves no proofs.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Esplora::tip`].
    pub fn position(&self, txid: &Txid) -> Result<Option<ChainPosition>, SourceError> {
        let path = format!("/tx/{txid}/merkle-proof");
        let Some(answer) = self.json::<MerkleProofAnswer>(&path)? else { return Ok(None) };
        let read = answer::position(&answer);
        read.map(Some).map_err(|reason| self.invalid_data(&path, reason))
    }

    fn reference(
        &self,
        answer: &BlockAnswer,
        hash: &[u8; 32],
    ) -> Result<CheckedHeader, SourceError> {
        let read = self.reader.reference(answer, hash);
        read.map_err(|reason| self.invalid_data(&block_path(hash), reason))
    }

    fn block_answer(&self, hash: &[u8; 32]) -> Result<BlockAnswer, SourceError> {
        self.json(&block_path(hash))?.ok_or(SourceError::NotOnChain { hash: *hash })
    }

    fn hash(&self, path: &str) -> Result<Option<[u8; 32]>, SourceError> {
        self.get(path, |body| {
            let text = String::from_utf8_lossy(body);
            parse_hash(text.trim()).ok_or_else(|| format!("`{}` is no hash", shortened(&text)))
        })
    }

    fn json<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, SourceError> {
        self.get(path, |body| serde_json::from_slice(body).map_err(|error| error.to_string()))
    }

    /// Sends a GET request; `None` if the API has nothing at the path.
    fn get<T>(
        &self,
        path: &str,
        read: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Result<Option<T>, SourceError> {
        self.server.ask(Request::get(path), |answer| {
            let Response { status, retry_after, body } = answer;
            match status {
                200..=299 => match read(body) {
                    Ok(read) => Ok(Some(read)),
                    Err(reason) => {
                        let (url, what) = (self.server.url().to_owned(), path.to_owned());
                        Err(SourceError::Unreadable { url, what, reason }.into())
                    }
                },
                404 => Ok(None),
                400..=499 => {
                    let words = String::from_utf8_lossy(body);
                    Err(self.refused(path, *status, &words).into())
                }
                _ => {
                    let reason = format!("{path} fails (HTTP status {status})");
                    Err(AttemptError::Transient { reason, after: *retry_after })
                }
            }
        })
    }

    fn refused(&self, path: &str, status: u16, words: &str) -> SourceError {
        SourceError::Refused {
            url: self.server.url().to_owned(),
            what: path.to_owned(),
            code: status.into(),
            message: shortened(words),
        }
    }

    fn invalid_data(&self, path: &str, reason: String) -> SourceError {
        SourceError::InvalidData {
            url: self.server.url().to_owned(),
            what: path.to_owned(),
            reason,
        }
    }
}

impl MempoolSource for Esplora {
    fn entries(&self, txids: &[Txid]) -> Result<Vec<MempoolEntry>, SourceError> {
        let entry = |txid: &Txid| {
            let path = format!("/tx/{txid}");
            let answer: Option<TransactionAnswer> = self.json(&path)?;
            let Some(answer) = answer else { return Ok(MempoolEntry::Absent) };
            let read = self.reader.mempool_entry(&answer).and_then(|read| match &read {
                MempoolEntry::Unconfirmed(found) if found.transaction.txid != *txid => {
                    Err(format!("it is transaction {}", found.transaction.txid))
                }
                _ => Ok(read),
            });
            read.map_err(|reason| self.invalid_data(&path, reason))
        };
        txids.iter().map(entry).collect()
    }
}

impl BlockSource for Esplora {
    fn tip(&mut self) -> Result<TipRef, SourceError> {
        Self::tip(self)
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        Self::hash_at(self, height)
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<Block, SourceError> {
        Self::block(self, hash)
    }

    fn block_at(&mut self, height: u64) -> Result<Block, SourceError> {
        let path = format!("/block-height/{height}");
        let Some(hash) = Self::hash_at(self, height)? else {
            return Err(SourceError::NoBlock { height, tip: Self::tip(self)?.height });
        };
        let block = Self::block(self, &hash)?;
        if block.reference.height != height {
            return Err(self.invalid_data(&path, format!("it is block {}", block.reference.height)));
        }
        Ok(block)
    }
}

fn block_path(hash: &[u8; 32]) -> String {
    format!("/block/{}", hash_text(hash))
}

fn address_path(address: &CanonicalAddress) -> String {
    format!("/address/{address}")
}

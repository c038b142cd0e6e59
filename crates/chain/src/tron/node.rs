//! Blocks of a node of TRON.
//!
//! A node states a block and what happened in it by height, each in an answer of its own. If the answers do not belong together,
//! another branch may have taken the block's place, and it is asked for again.

use std::sync::{Mutex, OnceLock, PoisonError};

use assay_address::ChainId;
use assay_engine::account::Asset;
use assay_graph::account::AccountBlock;
use serde::Deserialize;
use serde_json::json;

use super::{
    FIRST_BLOCK,
    answer::{BlockAnswer, ExchangeAnswer, InfoAnswer},
    api::Api,
    block::ExchangePairs,
    contract::token,
    verify::VerifiedBlock,
};
use crate::{
    BatchLimit, BlockSource, FetchBounds, NodeAbilities, ProvenParts, SourceBlock, SourceError,
    TestNetworks, TipRef, Tracer, account_source::AccountBlockSource, concurrent::fetch_chunks,
    evm::BlockTag, hash::parse_hash, http::Server,
};

/// Paths of questions.
mod paths {
    pub(super) const NEWEST: &str = "/wallet/getnowblock";
    pub(super) const SOLID: &str = "/walletsolidity/getnowblock";
    pub(super) const NODE: &str = "/wallet/getnodeinfo";
    pub(super) const BLOCK: &str = "/wallet/getblockbynum";
    pub(super) const INFOS: &str = "/wallet/gettransactioninfobyblocknum";
    pub(super) const EXCHANGE: &str = "/wallet/getexchangebyid";
}

/// Number of newest blocks in which an internal transfer is looked for: on the main network each of them has several.
const SEARCHED_BLOCKS: u64 = 20;
/// Number of blocks below the newest one from which on a missing block is one that the node keeps no more.
const LAG: u64 = 64;

/// Options of a node as a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TronNodeOptions {
    /// Acceptance of test networks.
    pub test_networks: TestNetworks,
    /// The newest block that is read. Safe and final blocks are both those that two thirds of the producers built upon: about a
    /// minute old.
    pub newest: BlockTag,
    /// Bounds of requests.
    pub bounds: FetchBounds,
}

impl Default for TronNodeOptions {
    /// Returns options for the main network, up to its latest block.
    fn default() -> Self {
        Self {
            test_networks: TestNetworks::Refused,
            newest: BlockTag::Latest,
            bounds: FetchBounds::default(),
        }
    }
}

/// Node of TRON as a source of blocks.
#[derive(Debug)]
pub struct TronNodeSource {
    api: Api,
    options: TronNodeOptions,
    /// The way in which the node states internal transfers, once it was looked for.
    internal: OnceLock<Tracer>,
    /// The pairs of exchanges, which never change.
    pairs: Mutex<ExchangePairs>,
}

/// A node's statement about itself.
#[derive(Debug, Deserialize)]
struct NodeAnswer {
    #[serde(rename = "solidityBlock")]
    solidity_block: String,
}

impl TronNodeSource {
    /// Returns the source of a node at a server, whose URL has the paths of the API below it.
    #[must_use]
    pub fn new(server: Server, options: TronNodeOptions) -> Self {
        let (api, internal) = (Api::new(server), OnceLock::new());
        Self { api, options, internal, pairs: Mutex::default() }
    }

    /// Returns the node's URL for messages.
    #[must_use]
    pub fn url(&self) -> &str {
        self.api.url()
    }

    const fn largest(&self) -> u64 {
        self.options.bounds.largest_answer
    }

    fn invalid(&self, what: String, reason: String) -> SourceError {
        SourceError::InvalidData { url: self.api.url().to_owned(), what, reason }
    }

    /// Reads the name of a block from an answer with the whole block.
    fn named(
        &self,
        path: &'static str,
        answer: Option<BlockAnswer>,
    ) -> Result<TipRef, SourceError> {
        let invalid = |reason| self.invalid(path.to_owned(), reason);
        let block = answer.ok_or_else(|| invalid("it has no block".to_owned()))?;
        let height = block.check_header().map_err(invalid)?;
        Ok(TipRef { height, hash: block.id.0 })
    }

    /// The newest block that the producers built upon.
    fn solid(&self) -> Result<TipRef, SourceError> {
        match self.api.ask(paths::SOLID, &json!({}), self.largest()) {
            Ok(answer) => self.named(paths::SOLID, answer),
            // A node may serve this path at another port; it states the block about itself too.
            Err(refused @ SourceError::Refused { .. }) => {
                let node = self.api.ask::<NodeAnswer>(paths::NODE, &json!({}), self.largest());
                let Ok(Some(node)) = node else { return Err(refused) };
                solid_block(&node.solidity_block).ok_or_else(|| {
                    let stated = crate::http::shortened(&node.solidity_block);
                    let reason = format!("its solidityBlock `{stated}` is no number with an ID");
                    self.invalid(paths::NODE.to_owned(), reason)
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Asks for the block at a height; `None` if the node does not have it.
    fn answered(&self, height: u64, most: u64) -> Result<Option<BlockAnswer>, SourceError> {
        let answer = self.api.ask::<BlockAnswer>(paths::BLOCK, &json!({ "num": height }), most)?;
        let Some(block) = answer else { return Ok(None) };
        let invalid = |reason| self.invalid(format!("about block {height}"), reason);
        let found = block.check_header().map_err(invalid)?;
        if found != height {
            return Err(invalid(format!("it is block {found}")));
        }
        Ok(Some(block))
    }

    fn infos(&self, height: u64, most: u64) -> Result<Vec<InfoAnswer>, SourceError> {
        let infos =
            self.api.ask::<Vec<InfoAnswer>>(paths::INFOS, &json!({ "num": height }), most)?;
        Ok(infos.unwrap_or_default())
    }

    /// Fetches and verifies the block at a height; `None` if the node does not have it. `most` bounds the bytes of each answer.
    fn fetch(&self, height: u64, most: u64) -> Result<Option<AccountBlock>, SourceError> {
        let Some(answer) = self.answered(height, most)? else { return Ok(None) };
        let invalid = |reason| self.invalid(format!("about block {height}"), reason);
        let block = answer.verify().map_err(invalid)?;
        // Nodes state nothing about the transactions of the first block.
        let has_infos = height > 0 && !block.transactions.is_empty();
        let infos = if has_infos { self.infos(height, most)? } else { Vec::new() };
        let pairs = self.pairs_of(&block)?;
        match block.book(&infos, &pairs) {
            Ok(booked) => Ok(Some(booked)),
            // The answers may be about two branches.
            Err(_) if self.hash_of(height)? != Some(block.id) => {
                Err(SourceError::NotOnChain { hash: block.id })
            }
            Err(reason) => Err(invalid(reason)),
        }
    }

    /// The pairs of the exchanges of a block.
    fn pairs_of(&self, block: &VerifiedBlock) -> Result<ExchangePairs, SourceError> {
        let mut pairs = ExchangePairs::new();
        for number in block.exchanges() {
            let known = || self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
            let found = known().get(&number).copied();
            let pair = match found {
                Some(pair) => pair,
                None => self.pair(number)?,
            };
            known().insert(number, pair);
            pairs.insert(number, pair);
        }
        Ok(pairs)
    }

    fn pair(&self, number: i64) -> Result<[Option<Asset>; 2], SourceError> {
        let answer = self.api.ask::<ExchangeAnswer>(
            paths::EXCHANGE,
            &json!({ "id": number }),
            self.largest(),
        )?;
        let ExchangeAnswer { first_token_id, second_token_id } = answer.ok_or_else(|| {
            self.invalid(format!("about exchange {number}"), "it has no such exchange".to_owned())
        })?;
        Ok([token(&first_token_id.0), token(&second_token_id.0)])
    }

    fn hash_of(&self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        Ok(self.answered(height, self.largest())?.map(|block| block.id.0))
    }

    /// The error of a missing block.
    fn missing(&self, height: u64, tip: u64) -> SourceError {
        if tip.saturating_sub(height) > LAG {
            let url = self.api.url().to_owned();
            return SourceError::Pruned { url, height, newest: tip };
        }
        SourceError::NoBlock { height, tip: tip.min(height.saturating_sub(1)) }
    }

    /// Looks for an internal transfer in the newest blocks: nodes keep none unless they are told to, and do not say so.
    fn search_internal(&self, newest: u64) -> Result<Tracer, SourceError> {
        for height in (1..=newest).rev().take(usize::try_from(SEARCHED_BLOCKS).unwrap_or(1)) {
            let infos = self.infos(height, self.largest())?;
            if infos.iter().any(|info| !info.internal_transactions.is_empty()) {
                return Ok(Tracer::TransactionInfo);
            }
        }
        Ok(Tracer::None)
    }
}

/// Reads the words of a node about its newest solid block, `Num:1,ID:...`.
fn solid_block(words: &str) -> Option<TipRef> {
    let (number, id) = words.strip_prefix("Num:")?.split_once(",ID:")?;
    Some(TipRef { height: number.parse().ok()?, hash: parse_hash(id)? })
}

/// The height in a block's identifier.
fn height_of(id: &[u8; 32]) -> u64 {
    id.first_chunk().map_or(0, |height| u64::from_be_bytes(*height))
}

impl BlockSource<AccountBlock> for TronNodeSource {
    fn tip(&mut self) -> Result<TipRef, SourceError> {
        match self.options.newest {
            BlockTag::Latest => {
                let answer = self.api.ask(paths::NEWEST, &json!({}), self.largest())?;
                self.named(paths::NEWEST, answer)
            }
            BlockTag::Safe | BlockTag::Final => self.solid(),
        }
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        self.hash_of(height)
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<AccountBlock, SourceError> {
        let fetched = self.fetch(height_of(hash), self.largest())?;
        let is_wanted = |block: &AccountBlock| block.reference.hash == *hash;
        fetched.filter(is_wanted).ok_or(SourceError::NotOnChain { hash: *hash })
    }

    fn block_at(&mut self, height: u64) -> Result<AccountBlock, SourceError> {
        let block = self.blocks(height, BatchLimit::of_blocks(1))?.pop();
        block.ok_or(SourceError::NoBlock { height, tip: height.saturating_sub(1) })
    }

    fn blocks(&mut self, from: u64, limit: BatchLimit) -> Result<Vec<AccountBlock>, SourceError> {
        let tip = self.tip()?.height;
        if from > tip {
            return Err(SourceError::NoBlock { height: from, tip });
        }
        let source = &*self;
        let first =
            source.fetch(from, source.largest())?.ok_or_else(|| source.missing(from, tip))?;
        let left = limit.entries.saturating_sub(first.entries());
        let mut blocks = vec![first];
        let others: Vec<u64> =
            (from..=tip).take(limit.blocks.max(1)).skip(1).filter(|_| left > 0).collect();
        let chunks: Vec<_> = others.chunks(1).collect();
        // A larger block is the first of the next call.
        let shared = source.options.bounds.shared_answer;
        let fetched = fetch_chunks(
            &chunks,
            source.options.bounds.connections.max(1),
            left,
            AccountBlock::entries,
            |chunk, goes_on| {
                let fetch = |height: &u64| {
                    source.fetch(*height, shared)?.ok_or_else(|| source.missing(*height, tip))
                };
                let fetched: Vec<_> = chunk.iter().map(fetch).collect();
                goes_on(&fetched);
                fetched
            },
        );
        let mut entries = 0_usize;
        for block in fetched {
            // The next call returns the error.
            let Ok(block) = block else { break };
            entries = entries.saturating_add(block.entries());
            blocks.push(block);
            if entries >= left {
                break;
            }
        }
        Ok(blocks)
    }
}

impl AccountBlockSource for TronNodeSource {
    fn check_chain(&mut self) -> Result<(), SourceError> {
        let first = self.hash_of(0)?.ok_or_else(|| {
            let reason = "there is no first block, by which the chain is recognized".to_owned();
            self.invalid("about block 0".to_owned(), reason)
        })?;
        if first != FIRST_BLOCK && self.options.test_networks == TestNetworks::Refused {
            let url = self.api.url().to_owned();
            return Err(SourceError::TestNetwork { url, chain: ChainId::TRX, first });
        }
        let newest = self.tip()?.height;
        let internal = self.search_internal(newest)?;
        self.internal.get_or_init(|| internal);
        Ok(())
    }

    fn finalized(&mut self) -> Result<Option<TipRef>, SourceError> {
        match self.solid() {
            Err(SourceError::Refused { .. }) => Ok(None),
            solid => solid.map(Some),
        }
    }

    fn abilities(&self) -> NodeAbilities {
        let proven =
            ProvenParts { header: true, transactions: true, receipts: false, withdrawals: false };
        NodeAbilities { tracer: self.internal.get().copied(), proven }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_states_its_solid_block_in_words() {
        let id = hex::encode([7; 32]);
        let read = solid_block(&format!("Num:66,ID:{id}"));
        assert_eq!(read, Some(TipRef { height: 66, hash: [7; 32] }));
        for wrong in ["", "Num:66", "Num:x,ID:07", "66,ID:07"] {
            assert_eq!(solid_block(wrong), None, "{wrong}");
        }
    }
}

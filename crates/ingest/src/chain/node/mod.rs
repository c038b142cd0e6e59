//! Blocks of a node, over JSON-RPC, or over REST where it has that.
//!
//! Nodes give blocks in several forms, and each node knows only some. The best one that it knows is found
//! out with the first block and used from then on. Several blocks are fetched over several connections at
//! once, several with each request.

mod answer;
mod fetch;
mod form;
mod reader;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use assay_engine::chain::ChainId;
use serde_json::json;

use self::{
    fetch::{Failure, Fetched, Fetcher, Wanted},
    form::Form,
    reader::Reader,
};
use super::{
    BlockSource, ChainBlock, ChainParams, SourceError, TestNetworks, TipRef,
    block::parse_hash,
    identity,
    rpc::{NodeError, Rpc},
};

/// What a reader of a node is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeOptions {
    /// Whether to ask for what each input spends, where the node can tell: needed where the first block
    /// that is read is not the chain's first. Without it, blocks are fetched as they are stored, which
    /// takes a fraction of the time.
    pub prevouts: bool,
    /// Over how many connections to fetch at once.
    pub connections: usize,
}

impl Default for NodeOptions {
    /// Four connections: what a node on two cores can serve.
    fn default() -> Self {
        Self { prevouts: true, connections: 4 }
    }
}

/// Blocks that one request asks for at most, and bytes of the answer to aim at.
const MOST_BLOCKS_A_REQUEST: usize = 20;
const BYTES_A_REQUEST: usize = 4 * 1024 * 1024;

/// Blocks of a node.
#[derive(Debug)]
pub struct NodeSource {
    fetcher: Fetcher,
    options: NodeOptions,
    /// The form that works with this node, once it is known.
    form: Option<Form>,
    /// How many bytes the answer with the last block had.
    block_bytes: usize,
}

impl NodeSource {
    /// A node of `chain`.
    ///
    /// # Errors
    ///
    /// Where the chain is not of the Bitcoin family.
    pub fn new(chain: ChainId, rpc: Rpc, options: NodeOptions) -> Result<Self, SourceError> {
        let params = ChainParams::of(chain).ok_or(SourceError::Unsupported {
            chain,
            how: "from a node like Bitcoin's",
            instead: "its money is not coins",
        })?;
        let reader = Reader { chain, params };
        let fetcher = Fetcher { chain, reader, rpc };
        Ok(Self { fetcher, options, form: None, block_bytes: 0 })
    }

    /// Checks that the node serves the chain, as far as it has blocks that tell.
    ///
    /// # Errors
    ///
    /// Where it does not, or serves a test network and those are refused, or does not answer.
    pub fn check_chain(&self, test_networks: TestNetworks) -> Result<(), SourceError> {
        let (chain, url) = (self.fetcher.chain, self.fetcher.rpc.url());
        let hash_at = |height| Ok(self.hashes(height, 1)?.first().copied());
        identity::check(chain, url, test_networks, hash_at)
    }

    /// Fetches blocks in the form that works, which the first one finds out.
    fn fetch(&mut self, wanted: &[Wanted]) -> Vec<Result<ChainBlock, SourceError>> {
        let (mut blocks, mut rest) = (Vec::with_capacity(wanted.len()), wanted);
        if self.form.is_none() {
            let Some((first, others)) = wanted.split_first() else { return blocks };
            match self.find_form(*first) {
                Ok(block) => blocks.push(Ok(block)),
                Err(error) => return vec![Err(error)],
            }
            rest = others;
        }
        for fetched in self.fetch_many(rest) {
            blocks.push(match fetched {
                Ok((block, bytes)) => {
                    self.block_bytes = bytes;
                    Ok(block)
                }
                Err(Failure::Source(error)) => Err(error),
                Err(Failure::Form(error)) => {
                    // Another node answers now: the next call finds out again.
                    self.form = None;
                    Err(self.fetcher.rpc.refused("getblock", error))
                }
            });
        }
        blocks
    }

    /// Finds the best form that the node knows by fetching a block in it.
    fn find_form(&mut self, wanted: Wanted) -> Result<ChainBlock, SourceError> {
        let mut refusal = None;
        let raw = self.fetcher.reader.params.reads_raw();
        for form in Form::to_try(self.options.prevouts, raw) {
            let fetched = match form {
                Form::Rest => Some(self.fetcher.try_rest(wanted)),
                _ => self.fetcher.fetch(&[wanted], form).pop(),
            };
            match fetched {
                Some(Ok((block, bytes))) => {
                    (self.form, self.block_bytes) = (Some(form), bytes);
                    return Ok(block);
                }
                Some(Err(Failure::Source(error))) => return Err(error),
                Some(Err(Failure::Form(error))) => refusal = Some(error),
                None => {}
            }
        }
        let unknown = || NodeError { code: 0, message: "it gives no block in any form".to_owned() };
        Err(self.fetcher.rpc.refused("getblock", refusal.unwrap_or_else(unknown)))
    }

    /// Fetches blocks over several connections, as many with each request as their size lets us.
    fn fetch_many(&self, wanted: &[Wanted]) -> Vec<Fetched> {
        let Some(form) = self.form else { return Vec::new() };
        let connections = self.options.connections.max(1);
        let spread = wanted.len().div_ceil(connections).max(1);
        let fit = (BYTES_A_REQUEST / self.block_bytes.max(1)).clamp(1, MOST_BLOCKS_A_REQUEST);
        let chunks: Vec<_> = wanted.chunks(fit.min(spread)).collect();
        let fetched: Vec<_> = chunks.iter().map(|_| Mutex::new(Vec::new())).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let (Some(chunk), Some(place)) = (chunks.get(at), fetched.get(at)) else { break };
                let blocks = self.fetcher.fetch(chunk, form);
                *place.lock().unwrap_or_else(PoisonError::into_inner) = blocks;
            }
        };
        if chunks.len() > 1 {
            thread::scope(|scope| {
                for _ in 0..connections.min(chunks.len()) {
                    scope.spawn(work);
                }
            });
        } else {
            work();
        }
        let fetched = fetched.into_iter();
        fetched
            .flat_map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }

    /// The hashes of blocks from a height on, as many as there are.
    fn hashes(&self, from: u64, most: usize) -> Result<Vec<[u8; 32]>, SourceError> {
        const METHOD: &str = "getblockhash";
        let rpc = &self.fetcher.rpc;
        let params: Vec<_> = (from..).take(most).map(|height| json!([height])).collect();
        let mut hashes = Vec::with_capacity(params.len());
        for (reply, params) in rpc.calls(METHOD, &params)?.into_iter().zip(&params) {
            let what = format!("{METHOD} {params}");
            match reply {
                Ok(result) => {
                    let text: String = rpc.read(&what, &result)?;
                    let no_hash = || self.fetcher.untrue(&what, format!("`{text}` is no hash"));
                    hashes.push(parse_hash(&text).ok_or_else(no_hash)?);
                }
                Err(error) if error.is_out_of_range() => break,
                Err(error) => return Err(rpc.refused(&what, error)),
            }
        }
        Ok(hashes)
    }
}

impl BlockSource for NodeSource {
    fn tip(&mut self) -> Result<TipRef, SourceError> {
        const METHOD: &str = "getblockcount";
        // The chain may get shorter between the two questions, in a reorganisation.
        for _ in 0..3 {
            let reply = self.fetcher.rpc.call(METHOD, &json!([]))?;
            let result = reply.map_err(|error| self.fetcher.rpc.refused(METHOD, error))?;
            let height = self.fetcher.rpc.read(METHOD, &result)?;
            if let Some(hash) = self.hash_at(height)? {
                return Ok(TipRef { height, hash });
            }
        }
        let reason = "there is no block at the height that it names".to_owned();
        Err(self.fetcher.untrue(METHOD, reason))
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        Ok(self.hashes(height, 1)?.first().copied())
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<ChainBlock, SourceError> {
        let block = self.fetch(&[Wanted { hash: *hash, height: None }]).pop();
        block.unwrap_or(Err(SourceError::Gone { hash: *hash }))
    }

    fn block_at(&mut self, height: u64) -> Result<ChainBlock, SourceError> {
        let block = self.blocks(height, 1)?.pop();
        block.ok_or(SourceError::NoBlock { height, tip: height.saturating_sub(1) })
    }

    fn blocks(&mut self, from: u64, most: usize) -> Result<Vec<ChainBlock>, SourceError> {
        let heights = (from..).map(Some);
        let wanted: Vec<_> = heights
            .zip(self.hashes(from, most.max(1))?)
            .map(|(height, hash)| Wanted { hash, height })
            .collect();
        if wanted.is_empty() {
            return Err(SourceError::NoBlock { height: from, tip: self.tip()?.height });
        }
        let mut blocks = Vec::with_capacity(wanted.len());
        for fetched in self.fetch(&wanted) {
            match fetched {
                Ok(block) => blocks.push(block),
                Err(error) if blocks.is_empty() => return Err(error),
                // The next call meets it again.
                Err(_) => break,
            }
        }
        Ok(blocks)
    }
}

#[cfg(test)]
mod tests;

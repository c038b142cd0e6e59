//! Blocks of a node, over REST if the node supports REST, otherwise over JSON-RPC.
//!
//! Nodes return blocks in several forms, and each node supports only some. The first block is fetched in the best
//! response form that the node supports, and all other blocks in the same form. Blocks are fetched over several
//! connections concurrently, several with each request.

mod answer;
mod fetch;
mod form;
mod mempool;
mod reader;

use assay_address::ChainId;
use assay_engine::utxo::Block;
use serde_json::json;

pub use self::mempool::NodeMempool;
use self::{
    fetch::{BlockFetchError, BlockFetchResult, BlockQuery, Fetcher, is_too_large},
    form::Form,
    reader::Reader,
};
use super::{
    BatchLimit, BlockSource, ChainParams, FetchBounds, SourceError, TestNetworks, TipRef,
    concurrent::fetch_chunks,
    hash::parse_hash,
    identity,
    rpc::{NodeError, Rpc},
};

/// Options of a node as a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeOptions {
    /// True to request the spent outputs, which is necessary if the first block is not the chain's first, and if the
    /// node supports it. Without spent outputs, blocks are fetched raw, which takes a fraction of the time.
    pub prevouts: bool,
    /// Acceptance of test networks, and of their easier targets.
    pub test_networks: TestNetworks,
    /// Bounds of requests.
    pub bounds: FetchBounds,
}

impl Default for NodeOptions {
    /// Returns options for a main network, with spent outputs.
    fn default() -> Self {
        Self {
            prevouts: true,
            test_networks: TestNetworks::Refused,
            bounds: FetchBounds::default(),
        }
    }
}

/// Maximum number of blocks in a request, and the intended size of a response.
const MOST_BLOCKS_A_REQUEST: usize = 20;
const BYTES_A_REQUEST: usize = 4 * 1024 * 1024;

/// Node as a block source.
#[derive(Debug)]
pub struct NodeSource {
    fetcher: Fetcher,
    options: NodeOptions,
    /// Response form that the node supports, determined with the first block.
    form: Option<Form>,
    /// Number of bytes of the response with the last block.
    block_bytes: usize,
}

impl NodeSource {
    /// Returns the source of a node of `chain`.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain is not of the Bitcoin family.
    pub fn new(chain: ChainId, rpc: Rpc, options: NodeOptions) -> Result<Self, SourceError> {
        let params = ChainParams::for_chain(chain).ok_or(SourceError::Unsupported {
            chain,
            how: "from a node like Bitcoin's",
            instead: "its money is not coins",
        })?;
        let reader = Reader { chain, params, limit: params.limit_of(options.test_networks) };
        let fetcher = Fetcher { chain, reader, rpc };
        Ok(Self { fetcher, options, form: None, block_bytes: 0 })
    }

    /// Verifies that the node serves the chain, as far as the node's blocks identify the chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the node serves another chain or a refused test network, or does not answer.
    pub fn check_chain(&self) -> Result<(), SourceError> {
        let (chain, url) = (self.fetcher.chain, self.fetcher.rpc.url());
        let test_networks = self.options.test_networks;
        let hash_at = |height| Ok(self.hashes(height, 1)?.first().copied());
        identity::check(chain, url, test_networks, hash_at)
    }

    /// Fetches blocks in the node's response form, which the first block determines, up to a number of inputs and
    /// outputs.
    fn fetch(&mut self, wanted: &[BlockQuery], entries: usize) -> Vec<Result<Block, SourceError>> {
        let (mut blocks, mut rest) = (Vec::with_capacity(wanted.len()), wanted);
        if self.form.is_none() {
            let Some((first, others)) = wanted.split_first() else { return blocks };
            match self.find_form(*first) {
                Ok(block) => blocks.push(Ok(block)),
                Err(error) => return vec![Err(error)],
            }
            rest = others;
        }
        let mut left = entries;
        for fetched in self.fetch_many(rest, entries) {
            if left == 0 {
                // The block exceeds the limit; the next call fetches it again.
                break;
            }
            blocks.push(match fetched {
                Ok((block, bytes)) => {
                    self.block_bytes = bytes;
                    left = left.saturating_sub(block.inputs_and_outputs());
                    Ok(block)
                }
                Err(BlockFetchError::Source(error)) => Err(error),
                Err(BlockFetchError::Form(error)) => {
                    // The node was replaced by another one: the next call determines its form.
                    self.form = None;
                    Err(self.fetcher.rpc.refused("getblock", error))
                }
            });
        }
        blocks
    }

    /// Determines the best response form that the node supports by fetching a block in that form.
    fn find_form(&mut self, wanted: BlockQuery) -> Result<Block, SourceError> {
        let mut refusal = None;
        let raw = self.fetcher.reader.params.reads_raw();
        for form in Form::to_try(self.options.prevouts, raw) {
            let fetched = match form {
                Form::Rest => Some(self.fetcher.try_rest(wanted)),
                _ => self.fetcher.fetch(&[wanted], form, self.options.bounds.largest_answer).pop(),
            };
            if fetched.as_ref().is_some_and(is_too_large) {
                self.form = Some(form);
                let fetched = self.fetch(&[wanted], usize::MAX).pop();
                return fetched.unwrap_or(Err(SourceError::NotOnChain { hash: wanted.hash }));
            }
            match fetched {
                Some(Ok((block, bytes))) => {
                    (self.form, self.block_bytes) = (Some(form), bytes);
                    return Ok(block);
                }
                Some(Err(BlockFetchError::Source(error))) => return Err(error),
                Some(Err(BlockFetchError::Form(error))) => refusal = Some(error),
                None => {}
            }
        }
        let unknown =
            || NodeError { code: 0, message: "it returns blocks in no known form".to_owned() };
        Err(self.fetcher.rpc.refused("getblock", refusal.unwrap_or_else(unknown)))
    }

    /// Fetches blocks over several connections, with each request as many as their size allows, up to a number of
    /// inputs and outputs. A block that is too large for concurrent responses is fetched alone.
    fn fetch_many(&self, wanted: &[BlockQuery], entries: usize) -> Vec<BlockFetchResult> {
        let (Some(form), Some((first, _))) = (self.form, wanted.split_first()) else {
            return Vec::new();
        };
        if self.is_alone() {
            return vec![self.fetch_alone(*first, form)];
        }
        let mut fetched = self.fetch_together(wanted, form, entries);
        // Blocks after a missing one cannot be used.
        let whole = fetched.iter().take_while(|fetched| fetched.is_ok()).count();
        fetched.truncate(whole + 1);
        if !fetched.last().is_some_and(is_too_large) {
            return fetched;
        }
        fetched.pop();
        if fetched.is_empty() {
            fetched.push(self.fetch_alone(*first, form));
        }
        fetched
    }

    /// True if blocks are so large that each is fetched alone.
    fn is_alone(&self) -> bool {
        u64::try_from(self.block_bytes).is_ok_and(|bytes| bytes > self.options.bounds.shared_answer)
    }

    /// Fetches a block alone. A block that is too large as JSON is fetched raw, without spent outputs.
    fn fetch_alone(&self, wanted: BlockQuery, form: Form) -> BlockFetchResult {
        let fetch =
            |form| self.fetcher.fetch(&[wanted], form, self.options.bounds.largest_answer).pop();
        let mut fetched = fetch(form);
        let described = matches!(form, Form::WithPrevouts | Form::Full);
        let too_large = fetched.as_ref().is_some_and(is_too_large);
        if too_large && described && self.fetcher.reader.params.reads_raw() {
            fetched = [Form::Raw, Form::RawOld].into_iter().find_map(|form| {
                fetch(form).filter(|fetched| !matches!(fetched, Err(BlockFetchError::Form(_))))
            });
        }
        fetched.unwrap_or_else(|| Err(SourceError::NotOnChain { hash: wanted.hash }.into()))
    }

    /// Fetches blocks over several connections and returns them up to the first failure.
    fn fetch_together(
        &self,
        wanted: &[BlockQuery],
        form: Form,
        entries: usize,
    ) -> Vec<BlockFetchResult> {
        let connections = self.options.bounds.connections.max(1);
        let spread = wanted.len().div_ceil(connections).max(1);
        let fit = (BYTES_A_REQUEST / self.block_bytes.max(1)).clamp(1, MOST_BLOCKS_A_REQUEST);
        let chunks: Vec<_> = wanted.chunks(fit.min(spread)).collect();
        let shared = self.options.bounds.shared_answer;
        fetch_chunks(
            &chunks,
            connections,
            entries,
            |(block, _): &(Block, usize)| block.inputs_and_outputs(),
            |chunk, goes_on| self.fetcher.fetch_in_parts(chunk, form, shared, goes_on),
        )
    }

    /// Returns the hashes of up to `most` blocks from a height.
    fn hashes(&self, from: u64, most: usize) -> Result<Vec<[u8; 32]>, SourceError> {
        const METHOD: &str = "getblockhash";
        let rpc = &self.fetcher.rpc;
        let params: Vec<_> = (from..).take(most).map(|height| json!([height])).collect();
        let mut hashes = Vec::with_capacity(params.len());
        for (reply, params) in rpc.call_many(METHOD, &params)?.into_iter().zip(&params) {
            let what = format!("{METHOD} {params}");
            match reply {
                Ok(result) => {
                    let text: String = rpc.read(&what, &result)?;
                    let no_hash =
                        || self.fetcher.invalid_data(&what, format!("`{text}` is no hash"));
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
        Err(self.fetcher.invalid_data(METHOD, reason))
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        Ok(self.hashes(height, 1)?.first().copied())
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<Block, SourceError> {
        let block = self.fetch(&[BlockQuery { hash: *hash, height: None }], usize::MAX).pop();
        block.unwrap_or(Err(SourceError::NotOnChain { hash: *hash }))
    }

    fn block_at(&mut self, height: u64) -> Result<Block, SourceError> {
        let block = self.blocks(height, BatchLimit::of_blocks(1))?.pop();
        block.ok_or(SourceError::NoBlock { height, tip: height.saturating_sub(1) })
    }

    fn blocks(&mut self, from: u64, limit: BatchLimit) -> Result<Vec<Block>, SourceError> {
        let heights = (from..).map(Some);
        let count = if self.is_alone() { 1 } else { limit.blocks.max(1) };
        let wanted: Vec<_> = heights
            .zip(self.hashes(from, count)?)
            .map(|(height, hash)| BlockQuery { hash, height })
            .collect();
        if wanted.is_empty() {
            return Err(SourceError::NoBlock { height: from, tip: self.tip()?.height });
        }
        let mut blocks = Vec::with_capacity(wanted.len());
        for fetched in self.fetch(&wanted, limit.entries) {
            match fetched {
                Ok(block) => blocks.push(block),
                Err(error) if blocks.is_empty() => return Err(error),
                // The next call returns the error.
                Err(_) => break,
            }
        }
        Ok(blocks)
    }
}

#[cfg(test)]
mod tests;

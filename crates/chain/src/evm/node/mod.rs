//! Blocks of a node of a chain with Ethereum's accounts.
//!
//! A block is asked for by its height or hash; its receipts and traces by its hash, so that a reorganization never mixes two
//! branches. Several blocks are fetched with each request, over several connections. The node is asked once which tracer it
//! has.

mod apart;
mod balances;
mod code;
mod fetch;
#[cfg(test)]
mod tests;

use assay_address::ChainId;
use assay_graph::account::AccountBlock;
use serde_json::json;

use self::{
    apart::asks_too_much,
    fetch::{BlockQuery, FetchedBlock, Fetcher},
};
use super::{EvmParams, GenesisAllocation, hex::Quantity};
use crate::{
    BatchLimit, BlockSource, FetchBounds, NodeAbilities, ProvenParts, SourceError, TestNetworks,
    TipRef, Tracer,
    account_source::AccountBlockSource,
    concurrent::{fetch_chunks, fetch_in_parts},
    rpc::Rpc,
};

/// Options of a node as a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvmNodeOptions {
    /// Acceptance of test networks.
    pub test_networks: TestNetworks,
    /// The newest block that is read.
    pub newest: BlockTag,
    /// The tracer to use; `None` to ask the node which one it has.
    pub tracer: Option<Tracer>,
    /// Bounds of requests.
    pub bounds: FetchBounds,
}

impl Default for EvmNodeOptions {
    /// Returns options for a main network, up to its latest block, with the tracer that the node has.
    fn default() -> Self {
        Self {
            test_networks: TestNetworks::Refused,
            newest: BlockTag::Latest,
            tracer: None,
            bounds: FetchBounds::default(),
        }
    }
}

/// The newest block that is read of a node, as nodes call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockTag {
    /// The latest block, which a reorganization may replace.
    Latest,
    /// The latest block that most validators attested: on Ethereum about six minutes old.
    Safe,
    /// The latest block that is final: on Ethereum about fifteen minutes old.
    Final,
}

impl BlockTag {
    /// The tag of JSON-RPC.
    const fn tag(self) -> &'static str {
        match self {
            Self::Latest => "latest",
            Self::Safe => "safe",
            Self::Final => "finalized",
        }
    }
}

/// Maximum number of blocks in a request, and the intended size of a response.
const MOST_BLOCKS_A_REQUEST: usize = 20;
const BYTES_A_REQUEST: usize = 4 * 1024 * 1024;

/// Node of a chain with Ethereum's accounts as a source of blocks.
#[derive(Debug)]
pub struct EvmNodeSource {
    fetcher: Fetcher,
    options: EvmNodeOptions,
    /// Number of bytes of the answers about the last block; `None` before the first block.
    block_bytes: Option<usize>,
}

impl EvmNodeSource {
    /// Returns the source of a node of `chain`. `rpc` is a client for such nodes ([`Rpc::ethereum`]).
    ///
    /// # Errors
    ///
    /// Returns an error if the chain has other accounts than Ethereum's.
    pub fn new(chain: ChainId, rpc: Rpc, options: EvmNodeOptions) -> Result<Self, SourceError> {
        let params = EvmParams::of(chain).ok_or(SourceError::Unsupported {
            chain,
            how: "from a node like Ethereum's",
            instead: "its accounts or its coins are of another kind",
        })?;
        let fetcher = Fetcher::new(chain, params, rpc, options.tracer);
        Ok(Self { fetcher, options, block_bytes: None })
    }

    /// Returns the source with the coins of the first block, which no node states. They are compared with its header.
    #[must_use]
    pub fn with_genesis(mut self, allocation: GenesisAllocation) -> Self {
        self.fetcher.genesis = Some(allocation);
        self
    }

    /// Fetches blocks up to the first failure and up to a number of transfers. Returns the failure if it is of the first one.
    fn fetch(
        &mut self,
        wanted: &[BlockQuery],
        entries: usize,
    ) -> Result<Vec<AccountBlock>, SourceError> {
        let Some((first, others)) = wanted.split_first() else { return Ok(Vec::new()) };
        // The first block shows how large blocks are.
        let first = self.fetch_alone(*first)?;
        let mut left = entries.saturating_sub(transfers(&first.block));
        self.block_bytes = Some(first.bytes);
        let mut blocks = vec![first.block];
        if left == 0 || self.is_alone() {
            return Ok(blocks);
        }
        for fetched in self.fetch_together(others, left) {
            // The next call returns the error.
            let Ok(FetchedBlock { block, bytes }) = fetched else { break };
            self.block_bytes = Some(bytes);
            left = left.saturating_sub(transfers(&block));
            blocks.push(block);
            if left == 0 {
                break;
            }
        }
        Ok(blocks)
    }

    /// True if blocks are so large that each is fetched alone.
    fn is_alone(&self) -> bool {
        let bytes = self.block_bytes.and_then(|bytes| u64::try_from(bytes).ok());
        bytes.is_some_and(|bytes| bytes > self.options.bounds.shared_answer)
    }

    fn fetch_alone(&self, wanted: BlockQuery) -> Result<FetchedBlock, SourceError> {
        let most = self.options.bounds.largest_answer;
        let fetched = self.fetcher.fetch(&[wanted], most).pop();
        match fetched.unwrap_or_else(|| Err(wanted.missing())) {
            Err(error) if asks_too_much(&error) || self.fetcher.answers_others(&error) => {
                self.fetcher.fetch_apart(wanted, (most, self.options.bounds.shared_answer))
            }
            fetched => fetched,
        }
    }

    /// Fetches blocks over several connections, with each request as many as their size allows.
    fn fetch_together(
        &self,
        wanted: &[BlockQuery],
        entries: usize,
    ) -> Vec<Result<FetchedBlock, SourceError>> {
        let connections = self.options.bounds.connections.max(1);
        let spread = wanted.len().div_ceil(connections).max(1);
        let bytes = self.block_bytes.unwrap_or(BYTES_A_REQUEST).max(1);
        let fit = (BYTES_A_REQUEST / bytes).clamp(1, MOST_BLOCKS_A_REQUEST);
        let chunks: Vec<_> = wanted.chunks(fit.min(spread)).collect();
        let most = self.options.bounds.shared_answer;
        let whole = |wanted: &[BlockQuery]| Some(self.fetcher.fetch(wanted, most));
        fetch_chunks(
            &chunks,
            connections,
            entries,
            |fetched: &FetchedBlock| transfers(&fetched.block),
            |chunk, goes_on| fetch_in_parts(chunk, &whole, &is_too_large, goes_on),
        )
    }

    fn check_first_block(&self) -> Result<(), SourceError> {
        const METHOD: &str = "eth_chainId";
        let (rpc, params, wanted) = (&self.fetcher.rpc, &self.fetcher.params, self.fetcher.chain);
        let reply = rpc.call(METHOD, &json!([]))?;
        let result = reply.map_err(|error| rpc.refused(METHOD, error))?;
        let Quantity(chain_id) = rpc.read(METHOD, &result)?;
        let url = || rpc.url().to_owned();
        if chain_id != params.chain_id
            && let Some(found) = EvmParams::chain_of(chain_id)
        {
            return Err(SourceError::OtherChain { url: url(), found, wanted });
        }
        let first = self.fetcher.name(&json!("0x0"))?.ok_or_else(|| {
            let reason = "there is no first block, by which a chain is recognized".to_owned();
            self.fetcher.invalid("eth_getBlockByNumber 0x0", reason)
        })?;
        let is_first = params.first_block.is_none_or(|hash| hash == first.hash);
        let is_chain = chain_id == params.chain_id && is_first;
        if !is_chain && self.options.test_networks == TestNetworks::Refused {
            let first = first.hash;
            return Err(SourceError::TestNetwork { url: url(), chain: wanted, first });
        }
        Ok(())
    }
}

/// Number of transfers of a block.
fn transfers(block: &AccountBlock) -> usize {
    block.transactions.iter().map(|transaction| transaction.transfers.len()).sum()
}

fn is_too_large(fetched: &Result<FetchedBlock, SourceError>) -> bool {
    matches!(fetched, Err(SourceError::TooLarge { .. }))
}

impl BlockSource<AccountBlock> for EvmNodeSource {
    fn first(&mut self) -> Result<u64, SourceError> {
        // A test network has blocks of the present form only.
        let is_main = self.options.test_networks == TestNetworks::Refused;
        Ok(if is_main { self.fetcher.params.first_readable } else { 0 })
    }

    fn tip(&mut self) -> Result<TipRef, SourceError> {
        let tag = self.options.newest.tag();
        let tip = self.fetcher.name(&json!(tag))?;
        let none = || format!("it has no {tag} block");
        tip.ok_or_else(|| self.fetcher.invalid(&format!("eth_getBlockByNumber {tag}"), none()))
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        self.fetcher.hash_at(height)
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<AccountBlock, SourceError> {
        let mut fetched = self.fetch(&[BlockQuery::Hash(*hash)], usize::MAX)?;
        fetched.pop().ok_or(SourceError::NotOnChain { hash: *hash })
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
        let heights = (from..=tip).take(limit.blocks.max(1));
        let wanted: Vec<_> = heights.map(BlockQuery::Height).collect();
        let blocks = self.fetch(&wanted, limit.entries).map_err(|error| match error {
            SourceError::NoBlock { height, .. } => {
                let pruned = self.fetcher.pruned(height, tip);
                pruned.unwrap_or(SourceError::NoBlock { height, tip })
            }
            error => error,
        })?;
        if blocks.is_empty() {
            return Err(SourceError::NoBlock { height: from, tip: from.saturating_sub(1) });
        }
        Ok(blocks)
    }
}

impl AccountBlockSource for EvmNodeSource {
    fn check_chain(&mut self) -> Result<(), SourceError> {
        self.check_first_block()?;
        let tip = self.tip()?;
        self.fetcher.tracer_at(tip.height, &tip.hash)?;
        Ok(())
    }

    fn finalized(&mut self) -> Result<Option<TipRef>, SourceError> {
        match self.fetcher.name(&json!("finalized")) {
            // Nodes that do not know the tag refuse it as a number of a block.
            Err(SourceError::Refused { .. }) => Ok(None),
            named => named,
        }
    }

    fn abilities(&self) -> NodeAbilities {
        let ProvenParts { header, transactions, receipts, withdrawals } =
            self.fetcher.params.proven;
        let proven = ProvenParts {
            header,
            transactions: header && transactions,
            receipts: header && receipts,
            withdrawals: header && withdrawals,
        };
        NodeAbilities { tracer: self.fetcher.tracer(), proven }
    }
}

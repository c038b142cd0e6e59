//! Blocks of a node, over JSON-RPC.
//!
//! Nodes give blocks in several forms, and each node knows only some. The best one that it knows is found
//! out with the first block and used from then on ([`Form`]). Several blocks are fetched over several
//! connections at once, several with each request.

mod answer;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use assay_engine::chain::ChainId;
use serde_json::{Value, json, value::RawValue};

use self::answer::{BlockAnswer, Reader, TransactionAnswer};
use super::{
    BlockSource, ChainBlock, ChainParams, SourceError, TipRef,
    block::{hash_text, parse_hash},
    raw::RawBlock,
    rpc::{NodeError, Reply, Rpc},
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

/// A form in which a node gives blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `getblock HASH 3`: transactions with what they spend, of nodes that know that; of others the
    /// same as the next.
    WithPrevouts,
    /// `getblock HASH 2`: transactions in full.
    Full,
    /// `getblock HASH 0`: as it is stored, in hexadecimal.
    Raw,
    /// `getblock HASH false`: the same, for forks of old versions.
    RawOld,
    /// `getblock HASH true` and `getrawtransaction` for each transaction: for nodes that know nothing
    /// else, with an index of transactions.
    Ids,
}

impl Form {
    fn params(self, hash: &[u8; 32]) -> Value {
        let hash = hash_text(hash);
        match self {
            Self::WithPrevouts => json!([hash, 3]),
            Self::Full => json!([hash, 2]),
            Self::Raw => json!([hash, 0]),
            Self::RawOld => json!([hash, false]),
            Self::Ids => json!([hash, true]),
        }
    }
}

/// Blocks that one request asks for, and bytes of their answers to aim at.
const MOST_BLOCKS_A_REQUEST: usize = 20;
const BYTES_A_REQUEST: usize = 4 * 1024 * 1024;
/// Transactions that one request asks for.
const TRANSACTIONS_A_REQUEST: usize = 50;

/// Blocks of a node.
#[derive(Debug)]
pub struct NodeSource {
    chain: ChainId,
    reader: Reader,
    rpc: Rpc,
    options: NodeOptions,
    /// The form that works with this node, once it is known.
    form: Option<Form>,
    /// Bytes of the last block's answer.
    block_bytes: AtomicUsize,
}

/// A block to be fetched.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    hash: [u8; 32],
    height: Option<u64>,
}

/// Why a block was not had in some form.
enum Failure {
    /// The node does not know this form.
    Form(NodeError),
    Source(SourceError),
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
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
        Ok(Self { chain, reader, rpc, options, form: None, block_bytes: AtomicUsize::new(0) })
    }

    /// Checks that the node does not serve another chain, as far as its first block tells.
    ///
    /// # Errors
    ///
    /// Where it does, or does not answer.
    pub fn check_chain(&mut self) -> Result<(), SourceError> {
        let Some(first) = self.hash_at(0)? else { return Ok(()) };
        if self.reader.params.may_begin_with(&first) {
            return Ok(());
        }
        Err(SourceError::OtherChain {
            url: self.rpc.url().to_owned(),
            found: ChainParams::chain_of_first_block(&first).unwrap_or(self.chain),
            wanted: self.chain,
        })
    }

    /// The forms to try, best first.
    fn forms(&self) -> Vec<Form> {
        let raw: &[Form] =
            if self.reader.params.reads_raw() { &[Form::Raw, Form::RawOld] } else { &[] };
        if self.options.prevouts {
            [&[Form::WithPrevouts, Form::Full], raw, &[Form::Ids]].concat()
        } else {
            [raw, &[Form::Full, Form::Ids]].concat()
        }
    }

    /// Fetches blocks in the form that works, which the first one finds out.
    fn fetch(&mut self, wanted: &[Wanted]) -> Vec<Result<ChainBlock, SourceError>> {
        if let Some(form) = self.form {
            return self.fetch_many(wanted, form);
        }
        let Some((first, rest)) = wanted.split_first() else { return Vec::new() };
        let (form, block) = match self.find_form(*first) {
            Ok(found) => found,
            Err(error) => return vec![Err(error)],
        };
        self.form = Some(form);
        let mut blocks = vec![Ok(block)];
        blocks.extend(self.fetch_many(rest, form));
        blocks
    }

    /// The best form that the node knows, with a block in it.
    fn find_form(&self, wanted: Wanted) -> Result<(Form, ChainBlock), SourceError> {
        let mut refusal = None;
        for form in self.forms() {
            let failure = match self.fetch_together(&[wanted], form).pop() {
                Some(Ok(block)) => return Ok((form, block)),
                Some(Err(failure)) => failure,
                None => continue,
            };
            match failure {
                Failure::Form(error) => refusal = Some(refusal.unwrap_or(error)),
                Failure::Source(error) => return Err(error),
            }
        }
        let unknown = NodeError { code: 0, message: "it gives no block in any form".to_owned() };
        Err(self.rpc.refused("getblock", refusal.unwrap_or(unknown)))
    }

    /// Fetches blocks over several connections, as many with each request as its size lets us.
    fn fetch_many(&self, wanted: &[Wanted], form: Form) -> Vec<Result<ChainBlock, SourceError>> {
        let known = self.block_bytes.load(Ordering::Relaxed).max(1);
        let spread = wanted.len().div_ceil(self.options.connections.max(1));
        let together = (BYTES_A_REQUEST / known).clamp(1, MOST_BLOCKS_A_REQUEST).min(spread.max(1));
        let chunks: Vec<_> = wanted.chunks(together).collect();
        let fetched: Mutex<Vec<Vec<_>>> = Mutex::new(chunks.iter().map(|_| Vec::new()).collect());
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((at, chunk)) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                chunks.get(at).map(|chunk| (at, *chunk))
            } {
                let blocks = self.fetch_together(chunk, form);
                let mut fetched = fetched.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(place) = fetched.get_mut(at) {
                    *place = blocks;
                }
            }
        };
        if chunks.len() > 1 {
            thread::scope(|scope| {
                for _ in 0..self.options.connections.min(chunks.len()) {
                    scope.spawn(work);
                }
            });
        } else {
            work();
        }
        let fetched = fetched.into_inner().unwrap_or_else(PoisonError::into_inner);
        let failed = |failure| match failure {
            Failure::Form(error) => self.rpc.refused("getblock", error),
            Failure::Source(error) => error,
        };
        fetched.into_iter().flatten().map(|block| block.map_err(failed)).collect()
    }

    /// Fetches blocks with one request; one result each, in order.
    fn fetch_together(&self, wanted: &[Wanted], form: Form) -> Vec<Result<ChainBlock, Failure>> {
        let params: Vec<_> = wanted.iter().map(|wanted| form.params(&wanted.hash)).collect();
        let replies = match self.rpc.calls("getblock", &params) {
            Ok(replies) => replies,
            Err(error) => return vec![Err(error.into())],
        };
        let blocks = wanted.iter().zip(replies);
        blocks.map(|(wanted, reply)| self.read(*wanted, reply, form)).collect()
    }

    fn read(&self, wanted: Wanted, reply: Reply, form: Form) -> Result<ChainBlock, Failure> {
        let result = match reply {
            Ok(result) => result,
            Err(error) if error.is_gone() => {
                return Err(SourceError::Gone { hash: wanted.hash }.into());
            }
            Err(error) if error.is_unknown_form() => return Err(Failure::Form(error)),
            Err(error) => return Err(self.rpc.refused(&question(&wanted), error).into()),
        };
        self.block_bytes.store(result.get().len(), Ordering::Relaxed);
        match form {
            Form::Raw | Form::RawOld => self.read_raw(wanted, &result),
            Form::WithPrevouts | Form::Full => self.read_full(wanted, &result),
            Form::Ids => self.read_ids(wanted, &result),
        }
    }

    fn read_raw(&self, wanted: Wanted, result: &RawValue) -> Result<ChainBlock, Failure> {
        let what = question(&wanted);
        let text: String = match self.rpc.read(&what, result) {
            Ok(text) => text,
            // A node that takes the parameter for a form of its own.
            Err(error) => return Err(not_in_form(&error)),
        };
        let bytes = hex::decode(text).map_err(|error| self.unreadable(&what, &error))?;
        let raw =
            |source| SourceError::Raw { origin: format!("{} {what}", self.rpc.url()), source };
        let read = RawBlock::parse(&bytes, self.reader.params, Some(wanted.hash)).map_err(raw)?;
        let height = match wanted.height.or_else(|| read.height()) {
            Some(height) => Some(height),
            None => self.height_of(&wanted.hash)?,
        };
        Ok(read.into_chain_block(self.chain, height).map_err(raw)?)
    }

    /// The height of a block that does not say it itself.
    fn height_of(&self, hash: &[u8; 32]) -> Result<Option<u64>, SourceError> {
        let reply = self.rpc.call("getblockheader", &json!([hash_text(hash), true]))?;
        let result = reply.map_err(|error| self.rpc.refused("getblockheader", error))?;
        let header: Value = self.rpc.read("getblockheader", &result)?;
        Ok(header.get("height").and_then(Value::as_u64))
    }

    fn read_full(&self, wanted: Wanted, result: &RawValue) -> Result<ChainBlock, Failure> {
        let what = question(&wanted);
        // Where the transactions are missing or named only, the node does not know this form.
        let mut answer: BlockAnswer<TransactionAnswer> = match self.rpc.read(&what, result) {
            Ok(answer) => answer,
            Err(error) if self.names_only(result) => return Err(not_in_form(&error)),
            Err(error) => return Err(error.into()),
        };
        let transactions = answer.take_transactions();
        let block = self.reader.block(&answer, &transactions, &wanted.hash, wanted.height);
        Ok(block.map_err(|reason| self.untrue(&what, reason))?)
    }

    /// Whether an answer names its transactions instead of describing them.
    fn names_only(&self, result: &RawValue) -> bool {
        self.rpc.read::<BlockAnswer<String>>("getblock", result).is_ok()
    }

    fn read_ids(&self, wanted: Wanted, result: &RawValue) -> Result<ChainBlock, Failure> {
        const METHOD: &str = "getrawtransaction";
        let what = question(&wanted);
        let mut answer: BlockAnswer<String> = self.rpc.read(&what, result)?;
        // The node cannot lead us into fetching what does not belong to the block.
        self.reader
            .head(&answer, &wanted.hash, wanted.height)
            .map_err(|reason| self.untrue(&what, reason))?;
        let ids = answer.take_transactions();
        let params: Vec<_> = ids.iter().map(|txid| json!([txid, 1])).collect();
        let mut transactions = Vec::with_capacity(ids.len());
        for chunk in params.chunks(TRANSACTIONS_A_REQUEST) {
            for (reply, params) in self.rpc.calls(METHOD, chunk)?.into_iter().zip(chunk) {
                let what = format!("{METHOD} {params}");
                let result = reply.map_err(|error| self.rpc.refused(&what, error))?;
                transactions.push(self.rpc.read::<TransactionAnswer>(&what, &result)?);
            }
        }
        let block = self.reader.block(&answer, &transactions, &wanted.hash, wanted.height);
        Ok(block.map_err(|reason| self.untrue(&what, reason))?)
    }

    fn unreadable(&self, what: &str, error: &dyn std::error::Error) -> SourceError {
        let (url, what) = (self.rpc.url().to_owned(), what.to_owned());
        SourceError::Unreadable { url, what, reason: error.to_string() }
    }

    fn untrue(&self, what: &str, reason: String) -> SourceError {
        SourceError::Untrue { url: self.rpc.url().to_owned(), what: what.to_owned(), reason }
    }

    /// The hashes of blocks from a height on, as many as there are.
    fn hashes(&self, from: u64, most: usize) -> Result<Vec<[u8; 32]>, SourceError> {
        const METHOD: &str = "getblockhash";
        let params: Vec<_> = (from..).take(most).map(|height| json!([height])).collect();
        let mut hashes = Vec::with_capacity(params.len());
        for (reply, params) in self.rpc.calls(METHOD, &params)?.into_iter().zip(&params) {
            let what = format!("{METHOD} {params}");
            match reply {
                Ok(result) => {
                    let text: String = self.rpc.read(&what, &result)?;
                    let hash = parse_hash(&text);
                    hashes.push(hash.ok_or_else(|| self.untrue(&what, format!("`{text}`")))?);
                }
                Err(error) if error.is_out_of_range() => break,
                Err(error) => return Err(self.rpc.refused(&what, error)),
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
            let reply = self.rpc.call(METHOD, &json!([]))?;
            let result = reply.map_err(|error| self.rpc.refused(METHOD, error))?;
            let height = self.rpc.read(METHOD, &result)?;
            if let Some(hash) = self.hash_at(height)? {
                return Ok(TipRef { height, hash });
            }
        }
        Err(self.untrue(METHOD, "there is no block at the height that it names".to_owned()))
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        Ok(self.hashes(height, 1)?.first().copied())
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<ChainBlock, SourceError> {
        let block = self.fetch(&[Wanted { hash: *hash, height: None }]).pop();
        block.unwrap_or(Err(SourceError::Gone { hash: *hash }))
    }

    fn block_at(&mut self, height: u64) -> Result<ChainBlock, SourceError> {
        let blocks = self.blocks(height, 1)?;
        let tip = height.saturating_sub(1);
        blocks.into_iter().next().ok_or(SourceError::NoBlock { height, tip })
    }

    fn blocks(&mut self, from: u64, most: usize) -> Result<Vec<ChainBlock>, SourceError> {
        let wanted: Vec<_> = (from..)
            .zip(self.hashes(from, most)?)
            .map(|(height, hash)| Wanted { hash, height: Some(height) })
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

/// What a node was asked, in messages.
fn question(wanted: &Wanted) -> String {
    let hash = hash_text(&wanted.hash);
    match wanted.height {
        Some(height) => format!("getblock {hash} (height {height})"),
        None => format!("getblock {hash}"),
    }
}

/// An answer of another form than was asked for.
fn not_in_form(error: &SourceError) -> Failure {
    Failure::Form(NodeError { code: 0, message: error.to_string() })
}

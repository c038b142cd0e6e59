//! Fetching blocks from a node in one of its response forms.

use assay_address::ChainId;
use assay_engine::utxo::{Block, ScriptOwner, TxOut};
use serde_json::{Value, json, value::RawValue};

use super::{
    answer::{BlockAnswer, TransactionAnswer},
    form::Form,
    reader::Reader,
};
use crate::{
    SourceError, concurrent,
    hash::hash_text,
    http::{AttemptError, Request, Server, shortened},
    raw::{RawBlock, RawError, undo::parse_spent},
    rpc::{NodeError, Rpc},
};

/// Number of transactions that one request fetches.
const TRANSACTIONS_A_REQUEST: usize = 50;

/// Fetches blocks from a node.
#[derive(Debug)]
pub(super) struct Fetcher {
    pub(super) chain: ChainId,
    pub(super) reader: Reader,
    pub(super) rpc: Rpc,
}

/// Block to fetch.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockQuery {
    pub(super) hash: [u8; 32],
    pub(super) height: Option<u64>,
}

/// A block with the number of bytes of the node's response.
pub(super) type BlockFetchResult = Result<(Block, usize), BlockFetchError>;

/// Error of fetching a block in a response form.
#[derive(Debug)]
pub(super) enum BlockFetchError {
    /// The node does not support the response form.
    Form(NodeError),
    /// Another failure.
    Source(SourceError),
}

impl From<SourceError> for BlockFetchError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl BlockQuery {
    /// Describes the request for messages.
    fn question(&self) -> String {
        let hash = hash_text(&self.hash);
        match self.height {
            Some(height) => format!("getblock {hash} (height {height})"),
            None => format!("getblock {hash}"),
        }
    }
}

impl Fetcher {
    /// Fetches blocks, with one request if the form allows it, each response of at most `most` bytes. Returns a result
    /// for each block, in order, or one error for all.
    pub(super) fn fetch(
        &self,
        wanted: &[BlockQuery],
        form: Form,
        most: u64,
    ) -> Vec<BlockFetchResult> {
        if form == Form::Rest {
            let server = self.rpc.server().with_max_bytes(most);
            return wanted.iter().map(|wanted| self.rest(&server, *wanted)).collect();
        }
        let params: Vec<_> = wanted.iter().map(|wanted| form.params(&wanted.hash)).collect();
        let read = |place: usize, reply: Result<&RawValue, NodeError>| {
            wanted.get(place).map(|wanted| self.read(*wanted, reply, form))
        };
        match self.rpc.with_max_bytes(most).call_each("getblock", &params, read) {
            Ok(blocks) => blocks.into_iter().flatten().collect(),
            Err(error) => vec![Err(error.into())],
        }
    }

    /// Fetches as [`Fetcher::fetch`] does. If the response is too large, fetches one half of the blocks after the
    /// other, down to single blocks. Ends after at least one block once `goes_on` returns `false` for the results so
    /// far.
    pub(super) fn fetch_in_parts(
        &self,
        wanted: &[BlockQuery],
        form: Form,
        most: u64,
        goes_on: &dyn Fn(&[BlockFetchResult]) -> bool,
    ) -> Vec<BlockFetchResult> {
        // Without batches, every block has a response of its own, and is checked before the next request.
        let is_together = || form != Form::Rest && self.rpc.supports_batches();
        let whole = |wanted: &[BlockQuery]| {
            (wanted.len() <= 1 || is_together()).then(|| self.fetch(wanted, form, most))
        };
        concurrent::fetch_in_parts(wanted, &whole, &is_too_large, goes_on)
    }

    fn read(
        &self,
        wanted: BlockQuery,
        reply: Result<&RawValue, NodeError>,
        form: Form,
    ) -> BlockFetchResult {
        let result = match reply {
            Ok(result) => result,
            Err(error) if error.is_not_found() => {
                return Err(SourceError::NotOnChain { hash: wanted.hash }.into());
            }
            Err(error) if error.is_unknown_form() => return Err(BlockFetchError::Form(error)),
            Err(error) => return Err(self.rpc.refused(&wanted.question(), error).into()),
        };
        let block = match form {
            Form::Raw | Form::RawOld | Form::Rest => self.raw(wanted, result),
            Form::WithPrevouts | Form::Full => self.full(wanted, result),
            Form::Ids => self.ids(wanted, result),
        };
        Ok((block?, result.get().len()))
    }

    fn raw(&self, wanted: BlockQuery, result: &RawValue) -> Result<Block, BlockFetchError> {
        let what = wanted.question();
        // A node that reads the parameter differently returns JSON instead.
        let text: &str = self.rpc.read(&what, result).map_err(|error| not_in_form(&error))?;
        let bytes = hex::decode(text).map_err(|error| self.unreadable(&what, &error))?;
        Ok(self.block(wanted, &bytes)?.0)
    }

    /// Parses a block from bytes, with the number of inputs of each transaction.
    fn block(&self, wanted: BlockQuery, bytes: &[u8]) -> Result<(Block, Vec<usize>), SourceError> {
        let raw = |source| self.raw_error(&wanted.question(), source);
        let read = RawBlock::parse(bytes, self.reader.params, Some(wanted.hash)).map_err(raw)?;
        read.header.check_target(self.reader.limit).map_err(raw)?;
        let height = match wanted.height.or_else(|| read.height()) {
            Some(height) => Some(height),
            None => self.height_of(&wanted.hash)?,
        };
        let block = read.into_block(self.chain, height).map_err(raw)?;
        let inputs = block.transactions.iter().map(|read| read.inputs.len()).collect();
        Ok((block, inputs))
    }

    /// Requests the height of a block whose coinbase does not contain it.
    fn height_of(&self, hash: &[u8; 32]) -> Result<Option<u64>, SourceError> {
        const METHOD: &str = "getblockheader";
        let reply = self.rpc.call(METHOD, &json!([hash_text(hash), true]))?;
        let result = reply.map_err(|error| self.rpc.refused(METHOD, error))?;
        let header: Value = self.rpc.read(METHOD, &result)?;
        Ok(header.get("height").and_then(Value::as_u64))
    }

    fn full(&self, wanted: BlockQuery, result: &RawValue) -> Result<Block, BlockFetchError> {
        let what = wanted.question();
        let mut answer: BlockAnswer<TransactionAnswer> = match self.rpc.read(&what, result) {
            Ok(answer) => answer,
            // Identifiers instead of transactions: the node does not support the form.
            Err(error) if self.rpc.read::<BlockAnswer<String>>(&what, result).is_ok() => {
                return Err(not_in_form(&error));
            }
            Err(error) => return Err(error.into()),
        };
        let transactions = answer.take_transactions();
        let block = self.reader.block(&answer, &transactions, &wanted.hash, wanted.height);
        Ok(block.map_err(|reason| self.invalid_data(&what, reason))?)
    }

    fn ids(&self, wanted: BlockQuery, result: &RawValue) -> Result<Block, BlockFetchError> {
        const METHOD: &str = "getrawtransaction";
        let what = wanted.question();
        let mut answer: BlockAnswer<String> = self.rpc.read(&what, result)?;
        // The header is checked before the transactions are fetched.
        self.reader
            .reference(&answer, &wanted.hash, wanted.height)
            .map_err(|reason| self.invalid_data(&what, reason))?;
        let ids = answer.take_transactions();
        let params: Vec<_> = ids.iter().map(|txid| json!([txid, 1])).collect();
        let mut transactions = Vec::with_capacity(ids.len());
        for chunk in params.chunks(TRANSACTIONS_A_REQUEST) {
            for (reply, params) in self.rpc.call_many(METHOD, chunk)?.into_iter().zip(chunk) {
                let what = format!("{METHOD} {params}");
                let result = reply.map_err(|error| self.rpc.refused(&what, error))?;
                transactions.push(self.rpc.read::<TransactionAnswer>(&what, &result)?);
            }
        }
        let block = self.reader.block(&answer, &transactions, &wanted.hash, wanted.height);
        Ok(block.map_err(|reason| self.invalid_data(&what, reason))?)
    }

    /// Fetches one block over REST, if the node supports REST. The request is not retried, because some nodes drop the
    /// connection instead of refusing it.
    pub(super) fn try_rest(&self, wanted: BlockQuery) -> BlockFetchResult {
        match self.rest(&self.rpc.server().without_retries(), wanted) {
            Err(BlockFetchError::Source(
                error @ (SourceError::Unreachable { .. } | SourceError::Denied { .. }),
            )) => Err(not_in_form(&error)),
            other => other,
        }
    }

    fn rest(&self, server: &Server, wanted: BlockQuery) -> BlockFetchResult {
        let hash = hash_text(&wanted.hash);
        let bytes = get(server, &format!("/rest/block/{hash}.bin"), &wanted)?;
        let path = format!("/rest/spenttxouts/{hash}.bin");
        let spent_bytes = get(server, &path, &wanted)?;
        let (mut block, inputs) = self.block(wanted, &bytes)?;
        let spent = parse_spent(&spent_bytes).map_err(|source| self.raw_error(&path, source))?;
        if spent.iter().map(Vec::len).ne(inputs) {
            let reason = "its number of spent outputs differs from the block's".to_owned();
            return Err(self.invalid_data(&path, reason).into());
        }
        let inputs = block.transactions.iter_mut().flat_map(|read| &mut read.inputs);
        for (input, output) in inputs.zip(spent.iter().flatten()) {
            let owner = ScriptOwner::from_script(self.chain, output.script);
            input.spent = Some(TxOut { owner, value: output.value });
        }
        Ok((block, bytes.len() + spent_bytes.len()))
    }

    fn raw_error(&self, what: &str, source: RawError) -> SourceError {
        SourceError::Raw { origin: format!("{} {what}", self.rpc.url()), source }
    }

    fn unreadable(&self, what: &str, error: &dyn std::error::Error) -> SourceError {
        let (url, what) = (self.rpc.url().to_owned(), what.to_owned());
        SourceError::Unreadable { url, what, reason: error.to_string() }
    }

    pub(super) fn invalid_data(&self, what: &str, reason: String) -> SourceError {
        SourceError::InvalidData { url: self.rpc.url().to_owned(), what: what.to_owned(), reason }
    }
}

/// True if a response was above the limit of bytes.
pub(super) const fn is_too_large(fetched: &BlockFetchResult) -> bool {
    matches!(fetched, Err(BlockFetchError::Source(SourceError::TooLarge { .. })))
}

/// Returns the error of a response in another form than the requested one.
fn not_in_form(error: &SourceError) -> BlockFetchError {
    BlockFetchError::Form(NodeError { code: 0, message: error.to_string() })
}

/// Sends a GET request of the REST interface.
fn get(server: &Server, path: &str, wanted: &BlockQuery) -> Result<Vec<u8>, BlockFetchError> {
    let got = server.ask(Request::get(path), |answer| {
        let words = || shortened(&String::from_utf8_lossy(&answer.body));
        match answer.status {
            200 => Ok(Ok(answer.body.clone())),
            400..=499 => Ok(Err(NodeError { code: answer.status.into(), message: words() })),
            status => {
                let reason = format!("{path}: {} (HTTP status {status})", words());
                Err(AttemptError::Transient { reason, after: answer.retry_after })
            }
        }
    });
    match got? {
        Ok(body) => Ok(body),
        // The node has the interface, and answers `HASH not found`.
        Err(error) if error.message == format!("{} not found", hash_text(&wanted.hash)) => {
            Err(SourceError::NotOnChain { hash: wanted.hash }.into())
        }
        Err(error) => Err(BlockFetchError::Form(error)),
    }
}

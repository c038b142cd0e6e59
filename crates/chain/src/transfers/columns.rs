//! Columns of transfer files: their names in our format and in those of public warehouses, and the form of a file.

use assay_input::rows::column_key;

/// The form of a file: what each of its rows is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileForm {
    /// Transfers in our own format.
    Transfers,
    /// Transfers of tokens, by event log.
    TokenTransfers,
    /// Calls of transactions, and rewards.
    Traces,
    /// Blocks, with their times.
    Blocks,
    /// Transactions, with their senders.
    Transactions,
    /// Receipts of transactions.
    Receipts,
}

impl FileForm {
    /// The name of the form in messages and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transfers => "transfers",
            Self::TokenTransfers => "token_transfers",
            Self::Traces => "traces",
            Self::Blocks => "blocks",
            Self::Transactions => "transactions",
            Self::Receipts => "receipts",
        }
    }
}

macro_rules! fields {
    ($($field:ident: $($key:literal)+;)+) => {
        /// The meaning of a column.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Field { $($field),+ }

        /// The names of columns, without letter case and punctuation. Of several names of one field, the first that a
        /// file has counts.
        const NAMES: &[(&str, Field)] = &[$($(($key, Field::$field)),+),+];

        const FIELDS: usize = [$(Field::$field),+].len();
    };
}

fields! {
    Block: "block" "blocknumber" "blockid" "evtblocknumber" "blockheight";
    Number: "number";
    Time: "time" "blocktimestamp" "blocktime" "evtblocktime" "timestamp";
    Txid: "txid" "transactionhash" "txhash" "evttxhash";
    Hash: "hash";
    Index: "index";
    Asset: "asset";
    Token: "tokenaddress" "erc20" "contractaddress";
    Address: "address";
    From: "from" "fromaddress" "actionfrom" "calleraddress";
    To: "to" "toaddress" "actionto" "transfertoaddress";
    Amount: "rawamountstr" "amountraw" "valuestring" "actionvaluestring" "quantity" "amount" "value"
        "actionvalue" "valuebinary" "callvalue" "valuef64" "rawamount";
    Initiator: "initiator" "txfrom" "evttxfrom";
    Kind: "kind";
    LogIndex: "logindex" "evtindex" "eventindex";
    TraceIndex: "traceindex";
    TraceAddress: "traceaddress";
    TraceId: "traceid";
    TransactionIndex: "transactionindex" "txindex" "evttxindex";
    TransferIndex: "transferindex";
    TraceType: "tracetype" "actiontype";
    Type: "type";
    CallType: "calltype" "actioncalltype";
    Status: "status" "success" "receiptstatus" "txreceiptstatus";
    Error: "error";
    TransactionStatus: "txsuccess";
    Rejected: "rejected";
    Removed: "removed";
    ResultAddress: "resultaddress";
    RefundAddress: "refundaddress" "actionrefundaddress";
    TokenKind: "tokentype" "tokenstandard" "eventtype" "transfertype";
    TokenId: "tokenid" "batchindex" "calltokenid";
    GasPrice: "receipteffectivegasprice" "effectivegasprice" "gasprice";
    GasUsed: "receiptgasused" "gasused";
    CumulativeGasUsed: "cumulativegasused" "receiptcumulativegasused";
    GasLimit: "gas" "gaslimit" "nonce";
    BlobGasUsed: "receiptblobgasused" "blobgasused";
    BlobGasPrice: "receiptblobgasprice" "blobgasprice";
    Created: "receiptcontractaddress";
    Miner: "miner" "author" "beneficiary";
    BaseFee: "basefeepergas";
    Withdrawals: "withdrawals";
    Topics: "topics" "topic0";
    Symbol: "symbol" "tokensymbol";
    TokenName: "tokenname";
}

/// Columns that files of our own format have for people or for other programs.
const UNREAD: [&str; 2] = ["blockhash", "note"];

/// The meaning of a name of a column, with its rank among the names of the field.
fn field(name: &str) -> Option<(usize, Field)> {
    let key = column_key(name);
    let found = NAMES.iter().enumerate().find(|(_, (known, _))| *known == key);
    found.map(|(rank, (_, field))| (rank, *field))
}

/// True for a name of a column with a meaning.
pub(super) fn is_column(name: &str) -> bool {
    field(name).is_some()
}

/// The columns of a file.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// Rank of the name, and index of the column, of each field.
    found: [Option<(usize, usize)>; FIELDS],
    names: Vec<String>,
}

impl Default for Columns {
    fn default() -> Self {
        Self { found: [None; FIELDS], names: Vec::new() }
    }
}

impl Columns {
    /// Adds the next column.
    pub(super) fn add(&mut self, name: &str) {
        let column = self.names.len();
        self.names.push(name.trim().to_owned());
        if let Some((rank, field)) = field(name)
            && let Some(found) = self.found.get_mut(field as usize)
            && found.is_none_or(|(known, _)| rank < known)
        {
            *found = Some((rank, column));
        }
    }

    /// The index of a field's column.
    pub(super) fn column(&self, field: Field) -> Option<usize> {
        self.found.get(field as usize).copied().flatten().map(|(_, column)| column)
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.column(field).is_some()
    }

    /// The name of a field's column, as the file writes it.
    pub(super) fn name(&self, field: Field) -> &str {
        let column = self.column(field);
        column.and_then(|column| self.names.get(column)).map_or("", |name| name)
    }

    /// The names of all columns.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns whose names have no meaning.
    pub(super) fn unknown(&self) -> Vec<String> {
        let is_unknown =
            |name: &&String| !is_column(name) && !UNREAD.contains(&column_key(name).as_str());
        self.names.iter().filter(is_unknown).cloned().collect()
    }

    /// The form of the file by its columns.
    pub(super) fn form(&self) -> Result<FileForm, String> {
        let has = |field| self.has(field);
        let has_block = has(Field::Block);
        if has(Field::Asset) {
            return self.require(FileForm::Transfers, &OWN);
        }
        if has(Field::Topics) {
            return Err(format!("it holds event logs: give token transfers instead. {EXPECTED}"));
        }
        if has(Field::TransferIndex) {
            return Err(
                "it holds native transfers of cryo, which lists failed and delegated calls too: export `traces` \
                 instead"
                    .to_owned(),
            );
        }
        let has_token = has(Field::Token) || has(Field::Address);
        if has_token && has(Field::LogIndex) && has(Field::From) && has(Field::To) {
            return self.require(FileForm::TokenTransfers, &TOKEN_TRANSFERS);
        }
        let is_trace = [Field::TraceAddress, Field::TraceId, Field::TraceType, Field::CallType];
        if is_trace.into_iter().any(has) && has(Field::From) {
            let form = self.require(FileForm::Traces, &[("block_number", Field::Block)])?;
            let states_failure =
                [Field::Status, Field::Error, Field::Rejected].into_iter().any(has);
            if !states_failure {
                return Err(
                    "it holds traces without `status` or `error`, so that failed calls cannot be told apart: add one \
                     of them"
                        .to_owned(),
                );
            }
            return Ok(form);
        }
        let has_txid = has(Field::Txid) || has(Field::Hash);
        if has_txid && has(Field::From) && has(Field::GasLimit) && has_block {
            return Ok(FileForm::Transactions);
        }
        if has(Field::Txid) && has(Field::CumulativeGasUsed) && has_block {
            return Ok(FileForm::Receipts);
        }
        let has_height = has(Field::Number) || has_block;
        if has_height && has(Field::Time) && !has(Field::From) && !has(Field::Txid) {
            return Ok(FileForm::Blocks);
        }
        Err(EXPECTED.to_owned())
    }

    /// The form, if the file has the columns.
    fn require(&self, form: FileForm, columns: &[(&str, Field)]) -> Result<FileForm, String> {
        let missing = columns.iter().filter(|(_, field)| !self.has(*field));
        let missing: Vec<_> = missing.map(|(name, _)| format!("`{name}`")).collect();
        if missing.is_empty() {
            return Ok(form);
        }
        Err(format!("a file of {} needs the columns {}", form.as_str(), missing.join(", ")))
    }
}

/// Columns that a file of our own format must have.
const OWN: [(&str, Field); 8] = [
    ("block", Field::Block),
    ("time", Field::Time),
    ("txid", Field::Txid),
    ("index", Field::Index),
    ("asset", Field::Asset),
    ("from", Field::From),
    ("to", Field::To),
    ("amount", Field::Amount),
];

const TOKEN_TRANSFERS: [(&str, Field); 3] =
    [("block_number", Field::Block), ("transaction_hash", Field::Txid), ("value", Field::Amount)];

const EXPECTED: &str = "the columns are not known: write block, time, txid, index, asset, from, to and amount, or give \
                        token_transfers, traces, blocks, transactions or receipts as ethereum-etl names their columns";

#[cfg(test)]
mod tests {
    use super::*;

    fn form(header: &str) -> Result<FileForm, String> {
        let mut columns = Columns::default();
        header.split(',').for_each(|name| columns.add(name));
        columns.form()
    }

    #[test]
    fn forms_are_known_by_their_columns() {
        for (header, expected) in [
            ("amount,to,from,asset,index,txid,time,block", FileForm::Transfers),
            (
                "token_address,from_address,to_address,value,transaction_hash,log_index,block_number",
                FileForm::TokenTransfers,
            ),
            (
                "contract_address,evt_tx_hash,evt_index,evt_block_time,evt_block_number,from,to,value",
                FileForm::TokenTransfers,
            ),
            (
                "block_number,transaction_index,log_index,transaction_hash,erc20,from_address,to_address,value_binary,\
                 value_string,value_f64,chain_id",
                FileForm::TokenTransfers,
            ),
            (
                "blockIdGroup,blockId,traceId,traceIndex,fromAddress,toAddress,value,status,callType,txHash",
                FileForm::Traces,
            ),
            (
                "block_number,transaction_hash,transaction_index,from_address,to_address,value,input,output,trace_type,\
                 call_type,reward_type,gas,gas_used,subtraces,trace_address,error,status,trace_id",
                FileForm::Traces,
            ),
            ("number,hash,parent_hash,miner,timestamp,base_fee_per_gas", FileForm::Blocks),
            ("block_hash,block_number,author,gas_used,timestamp", FileForm::Blocks),
            (
                "hash,nonce,block_hash,block_number,from_address,to_address,value,gas,gas_price,block_timestamp",
                FileForm::Transactions,
            ),
            (
                "transaction_hash,transaction_index,block_number,cumulative_gas_used,gas_used,status",
                FileForm::Receipts,
            ),
        ] {
            assert_eq!(form(header), Ok(expected), "{header}");
        }
    }

    #[test]
    fn other_columns_are_refused_with_what_to_write() {
        for (header, reason) in [
            ("block,asset,amount", "`time`, `txid`, `index`, `from`, `to`"),
            ("a,b,c", "the columns are not known"),
            ("block_number,transaction_hash,log_index,address,data,topics", "event logs"),
            (
                "block_number,transfer_index,transaction_hash,from_address,to_address",
                "native transfers",
            ),
            ("block_number,from_address,to_address,value,trace_type,trace_address", "`status`"),
        ] {
            let error = form(header).unwrap_err();
            assert!(error.contains(reason), "{header}: {error}");
        }
    }
}

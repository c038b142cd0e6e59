//! Format `exchange-csv`: addresses of exchanges, as proofs of reserves and public collections list them.
//!
//! A header names the columns in any order: an address, an exchange, and a chain or currency. Other columns are
//! ignored.

use std::io::BufRead;

use assay_engine::{evidence::Tier, names::SourceId, taxonomy::Category};
use assay_input::{FileSelection, rows::column_key};

use super::{FileError, Format, FormatReader, ReadOption};
use crate::{
    labels::{
        LabelSet, chains,
        collect::{LabelCollector, LabelFields, non_blank},
    },
    listings::table::rows,
};

/// Addresses of exchanges.
pub static FORMAT: Format = Format {
    id: "exchange-csv",
    short_id: None,
    title: "Addresses of exchanges, CSV",
    files: FileSelection { extensions: &["csv"], several: true },
    options: &[ReadOption::Blockchain, ReadOption::PublishedOn],
    default_source: None,
    terms: None,
    reader: FormatReader::Labels(|input, context| {
        let chain = context.blockchain.map(assay_address::ChainId::as_str);
        input.read_each(|file| read(file.content, file.name, context.source, chain))
    }),
};

/// Confidence in a list of an exchange's addresses, in percent.
const CONFIDENCE: u8 = 80;
/// Names of columns.
const ADDRESS: [&str; 4] = ["address", "walletaddress", "wallet", "publicaddress"];
const EXCHANGE: [&str; 6] = ["exchange", "entity", "name", "owner", "label", "service"];
const CHAIN: [&str; 7] = ["blockchain", "chain", "network", "currency", "coin", "asset", "symbol"];

/// Reads a file as labels of `source`; `chain` is the chain of rows that state none.
///
/// # Errors
///
/// Returns an error if the file is no CSV, or a column is missing.
pub fn read(
    input: impl BufRead,
    file: &str,
    source: &SourceId,
    chain: Option<&str>,
) -> Result<LabelSet, FileError> {
    let known = [&ADDRESS[..], &EXCHANGE[..], &CHAIN[..]].concat();
    let is_column = |name: &str| known.contains(&&*column_key(name));
    let mut rows = rows(input, &is_column)?.into_iter();
    let (line, header) = rows.next().unwrap_or((1, Vec::new()));
    let refused = |problem| FileError::Columns { line, problem, known: known.join(", ") };
    let keys: Vec<String> = header.iter().map(|name| column_key(name)).collect();
    let addresses: Vec<&str> = (header.iter().zip(&keys))
        .filter(|(_, key)| ADDRESS.contains(&key.as_str()) && key.contains("address"))
        .map(|(name, _)| name.as_str())
        .collect();
    if let [one, other, ..] = addresses.as_slice() {
        return Err(refused(format!("columns `{one}` and `{other}` mean the same: remove one")));
    }
    let column =
        |names: &[&str]| names.iter().find_map(|name| keys.iter().position(|key| key == name));
    let (Some(address), Some(exchange)) = (column(&ADDRESS), column(&EXCHANGE)) else {
        let found = header.join(", ");
        return Err(refused(format!(
            "no column with addresses, or none with exchanges: the header has {found}"
        )));
    };
    let chain_column = column(&CHAIN);
    let mut collector = LabelCollector::new(file, source);
    for (line, cells) in rows {
        let cell = |index: usize| cells.get(index).map(String::as_str).and_then(non_blank);
        let position = || format!("{file}, line {line}");
        let Some(text) = cell(address) else { continue };
        let code = chain_column.and_then(cell).or(chain);
        let claim = |address| LabelFields {
            entity: cell(exchange),
            term: Some("exchange"),
            ..LabelFields::new(address, Category::Exchange, Tier::Community, CONFIDENCE)
        };
        collector.add(chains::parse_address(None, code, text), position, claim)?;
    }
    Ok(collector.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_may_have_several_names() {
        let source = "reserves".parse().unwrap();
        let csv = "Coin,Wallet Address,Exchange,Balance\n\
                   BTC,1KUCzSr49wPWckUDouJLybJuRYtViF5hfM,Example,1.5\n\
                   USDT-TRC20,TDMpPL2PQ89MvXzYvhVupvgjFB3AomNWYF,Example,7\n\
                   TRX,TDMpPL2PQ89MvXzYvhVupvgjFB3AomNWYF,Example,7\n\
                   ETH,0x12,Example,\n";
        let set = read(csv.as_bytes(), "a.csv", &source, None).unwrap();
        let rows: Vec<_> = set
            .labels
            .iter()
            .map(|label| {
                format!("{} {}", label.address.chain(), label.label.entity.as_deref().unwrap())
            })
            .collect();
        assert_eq!(rows, ["btc Example", "trx Example"]);
        assert_eq!(set.unsupported["USDT-TRC20"], 1);
        assert_eq!(set.rejected.len(), 1);
        let error = read("a,b\n".as_bytes(), "a.csv", &source, None).unwrap_err().to_string();
        assert!(error.starts_with("line 1: no column with addresses"), "{error}");
    }
}

//! Files of transfers of an account chain, read and recorded: `cargo bench -p assay-tests --bench transfer_ingest`.
//! `ASSAY_TRANSFERS` sets the number of transfers; default 1,000,000.
//!
//! The same generated transfers are a CSV file, JSON lines and a Parquet file. Printed for each: the processor time and
//! the time for each row of parsing, of reading (parsing, and the transactions of each block), and of the whole ingest with
//! the comparison of sums and the recorded file flushed to the disk, the rate, the size of the files, and the memory of this
//! program. Last, the same for reading the recorded file.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{
    collections::BTreeSet,
    env,
    fmt::Write as _,
    fs::{self, File},
    io::{BufWriter, Write as _},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_chain::transfers::{
    TransferFiles,
    ingest::{TransferSources, ingest_transfers},
};
use assay_graph::{EmbeddedGraphs, account::AccountEnds};
use assay_test_random::Random;
use assay_tests::{cpu_time, own_memory};
use parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};

/// Number of transfers of a block.
const BLOCK: u64 = 250;
/// Number of accounts.
const ACCOUNTS: u64 = 200_000;
/// Rows of a row group of Parquet.
const GROUP: usize = 100_000;

/// A row of the files.
struct Row {
    block: u64,
    time: u64,
    txid: String,
    index: u64,
    asset: &'static str,
    from: String,
    to: String,
    amount: String,
    initiator: String,
}

fn main() {
    let transfers = env::var("ASSAY_TRANSFERS").ok().and_then(|count| count.parse().ok());
    let transfers: u64 = transfers.unwrap_or(1_000_000);
    let folder = tempfile::tempdir().expect("a directory");
    let files = [
        ("CSV", write_csv(folder.path(), transfers)),
        ("JSON lines", write_json(folder.path(), transfers)),
        ("Parquet", write_parquet(folder.path(), transfers)),
    ];
    println!("{transfers} transfers, {BLOCK} a block, two a transaction");
    for (name, file) in &files {
        let size = fs::metadata(file).expect("its size").len();
        println!("{name}, {:.0} MB:", megabytes(size));
        let open =
            || TransferFiles::open(ChainId::ETH, &[file], None, &BTreeSet::new()).expect("a file");
        let begun = Stopwatch::now();
        let mut opened = open();
        while opened.skip_block().expect("a block").is_some() {}
        println!("  parsing: {}", begun.line(transfers));
        let begun = Stopwatch::now();
        let mut opened = open();
        while opened.next_block().expect("a block").is_some() {}
        println!("  reading: {}", begun.line(transfers));

        let data = tempfile::tempdir_in(folder.path()).expect("a directory");
        let graphs = EmbeddedGraphs::new(data.path());
        let begun = Stopwatch::now();
        let paths = std::slice::from_ref(file);
        let sources = TransferSources { chain: ChainId::ETH, paths, encoding: None, sample: false };
        let mut go_on = |_, _| ControlFlow::Continue(());
        let ends = AccountEnds::default();
        let (done, _) = ingest_transfers(&graphs, sources, &ends, &mut go_on).expect("an ingest");
        println!("  ingest: {}", begun.line(transfers));
        assert_eq!(done.transfers, transfers, "every transfer is recorded");

        let recorded = graphs.account_bytes(ChainId::ETH);
        let begun = Stopwatch::now();
        let opened = graphs.account_snapshot(ChainId::ETH).expect("a graph").expect("transfers");
        let transactions = opened.blocks().flat_map(|block| block.expect("one").1);
        let read: usize = transactions.map(|it| it.transfers.len()).sum();
        println!(
            "  reading {:.0} MB recorded: {}",
            megabytes(recorded),
            begun.line(u64::try_from(read).unwrap_or_default())
        );
    }
}

/// The rows, the same in each format.
fn rows(transfers: u64) -> impl Iterator<Item = Row> {
    let mut random = Random::new(53);
    let assets = [
        "native",
        "0xdac17f958d2ee523a2206206994597c13d831ec7",
        "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
    ];
    (0..transfers).map(move |number| {
        let block = number / BLOCK;
        let mut account =
            || format!("0x{:040x}", (random.below(ACCOUNTS) + 1).wrapping_mul(0x9e37_79b9));
        let (from, to, initiator) = (account(), account(), account());
        Row {
            block: 15_000_000 + block,
            time: 1_655_000_000 + 12 * block,
            txid: format!("0x{:064x}", (number / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            index: number % 2,
            asset: assets.get(random.index(3)).copied().unwrap_or("native"),
            from,
            to,
            amount: random.below(1 << 62).to_string(),
            initiator,
        }
    })
}

const COLUMNS: [&str; 9] =
    ["block", "time", "txid", "index", "asset", "from", "to", "amount", "initiator"];

/// The cells of a row. The first row of a transaction states its sender.
fn cells(row: &Row) -> [String; 9] {
    let initiator = if row.index == 0 { row.initiator.clone() } else { String::new() };
    let Row { block, time, txid, index, asset, from, to, amount, .. } = row;
    [
        block.to_string(),
        time.to_string(),
        txid.clone(),
        index.to_string(),
        (*asset).to_owned(),
        from.clone(),
        to.clone(),
        amount.clone(),
        initiator,
    ]
}

fn write_csv(folder: &Path, transfers: u64) -> PathBuf {
    let path = folder.join("transfers.csv");
    let mut file = BufWriter::new(File::create(&path).expect("a file"));
    writeln!(file, "{}", COLUMNS.join(",")).expect("a line");
    for row in rows(transfers) {
        writeln!(file, "{}", cells(&row).join(",")).expect("a line");
    }
    file.flush().expect("a file");
    path
}

fn write_json(folder: &Path, transfers: u64) -> PathBuf {
    let path = folder.join("transfers.jsonl");
    let mut file = BufWriter::new(File::create(&path).expect("a file"));
    let mut line = String::new();
    for row in rows(transfers) {
        line.clear();
        for (name, cell) in COLUMNS.iter().zip(cells(&row)) {
            let before = if line.is_empty() { '{' } else { ',' };
            write!(line, "{before}\"{name}\":\"{cell}\"").expect("a text");
        }
        writeln!(file, "{line}}}").expect("a line");
    }
    file.flush().expect("a file");
    path
}

fn write_parquet(folder: &Path, transfers: u64) -> PathBuf {
    let path = folder.join("transfers.parquet");
    let schema = COLUMNS.map(|name| match name {
        "block" | "time" | "index" => format!("required int64 {name};"),
        _ => format!("required binary {name} (UTF8);"),
    });
    let schema = format!("message rows {{ {} }}", schema.join(" "));
    let schema = Arc::new(parse_message_type(&schema).expect("a schema"));
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = File::create(&path).expect("a file");
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("a writer");
    let mut rows = rows(transfers).peekable();
    while rows.peek().is_some() {
        let group: Vec<_> = rows.by_ref().take(GROUP).map(|row| cells(&row)).collect();
        let mut columns = writer.next_row_group().expect("a row group");
        for (index, name) in COLUMNS.iter().enumerate() {
            let cells = group.iter().map(|row| row.get(index).map_or("", |cell| cell));
            let mut column = columns.next_column().expect("a column").expect("a column");
            if matches!(*name, "block" | "time" | "index") {
                let values: Vec<i64> = cells.map(|cell| cell.parse().expect("a number")).collect();
                let typed = column.typed::<Int64Type>();
                typed.write_batch(&values, None, None).expect("values");
            } else {
                let values: Vec<_> = cells.map(ByteArray::from).collect();
                let typed = column.typed::<ByteArrayType>();
                typed.write_batch(&values, None, None).expect("values");
            }
            column.close().expect("a column");
        }
        columns.close().expect("a row group");
    }
    writer.close().expect("a file");
    path
}

struct Stopwatch(Instant, Duration);

impl Stopwatch {
    fn now() -> Self {
        Self(Instant::now(), cpu_time())
    }

    /// Processor time and rate since the start, and the memory of this program.
    fn line(&self, rows: u64) -> String {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let count = rows.max(1) as f64;
        let processor = cpu_time().saturating_sub(self.1).as_secs_f64();
        let wall = self.0.elapsed().as_secs_f64();
        format!(
            "{:.2} us of the processor a row, {:.0} rows a second, {:.0} MB of memory",
            processor * 1e6 / count,
            count / wall,
            megabytes(own_memory())
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

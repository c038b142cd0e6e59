//! Given a file that was damaged or made to mislead, then it is refused with its line and what to write, or what it states
//! is recorded exactly.

use std::{fs, io::Write, process::Command, thread};

use assay_address::ChainId;
use assay_chain::transfers::{LeftOut, Sum};
use assay_engine::account::Asset;
use assay_test_random::Random;
use ruint::aliases::U256;

use super::{HEADER, Ingest, account, csv, row, txid};

fn ethereum() -> Ingest {
    Ingest::new(ChainId::ETH)
}

#[test]
fn amounts_are_recorded_exactly_or_refused_with_their_line() {
    let max = U256::MAX.to_string();
    let ingest = ethereum();
    let good = [row(1, 1, 0, "0"), row(1, 1, 1, "1"), row(1, 1, 2, &max), row(2, 2, 0, &max)];
    let done = ingest.ingest("good.csv", csv(&good)).unwrap();
    let sum = ingest.sums()[&Asset::Native];
    assert_eq!(sum.transfers, 4);
    // The sum has more than 256 bits.
    assert_eq!(sum.amount, Sum::from(U256::MAX) * Sum::from(2) + Sum::from(1));
    assert_eq!(done.counts.above_128_bits, 2);

    let beyond = format!("1{}", "0".repeat(78));
    for (amount, reason) in [
        ("0x10", "is hexadecimal: write base units as a whole decimal number"),
        ("-1", "is negative"),
        ("1.5", "not exact"),
        ("1e18", "not exact"),
        ("", "it is missing"),
        ("12 ETH", "is no number"),
        (&beyond, "larger than 2^256 - 1"),
    ] {
        let rows = [row(1, 1, 0, "5"), row(1, 1, 1, amount)];
        let error = ethereum().refusal("bad.csv", csv(&rows));
        assert!(error.contains("bad.csv, line 3: amount: ") && error.contains(reason), "{error}");
    }
}

#[test]
fn addresses_transactions_and_assets_are_refused_with_their_line() {
    let cell = |column: usize, text: &str| {
        let row = row(1, 1, 0, "5");
        let mut cells: Vec<_> = row.split(',').collect();
        cells[column] = text;
        ethereum().refusal("bad.csv", csv(&[cells.join(",")]))
    };
    let wrong_checksum = "0xDAC17F958D2ee523a2206206994597C13D831ec7";
    for (column, text, reason) in [
        (5, wrong_checksum, "from: "),
        (6, wrong_checksum, "to: "),
        (4, wrong_checksum, "asset: "),
        (4, "USDT", "is no asset"),
        (5, "0xabc", "from: "),
        (6, "", "to: it is missing"),
        (2, "", "txid: it is missing; a transfer happens in a transaction"),
        (2, "0x12", "64 hexadecimal digits"),
        (2, "GENESIS_0x12", "64 hexadecimal digits"),
        (3, "-1", "index: "),
        (3, "", "index: it is missing"),
        (0, "0x1", "block: "),
        (0, "99999999999999999999", "block: "),
        (1, "1600000000000", "milliseconds"),
        (1, "2020-09-13", "seconds since 1970"),
        (1, "", "time: it is missing"),
    ] {
        let error = cell(column, text);
        assert!(error.contains("bad.csv, line 2: ") && error.contains(reason), "{error}");
    }
    let tron = Ingest::new(ChainId::TRX);
    let wrong =
        csv(&[row(1, 1, 0, "5")]).replace(&account(1_000), "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u");
    let error = tron.refusal("bad.csv", wrong);
    assert!(error.contains("bad.csv, line 2: from: "), "{error}");
}

#[test]
fn a_truncated_file_is_refused_or_told() {
    let rows: Vec<_> = (1..40).map(|block| row(block, block, 0, "123456789")).collect();
    let whole = csv(&rows);
    let line_end = whole.rfind(',').unwrap() + 1;
    for length in (1..whole.len()).step_by(7) {
        let cut = &whole[..length];
        match ethereum().ingest("cut.csv", cut) {
            // Cut behind a whole line, or within the last cell, which the report tells.
            Ok(_) => assert!(
                cut.ends_with('\n') || cut.rsplit(',').next().is_some_and(|it| !it.is_empty())
            ),
            Err(error) => assert!(error.to_string().contains("nothing was recorded"), "{error}"),
        }
    }
    let open = ethereum();
    let path = open.file("cut.csv", &whole[..line_end + 3]);
    let mut files = assay_chain::transfers::TransferFiles::open(
        ChainId::ETH,
        &[path],
        None,
        &std::collections::BTreeSet::new(),
    )
    .unwrap();
    while files.next_block().unwrap().is_some() {}
    assert!(files.files().all(|file| file.is_last_line_open));

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(whole.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(ethereum().ingest("whole.csv.gz", &packed).unwrap().ingested.transfers, 39);
    let error = ethereum().refusal("cut.csv.gz", &packed[..packed.len() - 9]);
    assert!(error.contains("cut.csv.gz, line"), "{error}");

    let json = whole.lines().skip(1).map(json_of).collect::<Vec<_>>().concat();
    let error = ethereum().refusal("cut.jsonl", &json[..json.len() - 5]);
    assert!(error.contains("cut.jsonl, line 39: it is no JSON object"), "{error}");
}

/// A row of CSV as a JSON line.
fn json_of(row: &str) -> String {
    let fields = HEADER.split(',').zip(row.split(','));
    let fields: Vec<_> = fields.map(|(name, cell)| format!("\"{name}\":\"{cell}\"")).collect();
    format!("{{{}}}\n", fields.join(","))
}

#[test]
fn rows_are_recorded_in_the_order_of_the_chain() {
    let mut rows: Vec<_> = (0..5).map(|index| row(7, 1, index, "5")).collect();
    let sorted = ethereum();
    let _ = sorted.ingest("sorted.csv", csv(&rows)).unwrap();
    rows.reverse();
    let reversed = ethereum();
    let _ = reversed.ingest("reversed.csv", csv(&rows)).unwrap();
    assert_eq!(reversed.digest(), sorted.digest());

    // A file whose blocks go backwards is sorted, whichever order its rows have.
    let mut all: Vec<_> = (0..60).map(|number| row(number / 3, number, 0, "5")).collect();
    let _ = sorted.refusal("earlier.csv", csv(&all));
    let ordered = ethereum();
    assert_eq!(ordered.ingest("ordered.csv", csv(&all)).unwrap().sorted, 0);
    let mut random = Random::new(7);
    for _ in 0..5 {
        for at in (1..all.len()).rev() {
            all.swap(at, random.index(at + 1));
        }
        let mixed = ethereum();
        assert_eq!(mixed.ingest("mixed.csv", csv(&all)).unwrap().sorted, 1);
        assert_eq!(mixed.sums(), ordered.sums());
        let heights: Vec<_> = mixed.transactions().iter().map(|it| it.block).collect();
        assert!(heights.is_sorted());
    }

    let mut late = row(8, 2, 0, "5").replace("1600000096", "1600000001");
    let error = ethereum().refusal("time.csv", csv(&[row(7, 1, 0, "5"), late]));
    assert!(error.contains("line 3: block 8 has the time"), "{error}");
    late = row(7, 2, 0, "5").replace("1600000084", "1600000085");
    let error = ethereum().refusal("time.csv", csv(&[row(7, 1, 0, "5"), late]));
    assert!(error.contains("line 3: block 7 has the time") && error.contains("line 2"), "{error}");
}

#[test]
fn repeated_rows_count_once_and_identical_payments_count_twice() {
    let same = row(1, 1, 0, "5");
    let again = same.replace(",0,native", ",1,native");
    let ingest = ethereum();
    let done =
        ingest.ingest("rows.csv", csv(&[same.clone(), same.clone(), again.clone()])).unwrap();
    assert_eq!((done.counts.duplicates, done.ingested.transfers), (1, 2));

    // The same file twice in one run, and once more in another.
    let path = ingest.file("rows.csv", csv(&[same.clone(), again.clone()]));
    let twice = ethereum();
    let done = twice.run(&[&path, &path]).unwrap();
    assert_eq!((done.counts.duplicates, done.ingested.transfers), (2, 2));
    let done = twice.run(&[&path]).unwrap();
    assert_eq!((done.ingested.recorded_before, done.ingested.transfers), (2, 0));
    assert_eq!(twice.digest(), ingest.digest());

    let other = same.replace(",5", ",6");
    let error = ethereum().refusal("rows.csv", csv(&[same.clone(), other.clone()]));
    assert!(error.contains("two different transfers in one place"), "{error}");

    // A row below the newest recorded block that is not recorded is missing money, not a duplicate.
    let error = twice.refusal("other.csv", csv(&[other]));
    assert!(error.contains("other.csv, line 2: block 1 is not above block 1"), "{error}");
    let error = twice.refusal("earlier.csv", csv(&[row(0, 9, 0, "5"), row(5, 5, 0, "5")]));
    assert!(error.contains("earlier.csv, line 2: block 0 is not above block 1"), "{error}");
}

#[test]
fn an_ingest_goes_on_behind_the_newest_block() {
    let rows: Vec<_> =
        (0..300).map(|number| row(number / 3, number, number % 3, &number.to_string())).collect();
    let whole = ethereum();
    let _ = whole.ingest("whole.csv", csv(&rows)).unwrap();
    let parts = ethereum();
    let _ = parts.ingest("part.csv", csv(&rows[..90])).unwrap();
    // The next file begins with blocks that are recorded.
    let done = parts.ingest("rest.csv", csv(&rows[60..])).unwrap();
    assert_eq!((done.ingested.recorded_before, done.ingested.transfers), (30, 210));
    assert_eq!(parts.digest(), whole.digest());
    assert_eq!(parts.transactions(), whole.transactions());
}

#[test]
fn ten_thousand_tokens_with_false_names_are_told_apart_by_contract() {
    let mut text = format!("{HEADER},symbol\n");
    for token in 0..10_000_u64 {
        let asset = account(1 << 40 | token);
        let row = row(token / 100, token, 0, "1000000").replace("native", &asset);
        text += &(row + ",USDT\n");
    }
    let ingest = ethereum();
    let done = ingest.ingest("tokens.csv", text).unwrap();
    assert_eq!(done.ingested.transfers, 10_000);
    assert_eq!(ingest.sums().len(), 10_000);
    assert!(done.unknown_columns.is_empty());
    let recorded = ingest.graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
    let symbols = recorded.lookalike_symbols().unwrap();
    assert_eq!(symbols.len(), 10_000);
    assert!(symbols.values().all(|symbol| symbol == "USDT"));

    // The asset itself, and symbols of others, are no lookalikes.
    let real = "0xdac17f958d2ee523a2206206994597c13d831ec7";
    let line = |index: u64, asset: &str, symbol: &str| {
        row(1, 1, index, "5").replace("native", asset) + "," + symbol
    };
    let text = [
        format!("{HEADER},symbol"),
        line(0, real, "USDT"),
        line(1, &account(7), "PEPE"),
        line(2, &account(8), " usd-c\u{200b}"),
        line(3, "native", "ETH"),
        String::new(),
    ];
    let few = ethereum();
    let _ = few.ingest("few.csv", text.join("\n")).unwrap();
    let recorded = few.graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
    let symbols = recorded.lookalike_symbols().unwrap();
    assert_eq!(symbols.into_values().collect::<Vec<_>>(), ["USDC"]);
}

#[test]
fn unknown_and_repeated_columns_are_told() {
    let text =
        csv(&[row(1, 1, 0, "5")]).replace("amount", "amount,colour").replace(",5\n", ",5,red\n");
    assert_eq!(ethereum().ingest("more.csv", text).unwrap().unknown_columns, ["colour"]);
    let text =
        csv(&[row(1, 1, 0, "5")]).replace("amount", "amount,Amount").replace(",5\n", ",5,6\n");
    let error = ethereum().refusal("twice.csv", text);
    assert!(error.contains("line 1: the columns `amount` and `Amount` are the same"), "{error}");
    let error = ethereum().refusal("some.csv", "block,time,asset,amount\n1,2,native,3\n");
    assert!(error.contains("needs the columns `txid`, `index`, `from`, `to`"), "{error}");
    let error = ethereum().refusal("wide.csv", csv(&[row(1, 1, 0, "5,6")]));
    assert!(error.contains("wide.csv, line 2: it has 9 cells where the header has 8"), "{error}");
    for text in ["[{\"block\":1}]", "{\"block\":1,\"block\":2}", "{\"a\":1}", "{"] {
        let error = ethereum().refusal("bad.jsonl", text);
        assert!(error.contains("bad.jsonl, line 1: "), "{error}");
    }
}

#[test]
fn a_bomb_is_refused() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(format!("{HEADER}\n{}", row(1, 1, 0, "")).as_bytes()).unwrap();
    let zeros = vec![b'0'; 1 << 20];
    for _ in 0..100 {
        packed.write_all(&zeros).unwrap();
    }
    let error = ethereum().refusal("bomb.csv.gz", packed.finish().unwrap());
    assert!(error.contains("bomb.csv.gz, line 2: "), "{error}");

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(format!("{HEADER}\n").as_bytes()).unwrap();
    let line = format!("{}\n", row(1, 1, 0, "5"));
    let lines = line.repeat((1 << 20) / line.len());
    for _ in 0..100 {
        packed.write_all(lines.as_bytes()).unwrap();
    }
    let error = ethereum().refusal("bomb.csv.gz", packed.finish().unwrap());
    assert!(
        error.contains("is larger than") || error.contains("has more than 2000000 rows"),
        "{error}"
    );

    let deep = format!("{{\"block\":{}1", "[".repeat(100_000));
    let error = ethereum().refusal("deep.jsonl", deep);
    assert!(error.contains("deep.jsonl, line 1: "), "{error}");
}

#[test]
fn any_bytes_are_refused_or_recorded_and_the_sums_match() {
    let rows: Vec<_> = (0..30).map(|number| row(number / 3, number, 0, "12345")).collect();
    let whole = csv(&rows).into_bytes();
    let mut random = Random::new(53);
    let mut accepted = 0;
    for _ in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(3) {
            let at = random.index(bytes.len());
            match random.below(3) {
                0 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b",\n\"0x-.e"[random.index(8)]),
            }
        }
        if let Ok(done) = ethereum().ingest("random.csv", &bytes) {
            accepted += 1;
            assert!(done.counts.sums_match());
        }
    }
    assert!((1..400).contains(&accepted), "{accepted}");
}

#[test]
fn rows_that_move_nothing_are_counted_by_reason() {
    let header = "token_address,from_address,to_address,value,transaction_hash,log_index,block_number,\
                  block_timestamp,token_type";
    let row = |log: u64, standard: &str| {
        let (token, from, to) = (account(9), account(1), account(2));
        format!("{token},{from},{to},77,{},{log},5,1600000000,{standard}", txid(1))
    };
    let text =
        [header.to_owned(), row(0, "ERC20"), row(1, "ERC721"), row(2, "ERC-1155")].join("\n");
    let ingest = ethereum();
    let done = ingest.ingest("tokens.csv", text + "\n").unwrap();
    assert_eq!(done.counts.left_out[&LeftOut::NotFungible], 2);
    assert_eq!(done.ingested.transfers, 1);
    // Transfers of zero are kept: address poisoning is found by them.
    let zero = ethereum();
    assert_eq!(
        zero.ingest("zero.csv", csv(&[super::row(1, 1, 0, "0")])).unwrap().ingested.transfers,
        1
    );
}

#[test]
fn a_pipe_is_read_once() {
    let ingest = ethereum();
    let pipe = ingest.folder.path().join("pipe.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (text, to) = (csv(&[row(1, 1, 0, "5"), row(2, 2, 0, "6")]), pipe.clone());
    let written = thread::spawn(move || fs::write(to, text).unwrap());
    let done = ingest.run(&[pipe]).unwrap();
    written.join().unwrap();
    assert_eq!((done.ingested.transfers, ingest.transactions().len()), (2, 2));
}

//! Given the same transfers in different forms, then the same is recorded; each form means what its warehouse means by it.

use std::{fs::File, sync::Arc};

use assay_address::ChainId;
use assay_chain::transfers::LeftOut;
use assay_engine::account::{PublishedPlace, TransferKind};
use parquet::{
    basic::{Compression, GzipLevel},
    data_type::{
        ByteArray, ByteArrayType, DoubleType, FixedLenByteArrayType, Int32Type, Int64Type,
    },
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::parser::parse_message_type,
};

use super::{HEADER, Ingest, account, count, csv, row, txid};

/// A column of a Parquet file of a test.
enum Column {
    Text(Vec<String>),
    Long(Vec<i64>),
    Binary(Vec<Vec<u8>>),
    Fixed(Vec<Vec<u8>>),
    Double(Vec<f64>),
    /// Lists of numbers.
    Lists(Vec<Vec<i32>>),
}

/// Writes a Parquet file. `schema` has the types of the columns.
fn parquet(
    ingest: &Ingest,
    schema: &str,
    packing: Compression,
    columns: &[Column],
) -> std::path::PathBuf {
    let path = ingest.folder.path().join("file.parquet");
    let schema = Arc::new(parse_message_type(&format!("message rows {{ {schema} }}")).unwrap());
    let properties = WriterProperties::builder().set_compression(packing).build();
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for column in columns {
        write(&mut group, column);
    }
    group.close().unwrap();
    writer.close().unwrap();
    path
}

fn write(group: &mut SerializedRowGroupWriter<'_, File>, column: &Column) {
    let mut writer = group.next_column().unwrap().unwrap();
    let bytes = |bytes: &Vec<u8>| ByteArray::from(bytes.clone());
    match column {
        Column::Text(texts) => {
            let values: Vec<_> = texts.iter().map(|text| ByteArray::from(text.as_str())).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        }
        Column::Binary(values) => {
            let values: Vec<_> = values.iter().map(bytes).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        }
        Column::Fixed(values) => {
            let values: Vec<_> = values.iter().map(|value| bytes(value).into()).collect();
            writer.typed::<FixedLenByteArrayType>().write_batch(&values, None, None).unwrap();
        }
        Column::Long(values) => {
            writer.typed::<Int64Type>().write_batch(values, None, None).unwrap();
        }
        Column::Double(values) => {
            writer.typed::<DoubleType>().write_batch(values, None, None).unwrap();
        }
        Column::Lists(lists) => {
            let (mut values, mut definitions, mut repetitions) = (vec![], vec![], vec![]);
            for list in lists {
                if list.is_empty() {
                    definitions.push(0);
                    repetitions.push(0);
                }
                for (index, value) in list.iter().enumerate() {
                    values.push(*value);
                    definitions.push(1);
                    repetitions.push(i16::from(index > 0));
                }
            }
            let typed = writer.typed::<Int32Type>();
            typed.write_batch(&values, Some(&definitions), Some(&repetitions)).unwrap();
        }
    }
    writer.close().unwrap();
}

/// Rows of our own format, of two blocks with several transactions.
fn rows() -> Vec<String> {
    (0..10_000)
        .map(|number| row(1 + number / 100, number / 2, number % 2, &number.to_string()))
        .collect()
}

/// The cells of a column of rows.
fn cells(rows: &[String], column: usize) -> Vec<String> {
    rows.iter().map(|row| row.split(',').nth(column).unwrap().to_owned()).collect()
}

#[test]
fn csv_json_lines_and_parquet_record_the_same() {
    let rows = rows();
    let expected = Ingest::new(ChainId::ETH);
    let _ = expected.ingest("rows.csv", csv(&rows)).unwrap();

    let names: Vec<_> = HEADER.split(',').collect();
    let json: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells = row.split(',').zip(&names);
            // Numbers and texts mean the same.
            let is_number = |cell: &str| cell.bytes().all(|byte| byte.is_ascii_digit());
            let cell =
                |cell: &str| if is_number(cell) { cell.to_owned() } else { format!("{cell:?}") };
            let fields: Vec<_> =
                cells.map(|(text, name)| format!("{name:?}: {}", cell(text))).collect();
            format!("{{{}}}\n", fields.join(", "))
        })
        .collect();
    let of_json = Ingest::new(ChainId::ETH);
    let _ = of_json.ingest("rows.jsonl", json.concat()).unwrap();
    assert_eq!(of_json.digest(), expected.digest());

    let texts: Vec<_> = (0..8).map(|column| Column::Text(cells(&rows, column))).collect();
    let schema = names
        .iter()
        .map(|name| format!("required binary {name} (UTF8);"))
        .collect::<Vec<_>>()
        .join(" ");
    for packing in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(parquet::basic::GzipLevel::default()),
        Compression::ZSTD(parquet::basic::ZstdLevel::default()),
    ] {
        let ingest = Ingest::new(ChainId::ETH);
        let file = parquet(&ingest, &schema, packing, &texts);
        let _ = ingest.run(&[file]).unwrap();
        assert_eq!(ingest.digest(), expected.digest(), "{packing:?}");
    }
    // Another order of columns, another delimiter and another encoding mean the same.
    let ingest = Ingest::new(ChainId::ETH);
    let reversed: String = csv(&rows)
        .lines()
        .map(|line| line.split(',').rev().collect::<Vec<_>>().join(";") + "\r\n")
        .collect();
    let utf16: Vec<u8> =
        std::iter::once(0xFEFF).chain(reversed.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let _ = ingest.ingest("rows.csv", utf16).unwrap();
    assert_eq!(ingest.digest(), expected.digest());
}

#[test]
fn typed_columns_of_parquet_are_exact() {
    let hash = |number: u8| [number; 32].to_vec();
    let amount = |low: u8| [&[0xFF; 31][..], &[low]].concat();
    let columns = [
        Column::Long(vec![7, 7]),
        Column::Long(vec![1_600_000_000_000_000, 1_600_000_000_000_000]),
        Column::Binary(vec![hash(1), hash(2)]),
        Column::Long(vec![3, 4]),
        Column::Binary(vec![vec![9; 20], vec![9; 20]]),
        Column::Binary(vec![vec![1; 20], vec![2; 20]]),
        Column::Binary(vec![vec![3; 20], vec![4; 20]]),
        Column::Binary(vec![amount(0xFF), amount(0)]),
        Column::Double(vec![1.0e77, 1.0e77]),
    ];
    let schema = "required int64 block_number; required int64 block_timestamp (TIMESTAMP(MICROS,true)); \
                  required binary transaction_hash; required int64 log_index; required binary erc20; \
                  required binary from_address; required binary to_address; required binary value_binary; \
                  required double value_f64;";
    let ingest = Ingest::new(ChainId::ETH);
    let file = parquet(&ingest, schema, Compression::SNAPPY, &columns);
    let _ = ingest.run(&[file]).unwrap();
    let transactions = ingest.transactions();
    assert_eq!(transactions[0].transfers[0].amount, ruint::aliases::U256::MAX);
    assert_eq!(transactions[0].time.as_second(), 1_600_000_000);
    let place = &transactions[1].transfers[0].place;
    assert_eq!(place.published, Some(PublishedPlace::Log(4)));

    // Doubles are refused, and so are bytes whose order is not stated.
    for (schema, column, reason) in [
        ("required double value;", Column::Double(vec![1.0, 2.0]), "not exact"),
        (
            "required fixed_len_byte_array(32) value;",
            Column::Fixed(vec![hash(1), hash(2)]),
            "their order is not stated",
        ),
    ] {
        let schema = format!(
            "required int64 block_number; required binary transaction_hash; required int64 log_index; \
             required binary token_address (UTF8); required binary from_address; \
             required binary to_address; {schema}"
        );
        let text = |number| Column::Text(vec![account(number), account(number)]);
        let columns = [
            Column::Long(vec![7, 7]),
            Column::Binary(vec![hash(1), hash(2)]),
            Column::Long(vec![3, 4]),
            text(9),
            Column::Binary(vec![vec![1; 20], vec![2; 20]]),
            Column::Binary(vec![vec![3; 20], vec![4; 20]]),
            column,
        ];
        let file = parquet(&ingest, &schema, Compression::SNAPPY, &columns);
        let error = ingest.run(&[file]).unwrap_err().to_string();
        assert!(
            error.contains("file.parquet, row 1: value: ") && error.contains(reason),
            "{error}"
        );
    }
}

#[test]
fn a_damaged_parquet_file_is_refused() {
    let rows = &rows()[..500];
    let texts: Vec<_> = (0..8).map(|column| Column::Text(cells(rows, column))).collect();
    let schema = HEADER
        .split(',')
        .map(|name| format!("required binary {name} (UTF8);"))
        .collect::<Vec<_>>()
        .join(" ");
    let ingest = Ingest::new(ChainId::ETH);
    let file = parquet(&ingest, &schema, Compression::SNAPPY, &texts);
    let whole = std::fs::read(file).unwrap();
    for length in (4..whole.len()).step_by(whole.len() / 37) {
        let error = ingest.refusal("cut.parquet", &whole[..length]);
        assert!(error.contains("cut.parquet"), "{error}");
    }
    let mut random = assay_test_random::Random::new(5);
    for _ in 0..300 {
        let mut bytes = whole.clone();
        let at = random.index(bytes.len() - 8) + 4;
        bytes[at] ^= 1 << random.below(8);
        let fresh = Ingest::new(ChainId::ETH);
        if let Ok(done) = fresh.ingest("changed.parquet", bytes) {
            assert!(done.counts.sums_match());
        }
    }
}

#[test]
fn a_gzip_page_that_unpacks_to_more_than_it_states_is_refused() {
    let rows = &rows()[..500];
    let texts: Vec<_> = (0..8).map(|column| Column::Text(cells(rows, column))).collect();
    let schema = HEADER.split(',').map(|name| format!("required binary {name} (UTF8);"));
    let schema = schema.collect::<Vec<_>>().join(" ");
    let ingest = Ingest::new(ChainId::ETH);
    let file = parquet(&ingest, &schema, Compression::GZIP(GzipLevel::default()), &texts);
    let mut bytes = std::fs::read(file).unwrap();
    assert!(Ingest::new(ChainId::ETH).ingest("whole.parquet", bytes.clone()).is_ok());
    // The first page stands behind the mark. Its header states the kind and, as the second field, the size.
    assert_eq!((bytes[4], bytes[6]), (0x15, 0x15));
    assert_ne!(bytes[7] & 0x7e, 0, "a size that can be less");
    bytes[7] -= 2;
    let error = Ingest::new(ChainId::ETH).refusal("forged.parquet", bytes);
    assert!(error.contains("made to exhaust memory"), "{error}");
}

#[test]
fn calls_move_value_as_the_rules_of_tracers_say() {
    let header = "block_number,block_timestamp,transaction_hash,transaction_index,from_address,to_address,value,\
                  trace_type,call_type,trace_address,error,status";
    let frame = |path: &str, kind: &str, call: &str, value: u64, error: &str| {
        let (from, to) = (account(1), account(100 + value));
        format!("5,1600000000,{},3,{from},{to},{value},{kind},{call},\"{path}\",{error},", txid(1))
    };
    let frames = [
        frame("", "call", "call", 1, ""),
        frame("0", "call", "delegatecall", 2, ""),
        frame("0,0", "call", "call", 3, ""),
        frame("1", "call", "call", 4, "Reverted"),
        frame("1,0", "call", "call", 5, ""),
        frame("1,0,0", "suicide", "", 6, ""),
        frame("10", "call", "call", 7, ""),
        frame("11", "call", "staticcall", 0, ""),
        frame("12", "create", "", 0, ""),
        frame("13", "call", "callcode", 8, ""),
        frame("14", "suicide", "", 9, ""),
        frame("15", "call", "call", 0, ""),
        format!("5,1600000000,,,,{},11,reward,,,,", account(8)),
        format!("5,1600000000,,,,{},11,reward,,,,", account(8)),
    ];
    let file =
        |frames: &[String]| [&[header.to_owned()], frames, &[String::new()]].concat().join("\n");
    let ingest = Ingest::new(ChainId::ETH);
    let path = ingest.file("traces.csv", file(&frames));
    let done = ingest.run(&[&path]).unwrap();
    let amounts: Vec<_> = ingest
        .transactions()
        .iter()
        .flat_map(|it| &it.transfers)
        .map(|it| it.amount.to_string())
        .collect();
    // Two equal rewards are two rewards.
    assert_eq!(amounts, ["1", "3", "7", "0", "9", "11", "11"]);
    assert_eq!(count(&done, TransferKind::Create), 1);
    assert_eq!(done.counts.left_out[&LeftOut::Failed], 3);
    assert_eq!(done.counts.left_out[&LeftOut::Delegate], 3);
    assert_eq!(done.counts.left_out[&LeftOut::WithoutValue], 1);
    let transaction = &ingest.transactions()[0];
    assert_eq!(transaction.initiator.unwrap().to_string(), account(1));
    let published: Vec<_> =
        transaction.transfers.iter().map(|it| it.place.published.clone().unwrap()).collect();
    assert_eq!(published[1], PublishedPlace::Trace("0,0".into()));

    // The same file twice counts once.
    let twice = Ingest::new(ChainId::ETH);
    let done = twice.run(&[&path, &path]).unwrap();
    assert_eq!(done.counts.duplicates, 7);
    assert_eq!(twice.digest(), ingest.digest());

    // Without a call above, its failure would not be seen.
    let error = ingest.refusal("some.csv", file(&[frames[0].clone(), frames[4].clone()]));
    assert!(error.contains("some.csv, line 3: the call above this one is missing"), "{error}");
}

#[test]
fn values_of_transactions_count_once_and_only_if_they_succeeded() {
    let header = "hash,nonce,block_number,transaction_index,from_address,to_address,value,gas,gas_price,\
                  block_timestamp";
    let transaction = |number: u64, value: u64| {
        let (from, to) = (account(number), account(90));
        format!("{},0,5,{number},{from},{to},{value},21000,9,1600000000", txid(number))
    };
    let ingest = Ingest::new(ChainId::ETH);
    let transactions = ingest.file(
        "transactions.csv",
        [
            header,
            &transaction(1, 10),
            &transaction(2, 20),
            &transaction(3, 30),
            &transaction(4, 0),
            "",
        ]
        .join("\n"),
    );
    let done = ingest.run(&[&transactions]).unwrap();
    assert_eq!(done.counts.left_out[&LeftOut::UnknownStatus], 3);
    assert_eq!(done.ingested.transfers, 0);

    let receipts = ingest.file(
        "receipts.csv",
        [
            "transaction_hash,transaction_index,block_number,cumulative_gas_used,gas_used,status,effective_gas_price",
            &format!("{},1,5,21000,21000,1,7", txid(1)),
            &format!("{},2,5,42000,21000,0,7", txid(2)),
            &format!("{},3,5,63000,21000,1,7", txid(3)),
            "",
        ]
        .join("\n"),
    );
    let blocks = ingest.file(
        "blocks.csv",
        format!("number,timestamp,miner,base_fee_per_gas\n5,1600000000,{},5\n", account(77)),
    );
    let traces = ingest.file(
        "traces.csv",
        [
            "block_number,transaction_hash,from_address,to_address,value,trace_type,call_type,trace_address,status",
            &format!("5,{},{},{},30,call,call,,1", txid(3), account(3), account(90)),
            "",
        ]
        .join("\n"),
    );
    let ingest = Ingest::new(ChainId::ETH);
    let done = ingest.run(&[&traces, &transactions, &receipts, &blocks]).unwrap();
    assert_eq!(done.counts.left_out[&LeftOut::Failed], 1);
    let (burned, tip) = (21_000 * 5, 21_000 * 2);
    let fees = |sender: u64| {
        [
            format!("fee {burned} native {} > {}", account(sender), account(0)),
            format!("fee {tip} native {} > {}", account(sender), account(77)),
        ]
    };
    let value = |sender: u64, value: u64| {
        [format!("transfer {value} native {} > {}", account(sender), account(90))]
    };
    let expected: Vec<String> =
        [&value(1, 10)[..], &fees(1), &fees(2), &value(3, 30), &fees(3)].concat();
    assert_eq!(ingest.moves(), expected);
}

#[test]
fn kinds_of_our_own_format_are_recorded() {
    let token = account(9);
    let line = |index: u64, kind: &str, asset: &str, from: &str, to: &str, txid: &str| {
        format!("5,2020-09-13T12:26:40Z,{txid},{index},{asset},{from},{to},7,{kind}")
    };
    let (a, b, id) = (account(1), account(2), txid(1));
    let rows = [
        line(0, "", "native", &a, &b, &id),
        line(1, "fee", "native", &a, "", &id),
        line(2, "mint", &token, "", &b, &id),
        line(3, "burn", &token, &b, "", &id),
        line(4, "create", "native", &a, &b, &id),
        line(5, "transfer", &token, &account(0), &b, &id),
        line(0, "reward", "native", "", &b, ""),
        line(1, "withdrawal", "native", "", &b, ""),
        line(2, "balance", &token, "", &b, ""),
    ];
    let file =
        |rows: &[String]| [&[format!("{HEADER},kind")], rows, &[String::new()]].concat().join("\n");
    let ingest = Ingest::new(ChainId::ETH);
    let done = ingest.ingest("kinds.csv", file(&rows)).unwrap();
    assert_eq!(done.ingested.transactions, 2);
    let kinds: Vec<_> = ingest
        .transactions()
        .iter()
        .flat_map(|it| &it.transfers)
        .map(|it| it.kind.as_str())
        .collect();
    let expected =
        ["transfer", "fee", "mint", "burn", "create", "mint", "reward", "withdrawal", "balance"];
    assert_eq!(kinds, expected);

    for (row, reason) in [
        (line(0, "gift", "native", &a, &b, &id), "unknown kind `gift`"),
        (line(0, "mint", &token, &a, &b, &id), "a mint comes from the zero address"),
        (line(0, "burn", &token, &a, &b, &id), "a burn goes to the zero address"),
        (line(0, "balance", &token, &a, &b, ""), "a balance comes from the zero address"),
        (line(0, "fee", "native", &a, &b, ""), "txid: it is missing"),
    ] {
        let error = Ingest::new(ChainId::ETH).refusal("kinds.csv", file(&[row]));
        assert!(error.contains("kinds.csv, line 2: ") && error.contains(reason), "{error}");
    }
}

/// A row of our own format with a kind.
fn row_of_kind(block: u64, kind: &str, cells: &str) -> String {
    format!("{block},2020-09-13T12:26:40Z,{},{cells},{kind}", txid(block))
}

#[test]
fn facts_about_contracts_are_a_part_of_their_transaction() {
    let (payer, contract, owner, other) = (account(1), account(8), account(2), account(3));
    let paid = |block| row_of_kind(block, "", &format!("0,native,{payer},{contract},7"));
    let named = |block, whom: &str, amount: &str| {
        row_of_kind(block, "beneficiary", &format!(",,{contract},{whom},{amount}"))
    };
    let file =
        |rows: &[String]| [&[format!("{HEADER},kind")], rows, &[String::new()]].concat().join("\n");
    let code = row_of_kind(1, "code", &format!(",,{contract},,"));
    let one = [named(1, &other, "0"), paid(1), named(1, &owner, ""), named(1, &other, "0"), code];
    let alone = [named(2, &owner, "0")];
    let ingest = Ingest::new(ChainId::ETH);
    let done = ingest.ingest("named.csv", file(&[&one[..], &alone].concat())).unwrap();
    assert_eq!((done.counts.contract_facts, done.counts.duplicates), (3, 1));
    assert_eq!(done.counts.left_out[&LeftOut::WithoutTransfer], 1);
    let transactions = ingest.transactions();
    let events: Vec<_> = transactions.iter().flat_map(|it| &it.contract_facts).collect();
    let named_in_order: Vec<_> = events.iter().map(|it| it.account.to_string()).collect();
    assert_eq!(named_in_order, [contract.clone(), owner.clone(), other.clone()]);
    assert!(events.iter().all(|it| it.contract.to_string() == contract));
    assert_eq!(transactions.iter().map(|it| it.transfers.len()).sum::<usize>(), 1);
    // The same file is recorded already; a beneficiary that is not is refused with its row.
    let again = ingest.ingest("named.csv", file(&one)).unwrap();
    assert_eq!(again.ingested.transactions, 0);
    let more = file(&[paid(1), named(1, &payer, "0")]);
    let error = ingest.refusal("more.csv", more);
    assert!(error.contains("more.csv, line 3: ") && error.contains("not recorded"), "{error}");
    // An event moves nothing, and names two accounts in a transaction.
    let outside = named(1, &owner, "0").replace(&txid(1), "");
    for (row, reason) in [
        (named(1, &owner, "7"), "amount: a beneficiary row moves nothing"),
        (named(1, "", "0"), "to: it is missing"),
        (named(1, &account(0), "0"), "other than the zero address"),
        (
            row_of_kind(1, "code", &format!(",,{contract},{owner},0")),
            "to: a code row names no account; leave it empty",
        ),
        (outside, "txid: it is missing"),
    ] {
        let error = Ingest::new(ChainId::ETH).refusal("named.csv", file(&[row]));
        assert!(error.contains("named.csv, line 2: ") && error.contains(reason), "{error}");
    }
}

#[test]
fn rows_of_a_transaction_are_one_transaction_whichever_file_they_come_from() {
    let ingest = Ingest::new(ChainId::ETH);
    let one = ingest.file("one.csv", csv(&[row(1, 1, 0, "5"), row(2, 2, 1, "6")]));
    let other =
        ingest.file("other.csv", csv(&[row(1, 1, 1, "7"), row(2, 2, 0, "8"), row(3, 3, 0, "9")]));
    let _ = ingest.run(&[&one, &other]).unwrap();
    let amounts: Vec<Vec<_>> = ingest
        .transactions()
        .iter()
        .map(|it| it.transfers.iter().map(|it| it.amount.to_string()).collect())
        .collect();
    assert_eq!(amounts, [vec!["5", "7"], vec!["8", "6"], vec!["9"]]);
    // The order of the files changes nothing for rows with their order.
    let swapped = Ingest::new(ChainId::ETH);
    let _ = swapped.run(&[&other, &one]).unwrap();
    assert_eq!(swapped.digest(), ingest.digest());
}

#[test]
fn paths_of_calls_in_lists_of_parquet_are_read() {
    let hash = |number: u8| [number; 32].to_vec();
    let schema = "required int64 block_number; required int64 block_time (TIMESTAMP(MILLIS,true)); \
                  required binary tx_hash; required binary from; required binary to; \
                  required binary value (DECIMAL(76,0)); required boolean success; \
                  required binary type (UTF8); required binary call_type (UTF8); \
                  repeated int32 trace_address;";
    // No column of this test is a truth value.
    let schema = schema.replace("required boolean success; ", "required int64 success; ");
    let text = |text: &str| Column::Text(vec![text.to_owned(); 3]);
    let columns = [
        Column::Long(vec![7; 3]),
        Column::Long(vec![1_600_000_000_000; 3]),
        Column::Binary(vec![hash(1); 3]),
        Column::Binary(vec![vec![1; 20]; 3]),
        Column::Binary(vec![vec![2; 20]; 3]),
        Column::Binary(vec![vec![1], vec![2], vec![1, 0]]),
        Column::Long(vec![1, 1, 1]),
        text("call"),
        text("call"),
        Column::Lists(vec![vec![], vec![0], vec![0, 2]]),
    ];
    let ingest = Ingest::new(ChainId::ETH);
    let file = parquet(&ingest, &schema, Compression::SNAPPY, &columns);
    let _ = ingest.run(&[file]).unwrap();
    let transaction = ingest.transactions().remove(0);
    let found: Vec<_> = transaction
        .transfers
        .iter()
        .map(|it| (it.amount.to_string(), it.place.published.clone().unwrap()))
        .collect();
    let call = |path: &str| PublishedPlace::Trace(path.into());
    let expected = [("1", call("")), ("2", call("0")), ("256", call("0,2"))];
    assert_eq!(found, expected.map(|(amount, call)| (amount.to_owned(), call)));
}

//! Files and bodies as people have them: every encoding, delimiter, line end and packing that is read gives the same
//! rows, and what is not read is refused with the cause and the mend.

use std::{
    fs,
    io::{Cursor, Write},
    path::Path,
};

use assay_tests::{Finished, assay, production, sample};
use serde_json::Value;

const LISTED: &str = "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn";
const MIXER: &str = "0x094B38aF1c2b20Ce653843E787754cDaB7846aa7";

/// A table with a quoted cell of two lines, with `#` for the delimiter and `~` for line ends.
fn table() -> String {
    format!(
        "id#blockchain#Address#note~1#btc#{LISTED}#\"M\u{FC}ller, & \"\"Co\"\"; a|b\tc~x\"~2#ETH#{MIXER}#~"
    )
}

/// Bytes of a text in an encoding, with its byte order mark if `marked`.
fn encoded(text: &str, encoding: &str, marked: bool) -> Vec<u8> {
    let text = if marked { format!("\u{FEFF}{text}") } else { text.to_owned() };
    match encoding {
        "utf-8" => text.into_bytes(),
        "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        // The characters of the table are those of Unicode's first 256.
        "windows-1252" => text.chars().map(|character| u8::try_from(character).unwrap()).collect(),
        other => panic!("{other}"),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn screen(directory: &Path, name: &str, bytes: &[u8], flags: &[&str]) -> Finished {
    fs::write(directory.join(name), bytes).unwrap();
    assay(directory, ["--sample", "screen", name].iter().chain(flags))
}

/// Verdicts and notes of the rows of an output in JSON lines.
fn rows(run: &Finished) -> Vec<String> {
    let rows = run.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| format!("{} {} {}", row["id"], row["verdict"], row["note"])).collect()
}

fn expected() -> [&'static str; 2] {
    ["\"1\" \"block\" \"M\u{FC}ller, & \\\"Co\\\"; a|b\\tc\\nx\"", "\"2\" \"review\" \"\""]
}

#[test]
fn a_table_is_screened_whole_in_every_encoding_delimiter_and_line_end() {
    let (server, ..) = sample();
    let folder = server.directory();
    let directory = folder.path();
    let mut delimiters = [",", ";", "\t", "|"].iter().cycle();
    for (encoding, marked, flags) in [
        ("utf-8", false, &[][..]),
        ("utf-8", true, &["--encoding", "windows-1252"]),
        ("utf-16le", true, &[]),
        ("utf-16be", true, &[]),
        ("utf-16le", false, &["--encoding", "utf-16le"]),
        ("windows-1252", false, &["--encoding", "windows-1252"]),
    ] {
        for end in ["\n", "\r\n", "\r"] {
            let delimiter = delimiters.next().unwrap();
            for prefix in ["", "sep=#~"] {
                let text = format!("{prefix}{}", table()).replace('#', delimiter).replace('~', end);
                let bytes = encoded(&text, encoding, marked);
                let flags = [&["--output-format", "jsonl"], flags].concat();
                let run = screen(directory, "in.csv", &bytes, &flags).ok();
                assert_eq!(rows(&run), expected(), "{encoding} {marked} {text:?}");
            }
        }
    }
}

#[test]
fn a_packed_table_is_screened_as_it_is_and_continued() {
    let (server, ..) = sample();
    let folder = server.directory();
    let directory = folder.path();
    let text = table().replace('#', ";").replace('~', "\r\n");
    let text = text.as_bytes();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(text).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(text).unwrap();
    let added: [(&str, &[u8]); 3] =
        [("__MACOSX/x/._in.csv", b"\0\x05\x16\x07"), ("x/.DS_Store", b"\0\0\0\x01"), ("x/", b"")];
    for (name, bytes) in [
        ("in.csv.gz", gzip(text)),
        ("in", [gzip(&text[..70]), gzip(&text[70..])].concat()),
        ("in.csv.xz", xz.finish().unwrap()),
        ("in.csv.bz2", bzip2.finish().unwrap()),
        ("in.csv.zst", zstd::encode_all(text, 3).unwrap()),
        ("in.zip", zip(&[&[("x/customers.csv", text)][..], &added].concat())),
        ("in.zip", zip(&[("Kunden", text)])),
    ] {
        let run = screen(directory, name, &bytes, &["--output-format", "jsonl"]).ok();
        assert_eq!(rows(&run), expected(), "{name}");
    }

    // A run that was cut off within a cell of two lines is continued.
    let whole = screen(directory, "in.csv.gz", &gzip(text), &["-o", "out.csv"]).ok();
    assert_eq!((whole.stdout, whole.stderr), (String::new(), String::new()));
    let output = fs::read(directory.join("out.csv")).unwrap();
    let within = output.windows(3).position(|bytes| bytes == b"c\nx").unwrap() + 2;
    for cut in [within, output.len() - 1] {
        fs::write(directory.join("out.csv"), &output[..cut]).unwrap();
        let flags = ["-o", "out.csv", "--resume"];
        let _ = screen(directory, "in.csv.gz", &gzip(text), &flags).ok();
        assert_eq!(fs::read(directory.join("out.csv")).unwrap(), output, "cut at {cut}");
    }
}

#[test]
fn what_is_not_read_is_refused_with_the_cause_and_the_mend() {
    let (server, ..) = sample();
    let folder = server.directory();
    let directory = folder.path();
    let plain = format!("blockchain,address\nbtc,{LISTED}\n");
    let wide = encoded(&plain, "utf-16le", false);
    let gzipped = gzip(plain.as_bytes());
    let workbook: [(&str, &[u8]); 2] =
        [("[Content_Types].xml", b"<x/>"), ("xl/workbook.xml", b"<x/>")];
    let table: &[u8] = plain.as_bytes();
    let cases: [(&str, Vec<u8>, &str); 23] = [
        (
            "a.json",
            b"[{\"blockchain\": \"eth\"}]".to_vec(),
            "it is a JSON array: write one JSON object a line",
        ),
        ("a.lzma", b"\x5D\0\0\x80\0\xFF\xFF\xFF".to_vec(), "it is an LZMA file: unpack it first"),
        (
            "a.tar.gz",
            gzip(&[&[b'a'; 257][..], b"ustar\0"].concat()),
            "it is a tar archive: unpack it first",
        ),
        ("a.csv", Vec::new(), "a.csv is empty: the first line is the header"),
        ("a.csv", b"\r\n\r\n".to_vec(), "a.csv is empty"),
        ("a.jsonl", b"\n".to_vec(), "a.jsonl is empty: expected a JSON object a line"),
        (
            "a.csv",
            b"chain,addr\n1,2\n".to_vec(),
            "no column `blockchain` in the header: it has chain, addr; expected",
        ),
        (
            "a.csv",
            b"Address,address,blockchain\n1,2,eth\n".to_vec(),
            "the columns `Address` and `address` mean the same: remove one",
        ),
        (
            "a.csv",
            b"BLOCKCHAIN;Block chain;address\n".to_vec(),
            "the columns `BLOCKCHAIN` and `Block chain` mean",
        ),
        (
            "a.csv",
            b"blockchain,address,n\neth,0x,M\xFCller\n".to_vec(),
            "line 2: bytes that are not UTF-8 at byte offset 29: declare the encoding of the file, such as",
        ),
        ("a.csv", wide, "UTF-16 without a byte order mark: declare it with `--encoding utf-16le`"),
        ("a.csv", b"\xFF\xFE\0\0b\0\0\0".to_vec(), "a byte order mark of UTF-32"),
        ("a.xlsx", zip(&workbook), "a.xlsx is an Excel workbook: save its table as CSV (UTF-8)"),
        (
            "a.xls",
            b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\x1B[2J".to_vec(),
            "an Office document such as .xls",
        ),
        (
            "a.csv",
            b"%PDF-1.7\n\x1B[2J".to_vec(),
            "it is a PDF document: save its table as CSV (UTF-8)",
        ),
        ("a.csv", b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR".to_vec(), "it is a picture (PNG)"),
        ("a.csv", b"<!DOCTYPE html><table>".to_vec(), "it is a web page"),
        ("a.csv", b"blockchain,address\x1B[2J\n".to_vec(), "it has blockchain, address\\u{1b}[2J"),
        ("a.7z", b"7z\xBC\xAF\x27\x1C\0\x04".to_vec(), "it is a 7-Zip archive: unpack it first"),
        (
            "a.zip",
            zip(&[("a.csv", table), ("b.csv", table)]),
            "a.zip holds 2 files: a.csv, b.csv: expected exactly one",
        ),
        (
            "a.zip",
            zip(&[("a.csv.gz", &gzipped)]),
            "it is a gzip file inside another archive: it is packed twice",
        ),
        ("a.csv.gz", gzipped[..gzipped.len() - 9].to_vec(), "failed to read"),
        ("a.zip", b"PK\x03\x04nonsense".to_vec(), "a.zip is not a readable zip archive"),
    ];
    for (name, bytes, message) in cases {
        let run = screen(directory, name, &bytes, &[]);
        let told = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(message), "{name}: {}, expected {message}", run.stderr);
        assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{}", run.stderr);
        let is_binary = |byte: u8| byte < b' ' && byte != b'\n';
        assert!(!run.stderr.bytes().any(is_binary), "{:?}", run.stderr);
    }

    // A header alone is no error, and it is told.
    let alone = screen(directory, "a.csv", b"blockchain;address\r\n", &[]).ok();
    assert!(alone.stderr.contains("no rows: a.csv has a header alone"), "{}", alone.stderr);
    let unknown = screen(directory, "a.csv", plain.as_bytes(), &["--encoding", "ebcdic"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.stderr.contains("no such encoding: `ebcdic` (known: utf-8"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn policies_are_compared_and_tested_over_the_same_files() {
    let (server, ..) = sample();
    let folder = server.directory();
    let directory = folder.path();
    let text = table().replace('#', "\t").replace('~', "\r");
    fs::write(directory.join("in.txt.gz"), gzip(&encoded(&text, "utf-16le", true))).unwrap();
    let run = server.assay(&["policy", "diff", "sample", "default", "in.txt.gz"]).ok();
    assert!(run.stderr.contains("1 from block to review"), "{}", run.stderr);
    assert!(run.stderr.contains("0 not valid"), "{}", run.stderr);

    let check = server.assay(&["check", "btc", LISTED, "--json"]).ok();
    let marked = encoded(&check.stdout.replace('\n', "\r"), "utf-16be", true);
    fs::write(directory.join("answers.zip"), zip(&[("answers.json", &marked)])).unwrap();
    let run = server.assay(&["policy", "test", "answers.zip", "--policy", "sample"]).ok();
    assert!(run.stderr.contains("1 with the same verdict"), "{}", run.stderr);
    for (name, bytes) in
        [("empty.jsonl", &b"\n"[..]), ("a.csv", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")]
    {
        fs::write(directory.join(name), bytes).unwrap();
        for command in
            [&["policy", "diff", "sample", "default", name][..], &["policy", "test", name]]
        {
            let run = server.assay(command);
            assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{}", run.stderr);
        }
    }
}

#[test]
fn lists_are_imported_in_the_encoding_that_is_declared() {
    let (server, _) = production();
    let folder = server.directory();
    let directory = folder.path();
    let header = "list;entity_id;entity;asset_code;address;";
    let row = |name: &[u8]| [b"own-list;1;", name, b";XBT;", LISTED.as_bytes(), b";"].concat();
    let hebrew = [header.as_bytes(), b"\r", &row(b"\xEE\xF9\xE4"), b"\r;;;;;\r"].concat();
    fs::write(directory.join("list.csv"), &hebrew).unwrap();
    let base = ["ingest", "sanctions", "list.csv", "--format", "csv", "--source", "own"];

    // Given bytes that are no UTF-8, nothing is imported, and the mend is told.
    let refused = server.assay(&base);
    assert_eq!(refused.code, 3);
    let told = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains(
            "list.csv: line 2: bytes that are not UTF-8 at byte offset 53: declare the encoding"
        ),
        "{told}"
    );

    // When the encoding is declared, names are letters.
    let _ = server.assay(&[&base[..], &["--encoding", "windows-1255"]].concat()).ok();
    let answer = server.assay(&["check", "btc", LISTED, "--json"]).ok().json();
    assert_eq!(answer["sanctions"][0]["entity"], "\u{5DE}\u{5E9}\u{5D4}", "{answer}");

    let labels = format!("Blockchain|ADDRESS|category\rbtc|{LISTED}|scam\r");
    let labels = encoded(&labels, "utf-16be", true);
    fs::write(directory.join("labels.csv"), zstd::encode_all(&*labels, 3).unwrap()).unwrap();
    let run = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "mine", "--json"];
    assert_eq!(server.assay(&run).ok().json()["labels"], 1);
}

#[test]
fn bodies_may_have_a_mark_any_line_ends_and_a_coding() {
    let (_server, caller, _) = sample();
    let row = |address: &str| format!("{{\"blockchain\":\"btc\",\"address\":\"{address}\"}}");
    let (json, lines) = ("application/json", "application/x-ndjson");
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let screen = |bytes, coding| caller.post_bytes("/api/v1/screen", bytes, lines, coding).text;
    for end in ["\n", "\r\n", "\r"] {
        let body = format!("\u{FEFF}{}{end}{}{end}", row(LISTED), row("x"));
        for (coding, bytes) in [
            ("", body.clone().into_bytes()),
            ("gzip", gzip(body.as_bytes())),
            ("zstd", zstd(&body)),
        ] {
            let text = screen(bytes, coding);
            let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let verdicts: Vec<_> = rows.map(|row| row["verdict"].clone()).collect();
            assert_eq!(verdicts, [Value::from("block"), Value::Null], "{coding} {end:?}: {text}");
        }
    }
    let marked = format!("\u{FEFF}{}", row(LISTED));
    let check = |bytes, coding| caller.post_bytes("/api/v1/check/address", bytes, json, coding);
    for (coding, bytes) in [
        ("", marked.clone().into_bytes()),
        ("gzip", gzip(marked.as_bytes())),
        ("zstd", zstd(&marked)),
    ] {
        assert_eq!(check(bytes, coding).json()["verdict"], "block", "{coding}");
    }

    // Given what is not decoded, the caller learns what is.
    let refused = check(b"x".to_vec(), "br");
    assert_eq!(refused.problem(), (415, "unsupported_media_type".to_owned()));
    assert_eq!(refused.header("accept-encoding"), "gzip, zstd, identity");
    let broken = check(marked.clone().into_bytes(), "gzip");
    assert_eq!(broken.problem(), (400, "malformed_http".to_owned()));
    let large = gzip(format!("{}{marked}", " ".repeat(9000)).as_bytes());
    assert_eq!(check(large, "gzip").problem(), (413, "body_too_large".to_owned()));
    let wide = check(encoded(&row(LISTED), "utf-16le", true), "");
    assert!(wide.text.contains("the body is UTF-16; send JSON as UTF-8"), "{}", wide.text);

    // Rows before a damaged end are answered, and the damage is told.
    let body = row(LISTED) + "\n";
    let mut cut = gzip(body.repeat(40).as_bytes());
    cut.truncate(cut.len() - 4);
    let text = screen(cut, "gzip");
    assert!(text.lines().last().unwrap().contains("the body is not valid gzip"), "{text}");
    let text = screen(gzip(&vec![b' '; 64 << 20]), "gzip");
    assert!(text.contains("larger than 200 times the body that was sent"), "{text}");
}

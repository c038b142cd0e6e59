//! `assay screen`: risk screening of a file of addresses.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, IsTerminal, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    thread,
};

use assay_engine::taxonomy::Category;
use assay_input::Encoding;
use assay_intel::IntelSnapshot;
use assay_service::{Screening, ScreeningResult, chains::registry::ChainReaders, screen_subject};
use clap::{Args, ValueEnum};
use serde_json::Value;
use tokio::runtime::Handle;

use super::{
    CommandOutcome, Context, Failure,
    check::{directory, policy},
    progress::Progress,
    rows::{InputRow, OutputRow, RowFormat, RowReader, RowWriter},
    span::Span,
};

/// Number of rows that are screened together.
const BATCH: usize = 8192;
/// Number of rows with flows that are screened together: results are written while other rows are traced.
const FULL_BATCH: usize = 256;

const EXAMPLES: &str = "\
Examples:
  assay screen customers.csv -o screened.csv
  assay screen customers.csv -o screened.jsonl
  assay screen - --input-format jsonl --output-format csv < customers.jsonl
  assay screen customers.csv -o screened.csv --scope full
  assay screen customers.csv -o screened.csv --resume
  assay screen customers.csv -o part-0.csv --span 0/8";

/// Screen a file of addresses
///
/// The file has the fields `blockchain` and `address`; other fields are kept. It may be packed (gzip, bzip2, xz, zstd,
/// zip) and have any line ends; cells are separated by commas, semicolons, tabs or vertical bars. Each row gains `risk_score, risk_level,
/// verdict, categories, sanctioned, error, reason, scope, decided_by`. An invalid row has a text in `error` and does
/// not stop the run. A CSV output of JSON lines has the columns of the first row; further fields of other rows are
/// omitted. Rows cover lists and labels; with `--scope full`, flows of funds too, as `assay check` does: `decided_by`
/// is `trace`, or `compositions` if the address's history and the origin breakdowns of its transactions decide, with a
/// score that no check exceeds. Without flows, no row of a followed chain has the verdict `allow`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ScreenArgs {
    /// File to read; - is standard input
    file: PathBuf,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of the input [default: by the file's extension, else by its first character]
    #[arg(long, value_enum, value_name = "FORMAT")]
    input_format: Option<RowFormat>,
    /// Encoding of an input without byte order mark, such as windows-1252 [default: utf-8]
    #[arg(long, value_name = "NAME")]
    encoding: Option<Encoding>,
    /// Format of the output [default: by the output's extension, else the format of the input]
    #[arg(long, value_enum, value_name = "FORMAT")]
    output_format: Option<RowFormat>,
    /// Former option for both formats, which is refused.
    #[arg(long, hide = true, value_parser = refuse_format_flag)]
    format: Option<RowFormat>,
    /// Evidence that rows cover
    #[arg(long, value_enum, default_value_t = Scope::ListsAndLabels)]
    scope: Scope,
    /// Name of the risk policy [default: default; with --sample: sample]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Continue an earlier run: skip the rows that the output already has
    #[arg(long, requires = "output")]
    resume: bool,
    /// Screen one of the equal parts of the rows: 0/8 is the first of eight. The outputs of all parts one after another are
    /// the output of the whole
    #[arg(long, value_name = "I/N")]
    span: Option<Span>,
}

fn refuse_format_flag(_: &str) -> Result<RowFormat, &'static str> {
    Err("this option was replaced by --input-format and --output-format")
}

/// Evidence that rows cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Scope {
    /// Lists and labels
    ListsAndLabels,
    /// Lists, labels and flows of funds
    Full,
}

/// The result of a row, or the reason why the row has no result.
pub(super) type Outcome = Result<ScreeningResult, String>;

pub(super) async fn run(args: &ScreenArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    if args.span.is_some() && args.file == Path::new("-") {
        let message = "--span counts the rows first, and standard input is read once: name a file";
        return Err(Failure::Usage(message.into()));
    }
    let databases = context.open_databases().await?;
    let store = &*databases.store;
    let intel = IntelSnapshot::load(store, None).await?;
    let policy = policy(store, args.policy.as_deref()).await?;
    let chains = ChainReaders::open(&databases, &directory(store).await?).await?;
    let now = context.clock.now();
    let (chains, intel, policy) = (&chains, &intel, &*policy);
    let screening = Screening { chains, intel, policy, now, intel_stale: false };
    let mut reader = RowReader::open(&args.file, args.input_format, args.encoding)?;
    let format = reader.format();
    let by_extension = || args.output.as_deref().and_then(RowFormat::from_extension);
    let output_format = args.output_format.or_else(by_extension).unwrap_or(format);
    if !reader.has_rows()? {
        writeln!(io::stderr(), "no rows: {} has a header alone", reader.name())?;
    }
    if let Some(output) = &args.output
        && fs::canonicalize(output)
            .is_ok_and(|output| fs::canonicalize(&args.file).is_ok_and(|input| input == output))
    {
        return Err(Failure::Usage("the output is the input: write to another file".into()));
    }
    let has_header = args.span.is_none_or(Span::is_first);
    let Target { file, rows: done, is_new } = target(args, output_format, has_header)?;
    let columns = match (format, output_format) {
        (RowFormat::Jsonl, RowFormat::Jsonl) => Vec::new(),
        _ => reader.columns()?,
    };
    let mut writer = RowWriter::new(file, output_format, columns, &ADDED, is_new && has_header)?;
    let span = match args.span {
        None => 0..u64::MAX,
        Some(span) => span.rows(rows_of(args)?),
    };
    let mut left = (span.end - span.start).checked_sub(done).ok_or_else(|| {
        let rows = span.end - span.start;
        Failure::Input(format!(
            "the output has {done} rows, and the span {rows}: it is not the output of this span"
        ))
    })?;
    let progress = Progress::new("rows", args.output.is_some());
    reader.skip(span.start + done)?;
    progress.add(done);
    loop {
        let batch = if args.scope == Scope::Full { FULL_BATCH } else { BATCH };
        let rows = reader.take(usize::try_from(left).unwrap_or(usize::MAX).min(batch))?;
        if rows.is_empty() {
            break;
        }
        left -= rows.len() as u64;
        let outcomes = screen_all(&rows, screening, args.scope);
        for (row, outcome) in rows.iter().zip(outcomes) {
            writer.write(&OutputRow { input: row, added: added(&outcome) })?;
        }
        progress.add(rows.len() as u64);
    }
    writer.finish()?;
    progress.finish();
    Ok(CommandOutcome::Success)
}

/// The number of rows of the file that is screened.
fn rows_of(args: &ScreenArgs) -> Result<u64, Failure> {
    let mut reader = RowReader::open(&args.file, args.input_format, args.encoding)?;
    let mut total = 0;
    loop {
        match reader.take(BATCH)?.len() as u64 {
            0 => return Ok(total),
            rows => total += rows,
        }
    }
}

/// The columns that each row gains.
const ADDED: [&str; 9] = [
    "risk_score",
    "risk_level",
    "verdict",
    "categories",
    "sanctioned",
    "error",
    "reason",
    "scope",
    "decided_by",
];

fn added(outcome: &Outcome) -> Vec<(&'static str, Value)> {
    let values: [Value; 9] = match outcome {
        Ok(found) => [
            serde_json::to_value(found.risk_score).unwrap_or_default(),
            found.risk_level.as_str().into(),
            found.verdict.as_str().into(),
            found.categories.iter().map(|category| Category::as_str(*category)).collect(),
            found.sanctioned.into(),
            Value::Null,
            found.reason.as_str().into(),
            serde_json::to_value(found.scope).unwrap_or_default(),
            found.decided_by.as_str().into(),
        ],
        Err(error) => [
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Array(Vec::new()),
            Value::Null,
            error.as_str().into(),
            Value::Null,
            Value::Null,
            Value::Null,
        ],
    };
    ADDED.into_iter().zip(values).collect()
}

/// Screens rows on all processors, in order.
pub(super) fn screen_all(
    rows: &[InputRow],
    screening: Screening<'_>,
    scope: Scope,
) -> Vec<Outcome> {
    let runtime = Handle::current();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = rows.len().div_ceil(workers).max(1);
    thread::scope(|threads| {
        let parts: Vec<_> = rows
            .chunks(share)
            .map(|part| {
                let runtime = runtime.clone();
                threads.spawn(move || {
                    let outcome = |row| outcome(row, screening, scope, &runtime);
                    part.iter().map(outcome).collect::<Vec<_>>()
                })
            })
            .collect();
        parts
            .into_iter()
            .zip(rows.chunks(share))
            .flat_map(|(part, rows)| {
                let failed =
                    || vec![Err("screening this row failed unexpectedly".to_owned()); rows.len()];
                part.join().unwrap_or_else(|_| failed())
            })
            .collect()
    })
}

fn outcome(row: &InputRow, screening: Screening<'_>, scope: Scope, runtime: &Handle) -> Outcome {
    let (blockchain, address) = row.blockchain_and_address()?;
    let subject = screen_subject(blockchain, address)?;
    Ok(match scope {
        Scope::ListsAndLabels => screening.by_lists_and_labels(&subject),
        Scope::Full => runtime.block_on(screening.with_flows(&subject)),
    })
}

/// The output of a run.
struct Target {
    file: Box<dyn Write>,
    /// Number of rows of an earlier run.
    rows: u64,
    /// True if the output is empty, and so has no header.
    is_new: bool,
}

impl Target {
    fn new(file: impl Write + 'static) -> Self {
        Self { file: Box::new(file), rows: 0, is_new: true }
    }
}

/// Terminal that is sent the control characters of cells as question marks, so that no cell controls it.
struct Printable<W>(W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_control =
            |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\t' | b'\r');
        let shown: Vec<u8> =
            bytes.iter().map(|byte| if is_control(*byte) { b'?' } else { *byte }).collect();
        self.0.write_all(&shown)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn target(args: &ScreenArgs, format: RowFormat, has_header: bool) -> Result<Target, Failure> {
    let Some(path) = &args.output else {
        let output = io::stdout().lock();
        return Ok(if output.is_terminal() {
            Target::new(Printable(output))
        } else {
            Target::new(output)
        });
    };
    let failed =
        |error: io::Error| Failure::Failed(format!("failed to write {}: {error}", path.display()));
    if !args.resume || !path.exists() {
        return Ok(Target::new(File::create(path).map_err(failed)?));
    }
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
    let (lines, end) = whole_rows(&file, path, format)?;
    let header = u64::from(has_header && format == RowFormat::Csv);
    let rows = lines.saturating_sub(header);
    // A row that was cut off by the earlier run's end is written anew.
    file.set_len(end).map_err(failed)?;
    file.seek(SeekFrom::Start(end)).map_err(failed)?;
    Ok(Target { file: Box::new(file), rows, is_new: end == 0 })
}

/// The number of complete rows of a file, a header included, and the offset of the end of the last complete row. A row of
/// JSON is one line of the file; a row of CSV ends at the first line end outside quotes.
fn whole_rows(file: &File, path: &Path, format: RowFormat) -> Result<(u64, u64), Failure> {
    let failed =
        |error: io::Error| Failure::Failed(format!("failed to read {}: {error}", path.display()));
    let mut input = BufReader::new(file);
    let (mut rows, mut end, mut read) = (0_u64, 0, 0);
    let (mut line, mut is_quoted) = (Vec::new(), false);
    loop {
        line.clear();
        read += input.read_until(b'\n', &mut line).map_err(failed)? as u64;
        if line.last() != Some(&b'\n') {
            return Ok((rows, end));
        }
        for byte in &line {
            is_quoted ^= format == RowFormat::Csv && *byte == b'"';
        }
        if !is_quoted {
            rows += 1;
            end = read;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_sent_no_control_characters() {
        let mut shown = Vec::new();
        Printable(&mut shown).write_all(b"a\x1B[2J,b\t\x07\r\n").unwrap();
        assert_eq!(shown, b"a?[2J,b\t?\r\n");
    }
}

//! Files of transfers of account chains: our own format and the exports of public warehouses, as CSV, JSON lines or
//! Parquet. Several files are one chain: their rows are merged by block, and rows of one transaction are one
//! transaction whichever file they come from. The format is documented in `docs/transfers.md`.
//!
//! Files are read in streams: the rows of one block are in memory at a time. Only a file whose blocks go backwards is
//! read into memory and sorted. A row that cannot be read refuses all files.
//!
//! - `columns`: names of columns, and the form of a file
//! - `cell`: values of cells
//! - `row`: rows from cells
//! - `text`: CSV and JSON lines
//! - `pages`: sizes of the pages of Parquet files
//! - `parquet`: Parquet
//! - `assemble`: the transactions of a block from its rows
//! - `counts`: counts for reports
//! - `ingest`: recording
//! - `folder`: recording of what is put into a folder

mod assemble;
mod cell;
mod columns;
mod counts;
mod error;
#[cfg(feature = "edge")]
pub mod folder;
#[cfg(feature = "edge")]
pub mod ingest;
mod pages;
mod parquet;
mod row;
mod text;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    vec,
};

use assay_address::ChainId;
use assay_engine::account::AccountAddress;
use assay_input::{Encoding, TextFile};
use jiff::Timestamp;

pub use assemble::FileBlock;
pub use columns::FileForm;
pub use counts::{AssetSum, AssetSums, FileCounts, LeftOut, Sum, TransferCounts};
pub use error::{RowPosition, TransferFileError};
pub use row::RowOrigin;

use self::{
    assemble::RefusedRow,
    cell::Values,
    parquet::ParquetSource,
    row::{Row, RowReader},
    text::{CsvSource, JsonSource, Refusal},
};

/// Extensions of files of transfers in an archive.
const EXTENSIONS: &[&str] = &["csv", "tsv", "txt", "jsonl", "ndjson", "json"];

/// Most rows of one block. A block of opening balances has as many as there are accounts.
const MOST_ROWS_OF_A_BLOCK: usize = 2_000_000;

/// Most rows of a file that are sorted by block in memory.
const MOST_SORTED_ROWS: usize = 2_000_000;

/// The files of a chain's transfers, read block by block.
pub struct TransferFiles {
    chain: ChainId,
    files: Vec<OpenFile>,
    counts: TransferCounts,
    /// The last block that was read.
    last: Option<(u64, Timestamp)>,
}

/// A file that is being read.
struct OpenFile {
    counts: FileCounts,
    rows: Rows,
    values: Values,
    /// The next row.
    next: Option<Row>,
    /// The rows after it, if they were sorted in memory.
    sorted: Option<vec::IntoIter<Row>>,
}

/// Rows of a file.
enum Rows {
    Csv(Box<CsvSource>),
    Json(Box<JsonSource>),
    Parquet(Box<ParquetSource>),
}

impl TransferFiles {
    /// Opens the files of a chain. A file may be packed; `-` is standard input. The files with an index in `unsorted` are
    /// read into memory and sorted by block.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be opened, has unknown columns or has a first row that cannot be read.
    pub fn open<P: AsRef<Path>>(
        chain: ChainId,
        paths: &[P],
        encoding: Option<Encoding>,
        unsorted: &BTreeSet<usize>,
    ) -> Result<Self, TransferFileError> {
        let mut files = Vec::with_capacity(paths.len());
        for (index, path) in paths.iter().enumerate() {
            let mut file = OpenFile::open(chain, index, path.as_ref(), encoding)?;
            if unsorted.contains(&index) {
                file.sort(index)?;
            }
            files.push(file);
        }
        Ok(Self { chain, files, counts: TransferCounts::default(), last: None })
    }

    /// The chain.
    #[must_use]
    pub const fn chain(&self) -> ChainId {
        self.chain
    }

    /// The next block, in the order of heights; `None` after the last one.
    ///
    /// # Errors
    ///
    /// Returns an error for a row that cannot be read, that contradicts another row, or whose block is below that of a
    /// row before it.
    pub fn next_block(&mut self) -> Result<Option<FileBlock>, TransferFileError> {
        loop {
            let heights = self.files.iter().filter_map(|file| Some(file.next.as_ref()?.block));
            let Some(height) = heights.min() else { return Ok(None) };
            let rows = self.rows_of(height)?;
            let first = rows.first().map(|row| row.origin);
            let assembled = assemble::assemble(self.chain, height, rows, &mut self.counts);
            let assembled = assembled.map_err(|refused| self.refused(refused))?;
            let Some(block) = assembled else { continue };
            if let Some((last, time)) = self.last
                && block.time < time
                && let Some(origin) = first
            {
                let reason = format!(
                    "block {height} has the time {}, before that of block {last}, {time}",
                    block.time
                );
                return Err(self.refused(RefusedRow { origin, other: None, reason }));
            }
            self.last = Some((height, block.time));
            return Ok(Some(block));
        }
    }

    /// Reads the rows of the next block without making transactions of them; returns their number, or `None` after the
    /// last block.
    ///
    /// # Errors
    ///
    /// Returns an error for a row that cannot be read, or whose block is below that of a row before it.
    pub fn skip_block(&mut self) -> Result<Option<usize>, TransferFileError> {
        let heights = self.files.iter().filter_map(|file| Some(file.next.as_ref()?.block));
        let Some(height) = heights.min() else { return Ok(None) };
        Ok(Some(self.rows_of(height)?.len()))
    }

    /// Counts of the blocks that were returned.
    #[must_use]
    pub const fn counts(&self) -> &TransferCounts {
        &self.counts
    }

    /// Counts of each file, up to the rows that were read.
    pub fn files(&self) -> impl Iterator<Item = &FileCounts> {
        self.files.iter().map(|file| &file.counts)
    }

    /// Symbols of scored assets that tokens with other contracts have, by contract, in the rows that were read.
    #[must_use]
    pub fn lookalike_symbols(&self) -> BTreeMap<AccountAddress, String> {
        let symbols = self.files.iter().flat_map(|file| file.values.lookalikes());
        symbols.map(|(contract, symbol)| (*contract, symbol.clone())).collect()
    }

    /// The error of a row.
    #[must_use]
    pub fn row_error(&self, origin: RowOrigin, reason: String) -> TransferFileError {
        let file = self.files.get(origin.file).map(|file| file.counts.file.clone());
        TransferFileError::Row { file: file.unwrap_or_default(), position: origin.position, reason }
    }

    /// Takes the rows of a block from all files.
    fn rows_of(&mut self, height: u64) -> Result<Vec<Row>, TransferFileError> {
        let mut rows = Vec::new();
        for (index, file) in self.files.iter_mut().enumerate() {
            while let Some(row) = file.next.take_if(|row| row.block == height) {
                let origin = row.origin;
                rows.push(row);
                file.advance(index)?;
                let below = file.next.as_ref().filter(|next| next.block < height);
                if let Some(next) = below {
                    return Err(TransferFileError::Unsorted {
                        file: file.counts.file.clone(),
                        index,
                        position: next.origin.position,
                        block: next.block,
                        last: height,
                    });
                }
                if rows.len() > MOST_ROWS_OF_A_BLOCK {
                    let reason =
                        format!("block {height} has more than {MOST_ROWS_OF_A_BLOCK} rows");
                    let (file, position) = (file.counts.file.clone(), origin.position);
                    return Err(TransferFileError::Row { file, position, reason });
                }
            }
        }
        Ok(rows)
    }

    fn refused(&self, refused: RefusedRow) -> TransferFileError {
        let RefusedRow { origin, other, mut reason } = refused;
        if let Some(other) = other {
            let file = self.files.get(other.file).map_or("", |file| &file.counts.file);
            reason = format!("{reason} (compare {file}, {})", other.position);
        }
        self.row_error(origin, reason)
    }
}

impl OpenFile {
    fn open(
        chain: ChainId,
        index: usize,
        path: &Path,
        encoding: Option<Encoding>,
    ) -> Result<Self, TransferFileError> {
        let is_parquet = parquet::open_if_parquet(path).unwrap_or_default();
        if let Some(file) = is_parquet {
            let origin = path.display().to_string();
            let rows = ParquetSource::open(file).map_err(|refusal| of_refusal(&origin, refusal))?;
            let stated_rows = Some(rows.stated_rows);
            return Self::of_rows(chain, index, origin, Rows::Parquet(Box::new(rows)), stated_rows);
        }
        let TextFile { origin, mut text, .. } =
            TextFile::open(path, EXTENSIONS, encoding, TextFile::LIMITS)?;
        let refused = |refusal: Refusal| of_refusal(&origin, refusal);
        let is_json = text::is_json(&mut text).map_err(|error| {
            let fault = assay_input::text::TextFault::from(error);
            refused(Refusal::at(1, fault.to_string()))
        })?;
        let rows = if is_json {
            Rows::Json(Box::new(JsonSource::open(text)))
        } else {
            Rows::Csv(Box::new(CsvSource::open(text).map_err(refused)?))
        };
        Self::of_rows(chain, index, origin, rows, None)
    }

    fn of_rows(
        chain: ChainId,
        index: usize,
        file: String,
        rows: Rows,
        stated_rows: Option<u64>,
    ) -> Result<Self, TransferFileError> {
        let counts = FileCounts {
            file,
            form: FileForm::Transfers,
            rows: 0,
            stated_rows,
            unknown_columns: Vec::new(),
            is_last_line_open: false,
            is_sorted_in_memory: false,
        };
        let mut file = Self { counts, rows, values: Values::new(chain), next: None, sorted: None };
        file.advance(index)?;
        file.note_columns();
        Ok(file)
    }

    /// Reads all rows and sorts them by block. Rows of one block stay in their order.
    fn sort(&mut self, index: usize) -> Result<(), TransferFileError> {
        let mut rows = Vec::new();
        while let Some(row) = self.next.take() {
            if rows.len() >= MOST_SORTED_ROWS {
                let reason = format!(
                    "its blocks go backwards, and it has more than the {MOST_SORTED_ROWS} rows that are sorted in \
                     memory: sort it by block"
                );
                return Err(of_refusal(&self.counts.file, Refusal::of_file(reason)));
            }
            rows.push(row);
            self.advance(index)?;
        }
        rows.sort_by_key(|row| row.block);
        let mut rows = rows.into_iter();
        self.next = rows.next();
        self.sorted = Some(rows);
        self.counts.is_sorted_in_memory = true;
        Ok(())
    }

    /// Reads the next row.
    fn advance(&mut self, index: usize) -> Result<(), TransferFileError> {
        if let Some(sorted) = &mut self.sorted {
            self.next = sorted.next();
            return Ok(());
        }
        let read = self.rows.read(index, &mut self.values);
        self.next = read.map_err(|refusal| of_refusal(&self.counts.file, refusal))?;
        self.counts.rows += u64::from(self.next.is_some());
        if self.next.is_none() {
            self.note_columns();
            let (rows, stated) = (self.counts.rows, self.counts.stated_rows);
            if let Some(stated) = stated.filter(|stated| *stated != rows) {
                let reason = format!("it has {rows} rows and states {stated}");
                return Err(of_refusal(&self.counts.file, Refusal::of_file(reason)));
            }
        }
        Ok(())
    }

    fn note_columns(&mut self) {
        let (columns, form) = match &self.rows {
            Rows::Csv(rows) => (&rows.columns, rows.form),
            Rows::Json(rows) => (&rows.columns, rows.form().unwrap_or(FileForm::Transfers)),
            Rows::Parquet(rows) => (&rows.columns, rows.form),
        };
        self.counts.form = form;
        if form == FileForm::Transfers {
            self.counts.unknown_columns = columns.unknown();
        }
        self.counts.is_last_line_open =
            matches!(&self.rows, Rows::Csv(rows) if rows.is_last_line_open());
    }
}

impl Rows {
    fn read(&mut self, file: usize, values: &mut Values) -> Result<Option<Row>, Refusal> {
        match self {
            Self::Csv(rows) => {
                let form = rows.form;
                let Some((line, cells, columns)) = rows.next()? else { return Ok(None) };
                let origin = RowOrigin { file, position: RowPosition::Line(line) };
                let row = RowReader { columns, cells, values }.read(form, origin);
                row.map(Some).map_err(|reason| Refusal::at(line, reason))
            }
            Self::Json(rows) => {
                let Some((line, cells, columns, form)) = rows.next()? else { return Ok(None) };
                let origin = RowOrigin { file, position: RowPosition::Line(line) };
                let row = RowReader { columns, cells, values }.read(form, origin);
                row.map(Some).map_err(|reason| Refusal::at(line, reason))
            }
            Self::Parquet(rows) => {
                let form = rows.form;
                let Some((number, cells, columns)) = rows.next()? else { return Ok(None) };
                let position = RowPosition::Row(number);
                let origin = RowOrigin { file, position };
                let row = RowReader { columns, cells: &cells, values }.read(form, origin);
                row.map(Some).map_err(|reason| Refusal { position: Some(position), reason })
            }
        }
    }
}

fn of_refusal(file: &str, refusal: Refusal) -> TransferFileError {
    let Refusal { position, reason } = refusal;
    let file = file.to_owned();
    match position {
        Some(position) => TransferFileError::Row { file, position, reason },
        None => TransferFileError::File { file, reason },
    }
}

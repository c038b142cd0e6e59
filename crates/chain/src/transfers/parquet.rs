//! Rows of Parquet files. Only the columns with a meaning are read, some rows at a time.

use std::{
    fs::File,
    io::{self, Read, Seek},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use assay_input::InputLimits;
use jiff::Timestamp;
use parquet::{
    basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type as PhysicalType},
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::{ByteArray, DataType, FixedLenByteArray, Int96},
    errors::ParquetError,
    file::{
        metadata::ColumnChunkMetaData,
        reader::{FileReader, SerializedFileReader},
    },
    schema::types::ColumnDescriptor,
};
use ruint::aliases::U256;

use super::{
    RowPosition,
    cell::CellValue,
    columns::{Columns, FileForm, is_column},
    pages::{InvalidPages, PagesOfColumn, check_pages},
    row::Cells,
    text::Refusal,
};

/// First and last bytes of a file.
const MARK: &[u8; 4] = b"PAR1";
/// Rows that are read at a time.
const BATCH: usize = 4_096;
/// Largest size of a column of a row group after unpacking, in bytes.
const LARGEST_COLUMN: u64 = 2 * 1024 * 1024 * 1024;

/// Opens a file if it is a Parquet file.
pub(super) fn open_if_parquet(path: &Path) -> io::Result<Option<File>> {
    // What is read from a pipe is gone.
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let Some(Ok(mut file)) = is_file.then(|| File::open(path)) else { return Ok(None) };
    let mut start = [0; MARK.len()];
    if !file.metadata()?.is_file() || file.read(&mut start)? < MARK.len() || start != *MARK {
        return Ok(None);
    }
    file.rewind()?;
    Ok(Some(file))
}

/// Rows of a Parquet file.
pub(super) struct ParquetSource {
    reader: SerializedFileReader<File>,
    /// The same file, for the headers of its pages.
    file: File,
    pub(super) columns: Columns,
    pub(super) form: FileForm,
    leaves: Vec<Leaf>,
    /// Number of rows that the file states.
    pub(super) stated_rows: u64,
    /// Index of the next row group.
    group: usize,
    /// Rows of the row group that are not read yet.
    left_in_group: u64,
    batch: Batch,
    /// Index of the next row in the batch.
    at: usize,
    /// Number of rows that were returned.
    done: u64,
}

/// A column that is read.
struct Leaf {
    /// Index in the file.
    index: usize,
    /// Index among the columns of the rows.
    column: usize,
    kind: LeafKind,
    /// Definition level of a value.
    defined: i16,
    is_list: bool,
    reader: Option<ColumnReader>,
}

/// Meaning of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeafKind {
    Boolean,
    Signed,
    Unsigned,
    Text,
    Bytes,
    /// Bytes of a fixed length, whose order the file does not state.
    Fixed,
    Time(Unit),
    /// A decimal number with so many digits after the point.
    Decimal(u32),
    /// Numbers with fractions, dates and other values that no field has.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

/// Some rows of all columns.
#[derive(Default)]
struct Batch {
    rows: usize,
    columns: Vec<Vec<Value>>,
}

/// A value of a column.
enum Value {
    Missing,
    Boolean(bool),
    Number(i128),
    Amount(U256),
    Text(ByteArray),
    OwnText(String),
    Bytes(ByteArray),
    Fixed(FixedLenByteArray),
    Time(Timestamp),
    Fraction,
    /// A value that cannot be read, which is refused where its field is needed.
    Unreadable,
}

/// A row of the batch.
pub(super) struct ParquetRow<'a> {
    batch: &'a Batch,
    row: usize,
}

impl Cells for ParquetRow<'_> {
    fn cell(&self, column: usize) -> CellValue<'_> {
        let value = self.batch.columns.get(column).and_then(|values| values.get(self.row));
        match value {
            None | Some(Value::Missing) => CellValue::Missing,
            Some(Value::Boolean(value)) => CellValue::Boolean(*value),
            Some(Value::Number(number)) => CellValue::Number(*number),
            Some(Value::Amount(amount)) => CellValue::Amount(*amount),
            Some(Value::Text(text)) => match std::str::from_utf8(text.data()) {
                Ok(text) => CellValue::Text(text),
                Err(_) => CellValue::Bytes(text.data()),
            },
            Some(Value::OwnText(text)) => CellValue::Text(text),
            Some(Value::Bytes(bytes)) => CellValue::Bytes(bytes.data()),
            Some(Value::Fixed(bytes)) => CellValue::Fixed(bytes.data()),
            Some(Value::Time(time)) => CellValue::Time(*time),
            Some(Value::Fraction | Value::Unreadable) => CellValue::Fraction,
        }
    }
}

impl ParquetSource {
    pub(super) fn open(file: File) -> Result<Self, Refusal> {
        let unreadable = |error| Refusal::of_file(format!("it cannot be read: {error}"));
        let pages = file.try_clone().map_err(unreadable)?;
        let reader = guarded(|| SerializedFileReader::new(file))?;
        let metadata = reader.metadata();
        let stated_rows = u64::try_from(metadata.file_metadata().num_rows())
            .map_err(|_| Refusal::of_file("it states a negative number of rows"))?;
        let schema = metadata.file_metadata().schema_descr();
        let (mut columns, mut leaves) = (Columns::default(), Vec::new());
        for (index, descriptor) in schema.columns().iter().enumerate() {
            let parts = descriptor.path().parts();
            let (Some(name), is_nested) = (parts.first(), parts.len() > 1) else { continue };
            let is_list = descriptor.max_rep_level() == 1;
            // Fields of structures have no meaning here.
            if descriptor.max_rep_level() > 1 || (is_nested && !is_list) {
                continue;
            }
            let column = columns.names().len();
            columns.add(name);
            if !is_column(name) {
                continue;
            }
            let kind = LeafKind::of(descriptor);
            let defined = descriptor.max_def_level();
            leaves.push(Leaf { index, column, kind, defined, is_list, reader: None });
        }
        let form = columns.form().map_err(Refusal::of_file)?;
        let mut source = Self {
            reader,
            file: pages,
            columns,
            form,
            leaves,
            stated_rows,
            group: 0,
            left_in_group: 0,
            batch: Batch::default(),
            at: 0,
            done: 0,
        };
        source.check_sizes()?;
        Ok(source)
    }

    /// Refuses columns that unpack to far more than they are packed to.
    fn check_sizes(&mut self) -> Result<(), Refusal> {
        let metadata = self.reader.metadata();
        let mut rows = 0_u64;
        for group in metadata.row_groups() {
            let of_group = u64::try_from(group.num_rows());
            rows = rows.saturating_add(of_group.unwrap_or(u64::MAX));
            for leaf in &self.leaves {
                let Some(chunk) = group.columns().get(leaf.index) else {
                    return Err(Refusal::of_file("it is damaged: a row group lacks a column"));
                };
                let (packed, unpacked) =
                    (size(chunk.compressed_size()), size(chunk.uncompressed_size()));
                let most = largest_unpacked(chunk);
                if unpacked > most {
                    let column = chunk.column_path().string();
                    return Err(Refusal::of_file(format!(
                        "its column {column} unpacks {packed} bytes to {unpacked}, more than {most}: it was made to \
                         exhaust memory, or its row groups are too large"
                    )));
                }
            }
        }
        if rows != self.stated_rows {
            return Err(Refusal::of_file(
                "it is damaged: its row groups have other numbers of rows",
            ));
        }
        Ok(())
    }

    /// The next row with its number.
    pub(super) fn next(&mut self) -> Result<Option<(u64, ParquetRow<'_>, &Columns)>, Refusal> {
        if self.at >= self.batch.rows && !self.read_batch()? {
            return Ok(None);
        }
        self.at += 1;
        self.done += 1;
        let row = ParquetRow { batch: &self.batch, row: self.at - 1 };
        Ok(Some((self.done, row, &self.columns)))
    }

    /// Reads the next rows; false at the end of the file.
    fn read_batch(&mut self) -> Result<bool, Refusal> {
        while self.left_in_group == 0 {
            if self.group >= self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = guarded(|| self.reader.get_row_group(self.group))?;
            self.left_in_group = u64::try_from(group.metadata().num_rows()).unwrap_or_default();
            for leaf in &mut self.leaves {
                if let Some(chunk) = group.metadata().columns().get(leaf.index) {
                    check_chunk(&mut self.file, chunk)?;
                }
                leaf.reader = Some(guarded(|| group.get_column_reader(leaf.index))?);
            }
            self.group += 1;
        }
        let rows = usize::try_from(self.left_in_group).unwrap_or(BATCH).min(BATCH);
        self.batch.rows = rows;
        self.batch.columns.resize_with(self.columns.names().len(), Vec::new);
        for leaf in &mut self.leaves {
            let at_row = |mut refusal: Refusal| {
                refusal.position = Some(RowPosition::Row(self.done + 1));
                refusal
            };
            let values = leaf.read(rows).map_err(at_row)?;
            if values.len() != rows {
                return Err(at_row(Refusal::of_file("it is damaged: a column has too few rows")));
            }
            if let Some(column) = self.batch.columns.get_mut(leaf.column) {
                *column = values;
            }
        }
        self.left_in_group -= u64::try_from(rows).unwrap_or(u64::MAX);
        self.at = 0;
        Ok(true)
    }
}

fn size(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Largest size of a column of a row group after unpacking.
fn largest_unpacked(chunk: &ColumnChunkMetaData) -> u64 {
    let packed = size(chunk.compressed_size());
    let ratio = packed.saturating_mul(assay_input::TextFile::LIMITS.unpacking_ratio);
    ratio.clamp(InputLimits::RATIO_FROM_BYTES, LARGEST_COLUMN)
}

/// Refuses a column of a row group whose pages unpack to far more than they are packed to.
fn check_chunk(file: &mut File, chunk: &ColumnChunkMetaData) -> Result<(), Refusal> {
    let (start, length) = guarded(|| Ok(chunk.byte_range()))?;
    let is_gzip = matches!(chunk.compression(), Compression::GZIP(_));
    let most = largest_unpacked(chunk);
    let problem = match check_pages(file, PagesOfColumn { start, length, most, is_gzip }) {
        Ok(()) => return Ok(()),
        Err(InvalidPages::Damaged) => "it is damaged: a page has no valid header".to_owned(),
        Err(InvalidPages::TooLarge) => format!(
            "the pages of its column {} unpack to more than {most} bytes or than they state: it was made to exhaust \
             memory",
            chunk.column_path().string()
        ),
        Err(InvalidPages::Io(error)) => format!("it cannot be read: {error}"),
    };
    Err(Refusal::of_file(problem))
}

impl LeafKind {
    fn of(descriptor: &ColumnDescriptor) -> Self {
        let physical = descriptor.physical_type();
        let converted = descriptor.converted_type();
        match descriptor.logical_type_ref() {
            Some(LogicalType::Timestamp(time)) => {
                return Self::Time(match time.unit {
                    TimeUnit::MILLIS => Unit::Milliseconds,
                    TimeUnit::MICROS => Unit::Microseconds,
                    TimeUnit::NANOS => Unit::Nanoseconds,
                });
            }
            Some(LogicalType::Float16 | LogicalType::Uuid | LogicalType::Time(_)) => {
                return Self::Other;
            }
            _ => {}
        }
        match (physical, converted) {
            (PhysicalType::BOOLEAN, _) => Self::Boolean,
            (PhysicalType::INT64, ConvertedType::TIMESTAMP_MILLIS) => {
                Self::Time(Unit::Milliseconds)
            }
            (PhysicalType::INT64, ConvertedType::TIMESTAMP_MICROS) => {
                Self::Time(Unit::Microseconds)
            }
            (PhysicalType::INT96, _) => Self::Time(Unit::Nanoseconds),
            (PhysicalType::FLOAT | PhysicalType::DOUBLE, _) => Self::Other,
            (_, ConvertedType::DECIMAL) => match u32::try_from(descriptor.type_scale()) {
                Ok(scale) if scale <= 77 => Self::Decimal(scale),
                _ => Self::Other,
            },
            (
                PhysicalType::INT32 | PhysicalType::INT64,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64,
            ) => Self::Unsigned,
            (
                PhysicalType::INT32 | PhysicalType::INT64,
                ConvertedType::NONE
                | ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::INT_64,
            ) => Self::Signed,
            (
                PhysicalType::BYTE_ARRAY,
                ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON,
            ) => Self::Text,
            (PhysicalType::BYTE_ARRAY, ConvertedType::NONE) => Self::Bytes,
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, ConvertedType::NONE) => Self::Fixed,
            _ => Self::Other,
        }
    }
}

impl Leaf {
    /// Reads the values of so many rows.
    fn read(&mut self, rows: usize) -> Result<Vec<Value>, Refusal> {
        let (kind, defined, is_list) = (self.kind, self.defined, self.is_list);
        let Some(reader) = &mut self.reader else { return Ok(Vec::new()) };
        let shape = Shape { rows, defined, is_list };
        match reader {
            ColumnReader::BoolColumnReader(reader) => shape.read(reader, |value| match kind {
                LeafKind::Boolean => Value::Boolean(value),
                _ => Value::Unreadable,
            }),
            ColumnReader::Int32ColumnReader(reader) => shape.read(reader, |value| {
                integer(kind, value.into(), u64::from(value.cast_unsigned()))
            }),
            ColumnReader::Int64ColumnReader(reader) => {
                shape.read(reader, |value| integer(kind, value, value.cast_unsigned()))
            }
            ColumnReader::Int96ColumnReader(reader) => shape.read(reader, |value: Int96| {
                Timestamp::from_millisecond(value.to_millis())
                    .map_or(Value::Unreadable, Value::Time)
            }),
            ColumnReader::FloatColumnReader(reader) => shape.read(reader, |_| Value::Fraction),
            ColumnReader::DoubleColumnReader(reader) => shape.read(reader, |_| Value::Fraction),
            ColumnReader::ByteArrayColumnReader(reader) => {
                shape.read(reader, |value: ByteArray| match kind {
                    LeafKind::Text => Value::Text(value),
                    LeafKind::Bytes => Value::Bytes(value),
                    LeafKind::Decimal(scale) => big_decimal(value.data(), scale),
                    _ => Value::Unreadable,
                })
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                shape.read(reader, |value: FixedLenByteArray| match kind {
                    LeafKind::Decimal(scale) => big_decimal(value.data(), scale),
                    LeafKind::Fixed => Value::Fixed(value),
                    _ => Value::Unreadable,
                })
            }
        }
    }
}

/// The shape of a column: its number of rows, and how levels tell values, gaps and lists apart.
#[derive(Clone, Copy)]
struct Shape {
    rows: usize,
    defined: i16,
    is_list: bool,
}

impl Shape {
    fn read<T: DataType>(
        self,
        reader: &mut ColumnReaderImpl<T>,
        convert: impl Fn(T::T) -> Value,
    ) -> Result<Vec<Value>, Refusal> {
        let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut done = 0;
        while done < self.rows {
            let (records, _, levels) = guarded(|| {
                reader.read_records(
                    self.rows - done,
                    Some(&mut definitions),
                    Some(&mut repetitions),
                    &mut values,
                )
            })?;
            if records == 0 && levels == 0 {
                break;
            }
            done += records;
        }
        let mut values = values.into_iter().map(convert);
        if self.is_list {
            return Ok(lists(&definitions, &repetitions, self.defined, values));
        }
        if self.defined == 0 {
            return Ok(values.collect());
        }
        let mut value = |level: &i16| {
            if *level == self.defined { values.next() } else { Some(Value::Missing) }
        };
        let found: Option<Vec<_>> = definitions.iter().map(&mut value).collect();
        found.ok_or_else(|| Refusal::of_file("it is damaged: a column has too few values"))
    }
}

/// Lists as texts of their elements with commas.
fn lists(
    definitions: &[i16],
    repetitions: &[i16],
    defined: i16,
    mut values: impl Iterator<Item = Value>,
) -> Vec<Value> {
    let mut lists: Vec<String> = Vec::new();
    for (definition, repetition) in definitions.iter().zip(repetitions) {
        if *repetition == 0 {
            lists.push(String::new());
        }
        if *definition < defined {
            continue;
        }
        let element = match values.next() {
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Text(text)) => String::from_utf8_lossy(text.data()).into_owned(),
            // It is no number of a call.
            _ => "?".to_owned(),
        };
        if let Some(list) = lists.last_mut() {
            if !list.is_empty() {
                list.push(',');
            }
            list.push_str(&element);
        }
    }
    lists.into_iter().map(Value::OwnText).collect()
}

fn integer(kind: LeafKind, signed: i64, unsigned: u64) -> Value {
    match kind {
        LeafKind::Signed => Value::Number(signed.into()),
        LeafKind::Unsigned => Value::Number(unsigned.into()),
        LeafKind::Decimal(scale) => decimal(signed < 0, U256::from(signed.unsigned_abs()), scale),
        LeafKind::Time(unit) => time(unit, signed),
        _ => Value::Unreadable,
    }
}

fn time(unit: Unit, value: i64) -> Value {
    let time = match unit {
        Unit::Milliseconds => Timestamp::from_millisecond(value),
        Unit::Microseconds => Timestamp::from_microsecond(value),
        Unit::Nanoseconds => Timestamp::from_nanosecond(value.into()),
    };
    time.map_or(Value::Unreadable, Value::Time)
}

/// A decimal of big-endian bytes in two's complement.
fn big_decimal(bytes: &[u8], scale: u32) -> Value {
    let is_negative = bytes.first().is_some_and(|first| *first >= 0x80);
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    match U256::try_from_be_slice(bytes.get(zeros..).unwrap_or_default()) {
        Some(digits) => decimal(is_negative, digits, scale),
        None => Value::Unreadable,
    }
}

/// A whole number of `digits` with so many of them after the point.
fn decimal(is_negative: bool, digits: U256, scale: u32) -> Value {
    if is_negative {
        return Value::Number(-1);
    }
    let Some(one) = U256::from(10_u8).checked_pow(U256::from(scale)) else {
        return Value::Unreadable;
    };
    let (whole, fraction) = digits.div_rem(one);
    if fraction.is_zero() { Value::Amount(whole) } else { Value::Fraction }
}

/// Runs a call of the reader, which may panic at a damaged file.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Refusal> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(error)) => Err(Refusal::of_file(format!(
            "it is no readable Parquet file, or it was cut off: {error}"
        ))),
        Err(_) => Err(Refusal::of_file("it is a damaged Parquet file")),
    }
}

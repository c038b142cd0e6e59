//! A text file or standard input, unpacked and decoded while it is read.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
};

use crate::{
    Encoding, FileSelection, InputError, InputLimits, SpoolError, SpooledFile, TextReader,
    files::file_name,
    unpack::{Archive, Packing, START_BYTES},
};

/// Extensions of packed files.
const PACKED: [&str; 7] = ["gz", "gzip", "bz2", "xz", "zst", "zstd", "zip"];

/// Text that a user gives as a file or as standard input, in any encoding, packed or not.
pub struct TextFile {
    /// Path, or "standard input".
    pub origin: String,
    /// Name of the unpacked file, from which its format can be known.
    pub name: String,
    /// Text.
    pub text: TextReader<Box<dyn Read + Send>>,
}

impl TextFile {
    /// Limits of tables that users give: hardly more than the ratio, beyond which no table packs.
    pub const LIMITS: InputLimits =
        InputLimits { file_bytes: u64::MAX, unpacked_bytes: 1 << 40, unpacking_ratio: 200 };

    /// Opens the file at `path`; `-` is standard input, which is read as it arrives unless it is packed. An archive
    /// must have one file, or one with one of the extensions.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or unpacked, or is an archive of several files.
    pub fn open(
        path: &Path,
        extensions: &'static [&'static str],
        encoding: Option<Encoding>,
        limits: InputLimits,
    ) -> Result<Self, InputError> {
        let is_standard = path.as_os_str() == "-";
        let origin =
            if is_standard { "standard input".to_owned() } else { path.display().to_string() };
        let failed = |source| SpoolError { origin: origin.clone(), source };
        let input: Box<dyn Read + Send> = if is_standard {
            Box::new(io::stdin())
        } else {
            let file = File::open(path).map_err(failed)?;
            if file.metadata().map_err(failed)?.is_dir() {
                return Err(failed(io::ErrorKind::IsADirectory.into()).into());
            }
            Box::new(file)
        };
        let mut input = BufReader::new(input);
        let mut start = Vec::new();
        while start.len() < START_BYTES {
            let arrived = input.fill_buf().map_err(failed)?;
            if arrived.is_empty() {
                break;
            }
            let count = arrived.len();
            start.extend_from_slice(arrived);
            input.consume(count);
        }
        let packing = Packing::of(&start);
        let input = Cursor::new(start).chain(input);
        let (name, content) = match packing {
            None => (path.display().to_string(), Box::new(input) as Box<dyn Read + Send>),
            Some(packing) => unpack(packing, input, path, &origin, extensions, limits)?,
        };
        Ok(Self { origin, name, text: TextReader::new(content, encoding) })
    }
}

/// The name and the content of a packed file.
fn unpack(
    packing: Packing,
    input: impl Read,
    path: &Path,
    origin: &str,
    extensions: &'static [&'static str],
    limits: InputLimits,
) -> Result<(String, Box<dyn Read + Send>), InputError> {
    let spooled = SpooledFile::from_reader(input, origin, limits)?;
    if packing == Packing::Zip {
        let selection = FileSelection { extensions, several: false };
        let mut archive = Archive::open(&spooled, limits)?;
        let names = selection.select(origin, archive.names()?)?;
        let name = names.into_iter().next().unwrap_or_default();
        let file = archive.unpack(&name)?;
        return Ok((file_name(&name), Box::new(file)));
    }
    let is_packed =
        |extension: &str| PACKED.iter().any(|packed| extension.eq_ignore_ascii_case(packed));
    let name = match path.extension() {
        Some(extension) if is_packed(&extension.to_string_lossy()) => path.with_extension(""),
        _ => path.to_owned(),
    };
    Ok((name.display().to_string(), spooled.into_content(limits)?))
}

//! The input of a reader: its files, one after another.

use std::io::BufRead;

use assay_input::{Encoding, Files, TextReader};

use super::{FileError, FormatReadError};

/// Input of a reader: one or several files, unpacked, digested and decoded while they are read.
pub struct FormatInput<'a> {
    files: Files,
    encoding: Option<Encoding>,
    progress: &'a dyn Fn(),
}

/// File that a reader reads.
pub struct FormatFile<'a> {
    /// Name without its folder.
    pub name: &'a str,
    /// Content, unpacked, as UTF-8 with line feeds.
    pub content: &'a mut dyn BufRead,
}

impl<'a> FormatInput<'a> {
    /// Input that consists of `files`; `progress` is called after each file.
    #[must_use]
    pub fn new(files: Files, progress: &'a dyn Fn()) -> Self {
        Self { files, encoding: None, progress }
    }

    /// Declares the encoding of files without a byte order mark.
    #[must_use]
    pub const fn with_encoding(mut self, encoding: Option<Encoding>) -> Self {
        self.encoding = encoding;
        self
    }

    /// Reads the first file, which is the only one of a format that selects one file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or `read` refuses it.
    pub fn read_one<T>(
        &mut self,
        read: impl FnOnce(FormatFile<'_>) -> Result<T, FileError>,
    ) -> Result<T, FormatReadError> {
        self.read_next(read).unwrap_or(Err(FormatReadError::NoFile))
    }

    /// Reads every file, in the order of their names.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read, or `read` refuses it.
    pub fn read_each<T, C: FromIterator<T>>(
        &mut self,
        mut read: impl FnMut(FormatFile<'_>) -> Result<T, FileError>,
    ) -> Result<C, FormatReadError> {
        std::iter::from_fn(|| self.read_next(&mut read)).collect()
    }

    fn read_next<T>(
        &mut self,
        read: impl FnOnce(FormatFile<'_>) -> Result<T, FileError>,
    ) -> Option<Result<T, FormatReadError>> {
        let encoding = self.encoding;
        let outcome = self.files.read_next(|name, content| {
            let mut content = TextReader::new(content, encoding);
            read(FormatFile { name, content: &mut content })
                .map_err(|source| FormatReadError::File { file: name.to_owned(), source })
        });
        if outcome.is_some() {
            (self.progress)();
        }
        outcome.map(|outcome| outcome.map_err(|error| self.with_archive(error)))
    }

    /// Names the archive of a file before the file.
    fn with_archive(&self, error: FormatReadError) -> FormatReadError {
        match (error, self.files.packed().last()) {
            (FormatReadError::File { file, source }, Some(packed)) if packed.name != file => {
                FormatReadError::File { file: format!("{}: {file}", packed.name), source }
            }
            (error, _) => error,
        }
    }

    /// The files, with the digests of those that were read.
    #[must_use]
    pub const fn files(&self) -> &Files {
        &self.files
    }
}

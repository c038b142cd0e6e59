//! The files of an input: a file, the files of a folder, or the files of a zip archive.

use std::{
    collections::VecDeque,
    fs, io,
    io::Read,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    DigestReader, InputError, InputLimits, SpoolError, SpooledFile, binary, unpack::Archive,
};

/// Rule that selects the files of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSelection {
    /// Extensions of the files in a folder or an archive, in lower case and without a dot. A file that is given
    /// directly may have any extension.
    pub extensions: &'static [&'static str],
    /// True if an input may have several files, which are read in the order of their names.
    pub several: bool,
}

impl FileSelection {
    fn matches(&self, name: &str) -> bool {
        let extension = Path::new(name).extension().unwrap_or_default();
        self.extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
    }

    /// Checks that a folder has a file.
    fn check(&self, origin: &str, found: &[PathBuf]) -> Result<(), InputError> {
        if found.is_empty() {
            return Err(self.refused(origin, format!("no {} file", self.extensions())));
        }
        Ok(())
    }

    /// Selects the files of an archive with these names, which are sorted. Files that programs add unasked do not
    /// count. An input of one file takes the only file whatever its extension is; beside one file with the right
    /// extension, other files must be texts about it.
    ///
    /// # Errors
    ///
    /// Returns an error that names the files if there is none, or if it is not clear which one is meant.
    pub(crate) fn select(
        &self,
        origin: &str,
        names: Vec<String>,
    ) -> Result<VecDeque<String>, InputError> {
        // A workbook of the list of a publisher is read by its parts.
        let takes_parts = self.several && self.extensions.contains(&"xml");
        if let Some(document) = binary::document(&names).filter(|_| !takes_parts) {
            return Err(InputError::Document { origin: origin.to_owned(), document });
        }
        let files: Vec<String> = names.into_iter().filter(|name| !is_added(name)).collect();
        let selected: VecDeque<String> =
            files.iter().filter(|name| self.matches(name)).cloned().collect();
        if self.several && !selected.is_empty() {
            return Ok(selected);
        }
        match (files.as_slice(), selected.len()) {
            ([only], _) if !self.several => return Ok([only.clone()].into()),
            (files, 1) if files.iter().all(|name| self.matches(name) || is_about(name)) => {
                return Ok(selected);
            }
            _ => {}
        }
        let found = match (files.len(), selected.len()) {
            (0, _) => "no file".to_owned(),
            (_, 0) => format!("no {} file, but {}", self.extensions(), shown(&files)),
            (count, _) => format!("{count} files: {}", shown(&files)),
        };
        Err(self.refused(origin, found))
    }

    /// The extensions as a text, such as "`.yaml` or `.yml`".
    fn extensions(&self) -> String {
        let extensions: Vec<_> =
            self.extensions.iter().map(|extension| format!("`.{extension}`")).collect();
        extensions.join(" or ")
    }

    fn refused(&self, origin: &str, found: String) -> InputError {
        let expected =
            if self.several { "at least one" } else { "exactly one; unpack the file to read" };
        InputError::Selection { origin: origin.to_owned(), found, expected }
    }
}

/// Largest number of names in a message.
const NAMES_SHOWN: usize = 5;

fn shown(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(NAMES_SHOWN).map(|name| name.escape_debug().to_string()).collect();
    let rest = names.len().saturating_sub(NAMES_SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// True for folders, and for files that a system adds to archives for itself.
fn is_added(path: &str) -> bool {
    let name = file_name(path);
    let folders = path.split(['/', '\\']);
    name.is_empty()
        || name.starts_with("._")
        || [".DS_Store", "Thumbs.db", "desktop.ini", "Icon\r"].contains(&&*name)
        || folders.into_iter().any(|folder| folder == "__MACOSX")
}

/// True for files that describe another file: schemas, checksums, signatures, licenses.
fn is_about(path: &str) -> bool {
    let name = file_name(path).to_ascii_lowercase();
    let stems = ["readme", "read me", "license", "licence", "notice", "terms", "changelog"];
    let extensions = ["xsd", "dtd", "xsl", "md", "pdf", "sha256", "md5", "sig", "asc"];
    let extension = Path::new(&name).extension().unwrap_or_default();
    stems.iter().any(|stem| name.starts_with(stem))
        || extensions.iter().any(|about| extension == *about)
}

/// A file to be read.
#[derive(Debug)]
enum PendingFile {
    Path(PathBuf),
    Spooled(String, SpooledFile),
}

/// Name and digest of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDigest {
    /// Name without the folder.
    pub name: String,
    /// SHA-256 in hexadecimal.
    pub digest: String,
}

/// Files of an input, spooled, unpacked and digested one after another.
pub struct Files {
    selection: FileSelection,
    limits: InputLimits,
    pending: VecDeque<PendingFile>,
    /// The archive that is being read, and the names of its entries that are not read yet.
    archive: Option<(Archive, VecDeque<String>)>,
    /// Files and archives that were opened, before unpacking.
    packed: Vec<FileDigest>,
    /// Files that were read, after unpacking.
    read: Vec<FileDigest>,
}

impl Files {
    /// Opens the file at `path`, or the selected files of the folder at `path` and of its subfolders, without hidden
    /// ones: a checkout is read like its archive.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be read or holds no selected file.
    pub fn from_path(
        path: &Path,
        selection: FileSelection,
        limits: InputLimits,
    ) -> Result<Self, InputError> {
        if !(selection.several && path.is_dir()) {
            return Ok(Self::new([PendingFile::Path(path.to_owned())], selection, limits));
        }
        let origin = path.display().to_string();
        let failed = |source: io::Error| SpoolError { origin: origin.clone(), source };
        let mut paths = Vec::new();
        collect_files(path, selection, 0, &mut paths).map_err(failed)?;
        selection.check(&origin, &paths)?;
        paths.sort();
        Ok(Self::new(paths.into_iter().map(PendingFile::Path), selection, limits))
    }

    /// Uses one file that was spooled before, such as a download.
    #[must_use]
    pub fn spooled(
        name: &str,
        spooled: SpooledFile,
        selection: FileSelection,
        limits: InputLimits,
    ) -> Self {
        Self::new([PendingFile::Spooled(name.to_owned(), spooled)], selection, limits)
    }

    fn new(
        pending: impl IntoIterator<Item = PendingFile>,
        selection: FileSelection,
        limits: InputLimits,
    ) -> Self {
        let pending = pending.into_iter().collect();
        Self { selection, limits, pending, archive: None, packed: Vec::new(), read: Vec::new() }
    }

    /// Passes the name and the content of the next file to `read`; `None` after the last one.
    pub fn read_next<T, E: From<InputError>>(
        &mut self,
        read: impl FnOnce(&str, &mut dyn Read) -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        self.try_read_next(read).transpose()
    }

    fn try_read_next<T, E: From<InputError>>(
        &mut self,
        read: impl FnOnce(&str, &mut dyn Read) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        if let Some((archive, names)) = &mut self.archive
            && let Some(entry) = names.pop_front()
        {
            let origin = archive.origin().to_owned();
            let name = file_name(&entry);
            let read = |content: &mut dyn Read| read_digested(&origin, &name, content, read);
            let (outcome, file) = archive.read(&entry, read)??;
            self.read.push(file);
            return Ok(Some(outcome));
        }
        let (name, spooled) = match self.pending.pop_front() {
            None => return Ok(None),
            Some(PendingFile::Spooled(name, spooled)) => (name, spooled),
            Some(PendingFile::Path(path)) => {
                let spooled =
                    SpooledFile::from_file(&path, self.limits).map_err(InputError::from)?;
                (file_name(&path.to_string_lossy()), spooled)
            }
        };
        let digest = spooled.digest().to_owned();
        self.packed.push(FileDigest { name: name.clone(), digest });
        if spooled.is_archive().map_err(InputError::from)? {
            self.open(&spooled)?;
            return self.try_read_next(read);
        }
        let origin = spooled.origin();
        let read = |content: &mut dyn Read| read_digested(origin, &name, content, read);
        let (outcome, file) = spooled.unpack(self.limits, read).map_err(InputError::from)??;
        self.read.push(file);
        Ok(Some(outcome))
    }

    fn open(&mut self, spooled: &SpooledFile) -> Result<(), InputError> {
        let archive = Archive::open(spooled, self.limits)?;
        let names = self.selection.select(archive.origin(), archive.names()?)?;
        self.archive = Some((archive, names));
        Ok(())
    }

    /// Files and archives that were opened, each with the digest of its content before unpacking.
    #[must_use]
    pub fn packed(&self) -> &[FileDigest] {
        &self.packed
    }

    /// Files that were read, each with the digest of its content after unpacking.
    #[must_use]
    pub fn read(&self) -> &[FileDigest] {
        &self.read
    }

    /// SHA-256 of the input before unpacking: of the file, or of the digests of several files.
    #[must_use]
    pub fn file_digest(&self) -> String {
        combined_digest(&self.packed)
    }

    /// SHA-256 of the input after unpacking: of the file, or of the digests of several files.
    #[must_use]
    pub fn content_digest(&self) -> String {
        combined_digest(&self.read)
    }
}

/// Largest depth of folders that are read.
const MAX_DEPTH: usize = 8;

/// Adds the selected files of a folder and of its subfolders.
fn collect_files(
    folder: &Path,
    selection: FileSelection,
    depth: usize,
    paths: &mut Vec<PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // A link to a folder could lead back to it.
        if entry.file_type()?.is_dir() {
            if depth < MAX_DEPTH && !entry.file_name().to_string_lossy().starts_with('.') {
                collect_files(&path, selection, depth + 1, paths)?;
            }
        } else if path.is_file() && selection.matches(&path.to_string_lossy()) {
            paths.push(path);
        }
    }
    Ok(())
}

/// Passes the content of a file to `read` and computes its digest.
fn read_digested<T, E: From<InputError>>(
    origin: &str,
    name: &str,
    content: &mut dyn Read,
    read: impl FnOnce(&str, &mut dyn Read) -> Result<T, E>,
) -> Result<(T, FileDigest), E> {
    let mut content = DigestReader::new(content);
    let outcome = read(name, &mut content)?;
    let digest = content
        .finish()
        .map_err(|source| InputError::from(SpoolError { origin: origin.to_owned(), source }))?;
    Ok((outcome, FileDigest { name: name.to_owned(), digest }))
}

fn combined_digest(files: &[FileDigest]) -> String {
    if let [file] = files {
        return file.digest.clone();
    }
    let mut hash = Sha256::new();
    for file in files {
        hash.update(format!("{}\0{}\n", file.name, file.digest));
    }
    hex::encode(hash.finalize())
}

/// The name of a file without its folder.
pub(crate) fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const YAML: FileSelection = FileSelection { extensions: &["yaml", "yml"], several: true };
    const ONE_CSV: FileSelection = FileSelection { extensions: &["csv"], several: false };

    /// A zip archive of files.
    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, content) in files {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(content).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn spooled(bytes: &[u8], selection: FileSelection, limits: InputLimits) -> Files {
        let spooled = SpooledFile::from_reader(bytes, "the input", limits).unwrap();
        Files::spooled("input", spooled, selection, limits)
    }

    /// Reads everything as `name=content`.
    fn all(files: &mut Files) -> Result<Vec<String>, InputError> {
        std::iter::from_fn(|| {
            files.read_next(|name, content| {
                let mut text = String::new();
                content.read_to_string(&mut text).map_err(|source| {
                    InputError::from(SpoolError { origin: name.to_owned(), source })
                })?;
                Ok(format!("{name}={text}"))
            })
        })
        .collect()
    }

    #[test]
    fn a_folder_is_read_by_name_without_other_files() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [("b.YML", "2"), ("a.yaml", "1"), ("c.txt", "3"), ("d", "4")] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        fs::create_dir(folder.path().join("e.yaml")).unwrap();
        for hidden in [".git", "packs"] {
            fs::create_dir(folder.path().join(hidden)).unwrap();
            fs::write(folder.path().join(hidden).join("f.yaml"), hidden).unwrap();
        }
        let mut files = Files::from_path(folder.path(), YAML, InputLimits::default()).unwrap();
        assert_eq!(all(&mut files).unwrap(), ["a.yaml=1", "b.YML=2", "f.yaml=packs"]);
        let names: Vec<_> = files.read().iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["a.yaml", "b.YML", "f.yaml"]);

        let nothing = Files::from_path(&folder.path().join("e.yaml"), YAML, InputLimits::default());
        let error = nothing.err().unwrap().to_string();
        assert!(error.ends_with("e.yaml holds no `.yaml` or `.yml` file: expected at least one"));
        let mut single = Files::from_path(folder.path(), ONE_CSV, InputLimits::default()).unwrap();
        assert!(all(&mut single).unwrap_err().to_string().ends_with("is a directory"));
    }

    #[test]
    fn an_archive_is_its_files() {
        let bytes = archive(&[("x/b.yaml", b"2"), ("readme.txt", b"no"), ("x/a.yml", b"1")]);
        let limits = InputLimits::default();
        let mut files = spooled(&bytes, YAML, limits);
        assert_eq!(all(&mut files).unwrap(), ["a.yml=1", "b.yaml=2"]);

        let two = archive(&[("a.csv", b"1"), ("b.CSV", b"2")]);
        let none = "no `.csv` file, but readme.txt, x/a.yml, x/b.yaml";
        let beside = archive(&[("a.csv", b"1"), ("b.txt", b"2")]);
        for (bytes, found) in [
            (bytes, none),
            (two, "2 files: a.csv, b.CSV"),
            (beside, "2 files: a.csv, b.txt"),
            (archive(&[("__MACOSX/._a.csv", b"1")]), "no file"),
        ] {
            let error = all(&mut spooled(&bytes, ONE_CSV, limits)).unwrap_err().to_string();
            let expected = "expected exactly one; unpack the file to read";
            assert_eq!(error, format!("the input holds {found}: {expected}"));
        }
        let damaged = all(&mut spooled(b"PK\x03\x04", ONE_CSV, limits)).unwrap_err().to_string();
        assert!(damaged.starts_with("the input is not a readable zip archive: "), "{damaged}");
    }

    #[test]
    fn files_that_programs_add_to_archives_do_not_count() {
        let added: [(&str, &[u8]); 5] = [
            ("__MACOSX/x/._list.csv", b"binary"),
            ("x/.DS_Store", b"binary"),
            ("x/._list.csv", b"binary"),
            ("Thumbs.db", b"binary"),
            ("README.txt", b"text"),
        ];
        let bytes = archive(&[&added[..], &[("x/list.csv", b"1")]].concat());
        let mut files = spooled(&bytes, ONE_CSV, InputLimits::default());
        assert_eq!(all(&mut files).unwrap(), ["list.csv=1"]);
        let only = archive(&[&added[..4], &[("list.txt", b"1")]].concat());
        let mut files = spooled(&only, ONE_CSV, InputLimits::default());
        assert_eq!(all(&mut files).unwrap(), ["list.txt=1"]);
    }

    #[test]
    fn an_archive_that_is_not_unpacked_is_told() {
        let content = |method: zip::CompressionMethod| {
            let mut archive = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
            let options = zip::write::SimpleFileOptions::default().compression_method(method);
            archive.start_file("a.csv", options).unwrap();
            archive.write_all(b"1").unwrap();
            archive.finish().unwrap().into_inner()
        };
        let read = |bytes: &[u8]| all(&mut spooled(bytes, ONE_CSV, InputLimits::default()));
        for method in [zip::CompressionMethod::Bzip2, zip::CompressionMethod::Zstd] {
            assert_eq!(read(&content(method)).unwrap(), ["a.csv=1"]);
        }
        let stored = content(zip::CompressionMethod::Stored);
        let central = stored.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        let with = |flag: usize, value: u8| {
            let mut bytes = stored.clone();
            bytes[flag] = value;
            bytes[central + flag + 2] = value;
            read(&bytes).unwrap_err().to_string()
        };
        assert_eq!(with(6, 1), "the input is encrypted with a password: unpack it first");
        let other = with(8, 9);
        assert!(
            other.starts_with("the input is packed by a method that is not supported"),
            "{other}"
        );
    }

    #[test]
    fn a_document_is_no_archive_of_files() {
        for (names, kind) in [
            (["[Content_Types].xml", "xl/workbook.xml"], "an Excel workbook"),
            (["mimetype", "META-INF/manifest.xml"], "an OpenDocument file such as .ods"),
            (["[Content_Types].xml", "word/document.xml"], "a Word document"),
        ] {
            let bytes = archive(&names.map(|name| (name, &b"x"[..])));
            let mut files = spooled(&bytes, ONE_CSV, InputLimits::default());
            let error = all(&mut files).unwrap_err().to_string();
            assert_eq!(error, format!("the input is {kind}: save its table as CSV (UTF-8)"));
        }
    }

    #[test]
    fn the_files_of_an_archive_share_one_limit() {
        let content = vec![b'x'; 600];
        let bytes = archive(&[("a.yaml", &content), ("b.yaml", &content)]);
        let limits = InputLimits { unpacked_bytes: 1000, ..InputLimits::default() };
        let mut files = spooled(&bytes, YAML, limits);
        let error = all(&mut files).unwrap_err().to_string();
        assert_eq!(error, "failed to read b.yaml: the unpacked content is larger than 1000 bytes");
        assert_eq!(files.read().len(), 1);
    }

    #[test]
    fn a_file_has_the_same_digest_packed_or_not() {
        let limits = InputLimits::default();
        let digests = |bytes: &[u8]| {
            let mut files = spooled(bytes, ONE_CSV, limits);
            all(&mut files).unwrap();
            (files.file_digest(), files.content_digest())
        };
        let plain = digests(b"1");
        assert_eq!(plain.0, plain.1);
        let packed = digests(&archive(&[("a.csv", b"1")]));
        assert_eq!(packed.1, plain.1);
        assert_ne!(packed.0, plain.0);
    }

    #[test]
    fn content_that_is_left_unread_is_digested_too() {
        let mut files = spooled(b"one\ntwo", ONE_CSV, InputLimits::default());
        let skip = |_: &str, _: &mut dyn Read| Ok::<_, InputError>(());
        files.read_next(skip).unwrap().unwrap();
        let digest = hex::encode(Sha256::digest(b"one\ntwo"));
        assert_eq!(files.read()[0].digest, digest);
        assert!(files.read_next(skip).is_none());
    }
}

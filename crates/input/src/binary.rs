//! Files that are no text, recognized by their first bytes or by the names in a zip archive, each with a mend.

/// A kind of file that is no text.
#[derive(Debug, PartialEq, Eq)]
pub struct BinaryFile {
    /// The kind with its article, such as "a PDF document".
    pub name: &'static str,
    /// Advice how to make a text of it.
    pub mend: &'static str,
}

const SAVE: &str = "save its table as CSV (UTF-8)";
const UNPACK: &str = "unpack it first";
const UNPACK_ONCE: &str = "it is packed twice; unpack it once";
const PACK_AGAIN: &str = "pack the file again";

macro_rules! kinds {
    ($($offset:literal $magic:literal $name:literal $mend:ident;)+) => {
        &[$(($offset, $magic, BinaryFile { name: $name, mend: $mend })),+]
    };
}

/// Offset and first bytes of each kind.
static KINDS: &[(usize, &[u8], BinaryFile)] = kinds! {
    0 b"PK\x03\x04" "a zip archive or a document such as .xlsx inside another archive" UNPACK_ONCE;
    0 b"PK\x05\x06" "a zip archive without files" PACK_AGAIN;
    0 b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" "an Office document such as .xls, or one with a password" SAVE;
    0 b"%PDF-" "a PDF document" SAVE;
    0 b"{\\rtf" "an RTF document" SAVE;
    0 b"7z\xBC\xAF\x27\x1C" "a 7-Zip archive" UNPACK;
    0 b"Rar!\x1A\x07" "a RAR archive" UNPACK;
    0 b"\x1F\x8B" "a gzip file inside another archive" UNPACK_ONCE;
    0 b"\xFD7zXZ\0" "an xz file inside another archive" UNPACK_ONCE;
    0 b"\x28\xB5\x2F\xFD" "a zstd file inside another archive" UNPACK_ONCE;
    0 b"\x1F\x9D" "a file packed by compress (.Z)" UNPACK;
    0 b"\x04\x22\x4D\x18" "an LZ4 file" UNPACK;
    0 b"\x5D\0\0\x80\0\xFF" "an LZMA file" UNPACK;
    0 b"\x5D\0\0\x10\0\xFF" "an LZMA file" UNPACK;
    0 b"LZIP\x01" "an lzip file" UNPACK;
    257 b"ustar" "a tar archive" UNPACK;
    0 b"SQLite format 3\0" "a SQLite database" SAVE;
    0 b"PAR1" "a Parquet file" SAVE;
    0 b"\x89PNG\r\n\x1A\n" "a picture (PNG)" SAVE;
    0 b"\xFF\xD8\xFF" "a picture (JPEG)" SAVE;
    0 b"GIF8" "a picture (GIF)" SAVE;
    0 b"II*\0" "a picture (TIFF)" SAVE;
    0 b"MM\0*" "a picture (TIFF)" SAVE;
    0 b"bplist00" "a property list" SAVE;
    0 b"\x7FELF" "a program" SAVE;
};

static BZIP2: BinaryFile =
    BinaryFile { name: "a bzip2 file inside another archive", mend: UNPACK_ONCE };
static WEB_PAGE: BinaryFile = BinaryFile {
    name: "a web page, such as a login page or a table that a program saved as .xls",
    mend: SAVE,
};

/// The kind of a file that begins with `start`; `None` for a text.
pub(crate) fn kind(start: &[u8]) -> Option<&'static BinaryFile> {
    let is = |offset: usize, magic: &[u8]| {
        start.get(offset..).is_some_and(|rest| rest.starts_with(magic))
    };
    let found = KINDS.iter().find(|(offset, magic, _)| is(*offset, magic)).map(|(_, _, file)| file);
    let text = start.trim_ascii_start();
    let begins =
        |tag: &[u8]| text.get(..tag.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(tag));
    found
        .or_else(|| crate::unpack::is_bzip2(start).then_some(&BZIP2))
        .or_else(|| (begins(b"<!doctype html") || begins(b"<html")).then_some(&WEB_PAGE))
}

macro_rules! documents {
    ($($folder:literal $name:literal;)+) => {
        &[$(($folder, BinaryFile { name: $name, mend: SAVE })),+]
    };
}

/// Folder or file of each kind of document that is a zip archive.
static DOCUMENTS: &[(&str, BinaryFile)] = documents! {
    "xl/" "an Excel workbook";
    "word/" "a Word document";
    "ppt/" "a PowerPoint document";
    "META-INF/manifest.xml" "an OpenDocument file such as .ods";
    "Index/Document.iwa" "an Apple Numbers or Pages document";
};

/// The kind of a document that is a zip archive with these names; `None` for an archive of files.
pub(crate) fn document(names: &[String]) -> Option<&'static BinaryFile> {
    let marks = ["[Content_Types].xml", "mimetype", "Index/Document.iwa"];
    if !names.iter().any(|name| marks.contains(&&**name)) {
        return None;
    }
    let found = DOCUMENTS.iter().find(|(mark, _)| names.iter().any(|name| name.starts_with(mark)));
    found.map(|(_, file)| file)
}

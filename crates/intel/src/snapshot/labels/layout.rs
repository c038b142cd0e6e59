//! Layout of a label index as bytes: a head, and sections of records of fixed sizes. All numbers are little-endian.
//!
//! | bytes | head |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 4 | [`VERSION`] |
//! | 8 | XXH3 of everything after it |
//! | 32 | revision of the labels |
//! | 8 each | lengths of the sections, in the order of [`Section`] |

use std::ops::Range;

use assay_store::intel::LabelRevision;
use xxhash_rust::xxh3::xxh3_64;

/// First bytes of an index.
const MAGIC: [u8; 8] = *b"assaylbl";
/// Version of the layout, of the records and of the hashes in them: those of addresses, of their keys and of their ends.
const VERSION: u32 = 2;
/// Number of sections.
const SECTIONS: usize = 10;
/// Length of the head.
const HEAD: usize = 8 + 4 + 8 + 32 + 8 * SECTIONS;

/// Section of an index.
#[derive(Clone, Copy, Debug)]
pub(super) enum Section {
    /// The chains, categories, tiers, sources and lists of the labels, as JSON.
    Vocabulary,
    /// The labelled addresses: an [`super::record::AddressRecord`] each.
    Addresses,
    /// The canonical texts of the addresses, one after the other.
    AddressTexts,
    /// Numbers of labels of 4 bytes, those of one address together.
    Claims,
    /// Every distinct label: a [`super::record::LabelRecord`] each.
    Labels,
    /// The distinct texts of labels: of each, the beginning among the texts, of 8 bytes.
    TextStarts,
    /// The distinct texts of labels, one after the other.
    Texts,
    /// Hash of an address and number of the address; sorted.
    ByAddress,
    /// Hash of a key identity and number of an address; sorted.
    ByKey,
    /// Hash of the visible ends of an address and number of the address; sorted.
    ByEnds,
}

/// Reason for which bytes are not a label index of this program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LabelIndexError {
    /// Other bytes.
    #[error("it does not begin as a label index does")]
    Foreign,
    /// An index of another version of the program.
    #[error(
        "it has version {found} of the layout of label indexes, and this program needs {VERSION}"
    )]
    OtherVersion {
        /// Version of the layout.
        found: u32,
    },
    /// Bytes are missing or superfluous.
    #[error("it has {found} bytes of {expected}")]
    Length {
        /// Number of bytes.
        found: u64,
        /// Number of bytes by its head.
        expected: u64,
    },
    /// Bytes have changed.
    #[error("its checksum is wrong")]
    Checksum,
    /// Words that this program does not know.
    #[error("its vocabulary is not that of this program: {0}")]
    Vocabulary(String),
}

/// Places of the sections in the bytes of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout([Range<usize>; SECTIONS]);

impl Default for Layout {
    /// The layout of no bytes.
    fn default() -> Self {
        Self([const { 0..0 }; SECTIONS])
    }
}

impl Layout {
    /// Joins sections to the bytes of an index.
    pub(super) fn join(
        revision: &LabelRevision,
        sections: &[Vec<u8>; SECTIONS],
    ) -> (Self, Vec<u8>) {
        let mut checked = revision.to_vec();
        for section in sections {
            checked.extend((section.len() as u64).to_le_bytes());
        }
        checked.extend(sections.iter().flatten());
        let head = [&MAGIC[..], &VERSION.to_le_bytes(), &xxh3_64(&checked).to_le_bytes()];
        let mut bytes = head.concat();
        bytes.append(&mut checked);
        let mut end = HEAD;
        let places = sections.each_ref().map(|section| {
            let start = end;
            end += section.len();
            start..end
        });
        (Self(places), bytes)
    }

    /// The revision in the head of an index, which need not be whole; `None` if the bytes are no index of this version.
    pub(super) fn revision_of(bytes: &[u8]) -> Option<LabelRevision> {
        let mut rest = bytes;
        let (magic, version) = (take::<8>(&mut rest)?, take(&mut rest)?);
        let _checksum: [u8; 8] = take(&mut rest)?;
        let is_ours = magic == MAGIC && u32::from_le_bytes(version) == VERSION;
        take(&mut rest).filter(|_| is_ours)
    }

    /// Reads and checks the head and the checksum of an index. Returns the layout and the revision of the labels.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, LabelRevision), LabelIndexError> {
        let mut rest = bytes;
        if take::<8>(&mut rest) != Some(MAGIC) {
            return Err(LabelIndexError::Foreign);
        }
        let too_short =
            || LabelIndexError::Length { found: bytes.len() as u64, expected: HEAD as u64 };
        let version = u32::from_le_bytes(take(&mut rest).ok_or_else(too_short)?);
        if version != VERSION {
            return Err(LabelIndexError::OtherVersion { found: version });
        }
        let checksum = u64::from_le_bytes(take(&mut rest).ok_or_else(too_short)?);
        let checked = rest;
        let revision = take(&mut rest).ok_or_else(too_short)?;
        let (mut places, mut end) = (Self::default(), HEAD as u64);
        for place in &mut places.0 {
            let length = u64::from_le_bytes(take(&mut rest).ok_or_else(too_short)?);
            let start = end;
            end = end.saturating_add(length);
            let index = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
            *place = index(start)..index(end);
        }
        if end != bytes.len() as u64 {
            return Err(LabelIndexError::Length { found: bytes.len() as u64, expected: end });
        }
        if xxh3_64(checked) != checksum {
            return Err(LabelIndexError::Checksum);
        }
        Ok((places, revision))
    }

    /// The bytes of a section.
    pub(super) fn section<'b>(&self, section: Section, bytes: &'b [u8]) -> &'b [u8] {
        let place = self.0.get(section as usize).cloned();
        place.and_then(|place| bytes.get(place)).unwrap_or_default()
    }
}

/// The next bytes, which are taken away; `None` if there are fewer.
pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> (Layout, Vec<u8>) {
        let mut sections = [const { Vec::new() }; SECTIONS];
        sections[Section::Vocabulary as usize] = b"{}".to_vec();
        sections[Section::ByEnds as usize] = vec![7; 300];
        Layout::join(&[9; 32], &sections)
    }

    #[test]
    fn sections_are_read_as_they_were_joined() {
        let (layout, bytes) = sample();
        assert_eq!(Layout::read(&bytes), Ok((layout.clone(), [9; 32])));
        assert_eq!(Layout::revision_of(&bytes), Some([9; 32]));
        assert_eq!(layout.section(Section::Vocabulary, &bytes), b"{}");
        assert_eq!(layout.section(Section::Claims, &bytes), b"");
        assert_eq!(layout.section(Section::ByEnds, &bytes), [7; 300]);
    }

    #[test]
    fn an_index_of_another_version_is_refused_by_its_version() {
        let (_, mut bytes) = sample();
        bytes[8] = 200;
        assert_eq!(Layout::revision_of(&bytes), None);
        assert_eq!(Layout::read(&bytes), Err(LabelIndexError::OtherVersion { found: 200 }));
        assert_eq!(Layout::read(b"something else"), Err(LabelIndexError::Foreign));
    }

    proptest! {
        #[test]
        fn every_flipped_bit_and_every_cut_is_found(at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let (_, bytes) = sample();
            let at = at.index(bytes.len());
            let mut flipped = bytes.clone();
            flipped[at] ^= 1_u8 << bit;
            prop_assert!(Layout::read(&flipped).is_err());
            prop_assert!(Layout::read(&bytes[..at]).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
            let head = [&MAGIC[..], &VERSION.to_le_bytes(), &bytes].concat();
            prop_assert!(Layout::read(&bytes).is_err() && Layout::read(&head).is_err());
        }
    }
}

//! Format `tagpack`: GraphSense TagPacks, YAML files with a header whose fields every tag inherits.

mod fields;
mod tag;
mod terms;
#[cfg(test)]
mod tests;

use std::{fmt, io::BufRead};

use assay_engine::names::SourceId;
use assay_input::{FileSelection, text::LONGEST_LINE};
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Options, Spanned};

use self::fields::{Fields, Tag};
pub use self::terms::{CONFIDENCES, ConfidenceTerm, TERMS};
use super::{FileError, Format, FormatReader};
use crate::{
    labels::{LabelSet, collect::LabelCollector, text},
    listings::Rejected,
};

/// GraphSense TagPacks.
pub static FORMAT: Format = Format {
    id: "tagpack",
    short_id: None,
    title: "GraphSense TagPacks (YAML): a file, or a checkout or archive of them",
    files: FileSelection { extensions: &["yaml", "yml"], several: true },
    options: &[],
    default_source: None,
    terms: Some(&TERMS),
    reader: FormatReader::Labels(|input, context| {
        input.read_each(|file| match read(file.content, file.name, context.source) {
            // A checkout has other YAML files too.
            Err(FileError::Syntax { reason, .. }) if reason == NO_TAGS => {
                let position = file.name.to_owned();
                let reason = format!("left out: {NO_TAGS}");
                Ok(LabelSet {
                    rejected: vec![Rejected { position, reason }],
                    ..LabelSet::default()
                })
            }
            outcome => outcome,
        })
    }),
};

const NO_TAGS: &str = "it has no list of `tags`";

/// Limit of the events of the YAML parser, beyond those of [`text::MAX_HELD_BYTES`] bytes of tags.
const MAX_EVENTS: usize = 16 * 1024 * 1024;
/// Limit of the nesting of a pack. Tags are the third level.
const MAX_DEPTH: usize = 16;
/// Limits of YAML aliases, which packs use to repeat a text: without limits, a small file could expand to
/// a huge one.
const MAX_ALIASES: usize = 10_000;
const MAX_ALIASED_EVENTS: usize = 100_000;

/// Reads the TagPack in a file as labels of `source`.
///
/// # Errors
///
/// Returns an error if the file is not UTF-8, too large, no YAML or no TagPack.
pub fn read(input: impl BufRead, file: &str, source: &SourceId) -> Result<LabelSet, FileError> {
    let text = text::read_whole(input, text::MAX_HELD_BYTES, Some(LONGEST_LINE))?;
    let mut pack = Pack::new(file, source, Fields::default());
    pack.read(&text)?;
    if pack.header_after_tags {
        // Rare: some header fields follow the tags that inherit them. A second pass is cheaper than holding
        // the tags of every pack until its end.
        pack = Pack::new(file, source, pack.header);
        pack.read(&text)?;
    }
    Ok(pack.collector.finish())
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: MAX_EVENTS,
            max_nodes: MAX_EVENTS,
            max_depth: MAX_DEPTH,
            max_aliases: MAX_ALIASES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_ALIASED_EVENTS,
        },
        with_snippet: false,
        emit_comments: false,
    }
}

/// TagPack while it is read. Tags become labels one by one and are not held.
struct Pack<'a> {
    header: Fields,
    tags: Option<u64>,
    header_after_tags: bool,
    collector: LabelCollector<'a>,
    /// Error of a tag, kept in this struct because the YAML reader passes on only errors of its own type.
    error: Option<FileError>,
}

impl<'a> Pack<'a> {
    fn new(file: &'a str, source: &'a SourceId, header: Fields) -> Self {
        Self {
            header,
            tags: None,
            header_after_tags: false,
            collector: LabelCollector::new(file, source),
            error: None,
        }
    }

    fn read(&mut self, text: &str) -> Result<(), FileError> {
        let outcome =
            serde_saphyr::with_deserializer_from_str_with_options(text, options(), |yaml| {
                yaml.deserialize_map(PackVisitor(self))
            });
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let broken = |line, reason| FileError::Syntax { line, format: "a TagPack", reason };
        outcome.map_err(|error| {
            let line = error.location().map_or(1, |location| location.line());
            broken(line, fields::reason(&error.without_snippet().to_string()))
        })?;
        if self.tags.is_none() {
            return Err(broken(1, NO_TAGS.into()));
        }
        Ok(())
    }
}

struct PackVisitor<'p, 'a>(&'p mut Pack<'a>);

impl<'de> Visitor<'de> for PackVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a header with `tags`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let pack = self.0;
        while let Some(key) = map.next_key::<String>()? {
            if key == "tags" {
                pack.tags = Some(0);
                map.next_value_seed(TagsVisitor(pack))?;
            } else if pack.header.read(&key, &mut map)? {
                pack.header_after_tags |= pack.tags.is_some();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct TagsVisitor<'p, 'a>(&'p mut Pack<'a>);

impl<'de> serde::de::DeserializeSeed<'de> for TagsVisitor<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, yaml: D) -> Result<(), D::Error> {
        yaml.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for TagsVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of tags")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut tags: A) -> Result<(), A::Error> {
        let pack = self.0;
        let mut number: u64 = 0;
        while let Some(tag) = tags.next_element::<Spanned<Tag>>()? {
            number += 1;
            let position = tag::Position { number, line: tag.referenced.line() };
            let outcome = tag::collect(&mut pack.collector, &pack.header, &tag.value, position);
            if let Err(error) = outcome {
                let yaml_error = A::Error::custom(&error);
                pack.error = Some(error);
                return Err(yaml_error);
            }
        }
        pack.tags = Some(number);
        Ok(())
    }
}

//! GraphSense TagPack files: YAML with a header whose fields every tag inherits.

mod fields;
mod tag;
#[cfg(test)]
mod tests;

use std::{fmt, io::BufRead};

use assay_engine::names::SourceId;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Options, Spanned};

use self::fields::{Fields, Tag};
use super::{LabelError, LabelSet, collect::Collector, text};

/// The most events of the YAML parser: more than [`text::LARGEST_HELD`] bytes of tags make.
const MOST_EVENTS: usize = 16 * 1024 * 1024;
/// How deep a pack may nest; tags are the third level.
const DEEPEST: usize = 16;
/// Aliases are allowed, as packs may repeat a text by one, but not to blow a small file up.
const MOST_ALIASES: usize = 10_000;
const MOST_ALIASED_EVENTS: usize = 100_000;

/// Reads a pack.
///
/// # Errors
///
/// Where the file is not text, too large, no YAML, or no TagPack.
pub fn read(input: impl BufRead, file: &str, source: &SourceId) -> Result<LabelSet, LabelError> {
    let text = text::whole(input, file, text::LARGEST_HELD, Some(text::LONGEST_LINE))?;
    let mut pack = Pack::new(file, source, Fields::default());
    pack.read(&text)?;
    if pack.header_after_tags {
        // Rare: tags were read before all that they inherit was known. Once more, knowing it, is
        // cheaper for everyone than to hold every pack's tags until its end.
        pack = Pack::new(file, source, pack.header);
        pack.read(&text)?;
    }
    Ok(pack.collector.finish())
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: MOST_EVENTS,
            max_nodes: MOST_EVENTS,
            max_depth: DEEPEST,
            max_aliases: MOST_ALIASES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MOST_ALIASED_EVENTS,
        },
        with_snippet: false,
        emit_comments: false,
    }
}

/// A pack while it is read: tags become labels one by one, and are not held.
struct Pack<'a> {
    header: Fields,
    tags: Option<u64>,
    header_after_tags: bool,
    collector: Collector<'a>,
    /// What a tag made of the file, which the YAML reader can only pass on as its own error.
    failed: Option<LabelError>,
}

impl<'a> Pack<'a> {
    fn new(file: &'a str, source: &'a SourceId, header: Fields) -> Self {
        Self {
            header,
            tags: None,
            header_after_tags: false,
            collector: Collector::new(file, source),
            failed: None,
        }
    }

    fn read(&mut self, text: &str) -> Result<(), LabelError> {
        let outcome =
            serde_saphyr::with_deserializer_from_str_with_options(text, options(), |yaml| {
                yaml.deserialize_map(InPack(self))
            });
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let broken = |line, reason| LabelError::Broken {
            file: self.collector.file.to_owned(),
            line,
            format: "a TagPack",
            reason,
        };
        outcome.map_err(|error| {
            let line = error.location().map_or(1, |location| location.line());
            broken(line, fields::reason(&error.without_snippet().to_string()))
        })?;
        if self.tags.is_none() {
            return Err(broken(1, "it has no list of `tags`".into()));
        }
        Ok(())
    }
}

struct InPack<'p, 'a>(&'p mut Pack<'a>);

impl<'de> Visitor<'de> for InPack<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a header with `tags`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let pack = self.0;
        while let Some(key) = map.next_key::<String>()? {
            if key == "tags" {
                pack.tags = Some(0);
                map.next_value_seed(InTags(pack))?;
            } else if pack.header.take(&key, &mut map)? {
                pack.header_after_tags |= pack.tags.is_some();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct InTags<'p, 'a>(&'p mut Pack<'a>);

impl<'de> serde::de::DeserializeSeed<'de> for InTags<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, yaml: D) -> Result<(), D::Error> {
        yaml.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for InTags<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of tags")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut tags: A) -> Result<(), A::Error> {
        let pack = self.0;
        let mut number: u64 = 0;
        while let Some(tag) = tags.next_element::<Spanned<Tag>>()? {
            number += 1;
            let place = tag::Place { number, line: tag.referenced.line() };
            if let Err(error) = tag::take(&mut pack.collector, &pack.header, &tag.value, place) {
                let told = A::Error::custom(&error);
                pack.failed = Some(error);
                return Err(told);
            }
        }
        pack.tags = Some(number);
        Ok(())
    }
}

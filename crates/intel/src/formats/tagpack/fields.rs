//! The fields of a TagPack's header and of its tags.

use std::fmt;

use serde::{
    Deserialize,
    de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// Fields that a header and a tag may have. A tag inherits the fields that it does not have.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    pub(super) label: Option<String>,
    pub(super) source: Option<String>,
    pub(super) currency: Option<String>,
    pub(super) network: Option<String>,
    pub(super) confidence: Option<String>,
    pub(super) category: Option<String>,
    pub(super) abuse: Option<String>,
    pub(super) concepts: Option<Texts>,
    pub(super) actor: Option<String>,
    pub(super) lastmod: Option<String>,
    pub(super) context: Option<Texts>,
    pub(super) description: Option<String>,
    pub(super) creator: Option<String>,
}

impl Fields {
    /// Reads the value of `key` if it is one of these fields; returns false otherwise.
    pub(super) fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> Result<bool, A::Error> {
        let field = match key {
            "label" => &mut self.label,
            "source" => &mut self.source,
            "currency" => &mut self.currency,
            "network" => &mut self.network,
            "confidence" => &mut self.confidence,
            "category" => &mut self.category,
            "abuse" => &mut self.abuse,
            "actor" => &mut self.actor,
            "lastmod" => &mut self.lastmod,
            "description" => &mut self.description,
            "creator" => &mut self.creator,
            "concepts" => {
                self.concepts = map.next_value()?;
                return Ok(true);
            }
            "context" => {
                self.context = map.next_value()?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        *field = map.next_value()?;
        Ok(true)
    }
}

/// Tag of a pack.
#[derive(Debug, Default)]
pub(super) struct Tag {
    pub(super) address: Option<String>,
    pub(super) fields: Fields,
}

impl<'de> Deserialize<'de> for Tag {
    fn deserialize<D: Deserializer<'de>>(yaml: D) -> Result<Self, D::Error> {
        struct TagVisitor;

        impl<'de> Visitor<'de> for TagVisitor {
            type Value = Tag;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a tag with an `address`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tag, A::Error> {
                let mut tag = Tag::default();
                while let Some(key) = map.next_key::<String>()? {
                    if key == "address" {
                        tag.address = map.next_value()?;
                    } else if !tag.fields.read(&key, &mut map)? {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(tag)
            }
        }

        yaml.deserialize_map(TagVisitor)
    }
}

/// One or several texts: packs write a single concept without a list. The content of a mapping, which a
/// `context` may be, is left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(yaml: D) -> Result<Self, D::Error> {
        struct TextsVisitor;

        impl<'de> Visitor<'de> for TextsVisitor {
            type Value = Texts;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_owned()]))
            }

            fn visit_bool<E>(self, text: bool) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_string()]))
            }

            fn visit_i64<E>(self, text: i64) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_string()]))
            }

            fn visit_u64<E>(self, text: u64) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_string()]))
            }

            fn visit_f64<E>(self, text: f64) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_string()]))
            }

            fn visit_unit<E>(self) -> Result<Texts, E> {
                Ok(Texts::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
                let mut texts = Texts::default();
                while let Some(text) = list.next_element()? {
                    texts.0.push(text);
                }
                Ok(texts)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Texts, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Texts::default())
            }
        }

        yaml.deserialize_any(TextsVisitor)
    }
}

/// The message of a YAML error on one line, without its position, which is reported separately.
pub(super) fn reason(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    first.split(" at line ").next().unwrap_or_default().trim().to_owned()
}

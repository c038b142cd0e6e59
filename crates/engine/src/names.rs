//! Names of sources and lists: short, lowercase, safe in URLs, file names and Kubernetes objects.

use std::{fmt, str::FromStr, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The error of a text that is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name: use 1 to 63 lowercase letters, digits and hyphens, with a letter or digit \
     first and last"
)]
pub struct InvalidName(pub String);

fn check(text: &str) -> Result<Arc<str>, InvalidName> {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let valid = (1..=63).contains(&bytes.len())
        && bytes.iter().all(|byte| inner(byte) || *byte == b'-')
        && bytes.first().is_some_and(inner)
        && bytes.last().is_some_and(inner);
    if valid { Ok(text.into()) } else { Err(InvalidName(text.chars().take(64).collect())) }
}

macro_rules! name {
    ($(#[$meta:meta])* $type:ident) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(Arc<str>);

        impl $type {
            /// The name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                check(text).map(Self)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 63,
                    "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
                })
            }
        }
    };
}

name! {
    /// Names a source: a feed of listings, labels or prices, such as `ofac-sdn`.
    SourceId
}

name! {
    /// Names a sanctions list, such as `ofac-sdn`. One source may provide several lists, and several sources may
    /// provide the same list.
    ListId
}

impl From<&SourceId> for ListId {
    /// The list that has the name of its source.
    fn from(source: &SourceId) -> Self {
        Self(Arc::clone(&source.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        for good in ["ofac-sdn", "a", "uk2"] {
            assert_eq!(good.parse::<ListId>().unwrap().as_str(), good);
        }
        for bad in ["", "-a", "a-", "OFAC", "a b", "a_b", "ä", &"a".repeat(64)] {
            assert!(bad.parse::<ListId>().is_err(), "{bad}");
        }
    }
}

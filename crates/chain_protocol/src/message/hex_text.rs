//! Bytes as hexadecimal digits in messages (`#[serde(with = "hex_text")]`).

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Writes bytes as lowercase digits.
pub(crate) fn serialize<S: Serializer>(
    bytes: impl AsRef<[u8]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex::encode(bytes))
}

/// Parses hexadecimal digits into bytes of the field's length.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, B: TryFrom<Vec<u8>>>(
    deserializer: D,
) -> Result<B, D::Error> {
    let text = String::deserialize(deserializer)?;
    let invalid = || {
        D::Error::custom(format!("`{text}` is not bytes in hexadecimal digits of the right number"))
    };
    let bytes = hex::decode(&text).map_err(|_| invalid())?;
    B::try_from(bytes).map_err(|_| invalid())
}

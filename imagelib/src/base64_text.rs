//! Bytes as base64 in JSON (RFC 4648 §4, with padding), for serde's `with`.

use base64::prelude::*;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    let text = String::deserialize(deserializer)?;
    // The decoder's own message would show a part of the content.
    let bytes = BASE64_STANDARD.decode(text);
    bytes.map(Bytes::from).map_err(|_| serde::de::Error::custom("this is not base64 (RFC 4648, with padding)"))
}

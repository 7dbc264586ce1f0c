//! The shape of Ignition configs, to be filled in: the real module replaces this file.
#![allow(missing_docs, unreachable_pub)]
use crate::host::HostName;
use crate::network::Keyfile;
use serde::{Deserialize, Serialize};
#[derive(Debug, thiserror::Error)]
pub enum IgnitionError {
    #[error("x")]
    X,
}
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Additions {
    pub keyfiles: Vec<Keyfile>,
    pub hostname: Option<HostName>,
    pub ssh_authorized_keys: Vec<String>,
    pub files: Vec<String>,
    pub units: Vec<String>,
}
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserConfig(serde_json::Value);
pub fn config(_a: &Additions, _u: Option<&UserConfig>) -> Result<Vec<u8>, IgnitionError> {
    Ok(b"{}".to_vec())
}
pub struct F {
    pub path: String,
    pub mode: u32,
    pub contents: bytes::Bytes,
}
pub fn files(_a: &Additions) -> Vec<F> {
    vec![]
}

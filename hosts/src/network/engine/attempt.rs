//! One call of the nmstate crate.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nmstate::NetworkState;
use serde::Deserialize;
use serde_yaml::Value;

/// What nmstate says about a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not of the schema.
    Schema(String),
    /// No profiles can be made of it.
    Generation(String),
    /// It panicked, which is a defect of the crate.
    Panic,
}

/// The profiles that nmstate makes of a document: file name as it gives it, and content, nothing escaped.
pub(super) fn generate(document: &Value) -> Result<Vec<(String, String)>, Refusal> {
    let generate = || {
        let state = NetworkState::deserialize(document).map_err(|error| Refusal::Schema(error.to_string()))?;
        let mut files = state.gen_conf().map_err(|error| Refusal::Generation(error.msg().to_owned()))?;
        Ok(files.remove("NetworkManager").unwrap_or_default())
    };
    catch_unwind(AssertUnwindSafe(generate)).unwrap_or(Err(Refusal::Panic))
}

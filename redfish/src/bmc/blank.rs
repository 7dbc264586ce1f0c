//! What a BMC says of itself, without what it may repeat of a request: it is shown, and kept in records of boots.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Bmc;
use super::error::BmcError;
use crate::secrets::Secrets;

impl Bmc {
    /// What was read, or why not, without secrets. Paths stay as they are: they are asked for again.
    pub(super) fn blanked<T>(&self, result: Result<T, BmcError>) -> Result<T, BmcError>
    where
        T: Serialize + DeserializeOwned,
    {
        let secrets = self.client().secrets();
        result.map(|read| blanked(read, &secrets)).map_err(|error| error.blanked(&secrets))
    }

    /// Why something was not done, without secrets.
    pub(super) fn blanked_error(&self, error: BmcError) -> BmcError {
        error.blanked(&self.client().secrets())
    }
}

fn blanked<T: Serialize + DeserializeOwned>(read: T, secrets: &Secrets) -> T {
    let Ok(mut value) = serde_json::to_value(&read) else { return read };
    if !blank(&mut value, secrets) {
        return read;
    }
    // Where the secret is one of the words that have a meaning here, such as a vendor's name, it tells nobody anything.
    T::deserialize(value).unwrap_or(read)
}

/// Takes secrets out of all texts but paths. Whether there were any.
fn blank(value: &mut Value, secrets: &Secrets) -> bool {
    match value {
        Value::String(text) if !text.starts_with('/') && secrets.are_in(text) => {
            *text = secrets.blank(text);
            true
        }
        Value::Array(members) => members.iter_mut().fold(false, |found, member| blank(member, secrets) | found),
        Value::Object(members) => members.values_mut().fold(false, |found, member| blank(member, secrets) | found),
        _ => false,
    }
}

impl BmcError {
    /// Without secrets in what the BMC has listed. Its messages have none.
    fn blanked(mut self, secrets: &Secrets) -> Self {
        let texts = match &mut self {
            Self::SeveralSystems { systems: texts }
            | Self::UnknownSystem { systems: texts, .. }
            | Self::NoSuitableSlot { slots: texts, .. }
            | Self::Protocol { offered: texts, .. }
            | Self::PowerUnsupported { offered: texts, .. }
            | Self::Mode { offered: Some(texts), .. } => texts.iter_mut().collect(),
            Self::NotInserted { state, .. } | Self::NotEjected { state, .. } => {
                state.connected_via.iter_mut().collect::<Vec<_>>()
            }
            _ => Vec::new(),
        };
        for text in texts.into_iter().filter(|text| secrets.are_in(text)) {
            *text = secrets.blank(text);
        }
        self
    }
}

//! Masks secrets in what a BMC says: it may repeat parts of a request, and its texts are shown and stored.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Bmc;
use super::error::BmcError;
use crate::secrets::Secrets;

impl Bmc {
    /// Masks the secrets in a result. Paths stay as they are, because they are requested again.
    pub(super) fn masked<T>(&self, result: Result<T, BmcError>) -> Result<T, BmcError>
    where
        T: Serialize + DeserializeOwned,
    {
        let secrets = self.client().secrets();
        result.map(|read| masked(read, &secrets)).map_err(|error| error.masked(&secrets))
    }

    /// Masks the secrets in an error.
    pub(super) fn masked_error(&self, error: BmcError) -> BmcError {
        error.masked(&self.client().secrets())
    }
}

fn masked<T: Serialize + DeserializeOwned>(read: T, secrets: &Secrets) -> T {
    let Ok(mut value) = serde_json::to_value(&read) else { return read };
    if !mask(&mut value, secrets) {
        return read;
    }
    // If the secret is also a word of this crate, such as a vendor's name, the word reveals nothing, and may stay.
    T::deserialize(value).unwrap_or(read)
}

/// Masks the secrets in all texts that are not paths. Returns whether there were any.
fn mask(value: &mut Value, secrets: &Secrets) -> bool {
    match value {
        Value::String(text) if !text.starts_with('/') && secrets.are_in(text) => {
            *text = secrets.mask(text);
            true
        }
        Value::Array(members) => members.iter_mut().fold(false, |found, member| mask(member, secrets) | found),
        Value::Object(members) => members.values_mut().fold(false, |found, member| mask(member, secrets) | found),
        _ => false,
    }
}

impl BmcError {
    /// Masks the secrets in the values that the BMC lists. Its messages are masked when they are read.
    fn masked(mut self, secrets: &Secrets) -> Self {
        let texts = match &mut self {
            Self::SeveralSystems(texts)
            | Self::UnknownSystem { systems: texts, .. }
            | Self::NoSuitableSlot { slots: texts, .. }
            | Self::Protocol { offered: texts, .. }
            | Self::NoHttpBoot { offered: texts }
            | Self::UnknownManager { managers: texts, .. }
            | Self::PowerUnsupported { offered: texts, .. }
            | Self::Mode { offered: Some(texts), .. } => texts.iter_mut().collect(),
            Self::NotInserted { state, .. } | Self::NotEjected { state, .. } => {
                state.connected_via.iter_mut().collect::<Vec<_>>()
            }
            Self::Firmware(error) => error.texts(),
            _ => Vec::new(),
        };
        for text in texts.into_iter().filter(|text| secrets.are_in(text)) {
            *text = secrets.mask(text);
        }
        self
    }
}

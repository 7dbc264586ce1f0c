//! The certificates with which the agent verifies Ironic.

use bytes::Bytes;

use super::AgentError;

/// Certificates in PEM, at least one (the content of `IRONIC_CA_BUNDLE`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IronicCaBundle(Bytes);

impl IronicCaBundle {
    /// Returns an error if the text has no certificate, because the agent would then trust no Ironic.
    pub fn from_pem(pem: Bytes) -> Result<Self, AgentError> {
        const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
        if pem.windows(BEGIN.len()).any(|window| window == BEGIN) {
            Ok(Self(pem))
        } else {
            Err(AgentError::NoCertificate)
        }
    }

    /// The text, as it was given.
    pub(super) fn pem(&self) -> &Bytes {
        &self.0
    }
}

//! The settings for fetching bases.

use redfish::Verification;

use super::allowed::{AllowedSource, AllowedSources, DEFAULT_SOURCE};
use super::download::Patience;
use super::openpgp::Keyring;

/// How large a file of a base may be by default: more than any DVD.
pub const DEFAULT_LIMIT: u64 = 16 << 30;

/// The settings for fetching bases.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// From where clients of the API may have bases fetched.
    pub allowed: AllowedSources,
    /// How servers' certificates are verified.
    pub verification: Verification,
    /// The keys that may sign bases.
    pub keys: Keyring,
    /// How large a file may be, in bytes.
    pub limit: u64,
    /// How long to try again after failures.
    pub patience: Patience,
}

impl Default for FetchSettings {
    fn default() -> Self {
        let default: Option<AllowedSource> = DEFAULT_SOURCE.parse().ok();
        Self {
            allowed: AllowedSources::only(default.into_iter().collect()),
            verification: Verification::System,
            keys: Keyring::bundled(),
            limit: DEFAULT_LIMIT,
            patience: Patience::default(),
        }
    }
}

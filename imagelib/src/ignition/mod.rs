//! Ignition configs of spec 3 (<https://coreos.github.io/ignition/specs/>): what dayone adds to a host, in one config
//! with what its user wrote.
//!
//! The two become one config instead of one that pulls in the other (`ignition.config.merge`): there, of two files
//! with one path the last would silently win, and the network would be lost where nobody sees it. Here it is an
//! error, before anything boots.

mod additions;
mod files;
mod merge;
mod order;
mod ssh;
mod user;

pub use additions::{AbsolutePath, Additions, AdditionsError, ExtraFile, FileMode, Unit, UnitName};
pub use files::{AddedFile, files};
pub use merge::config;
pub use ssh::{SshPublicKey, SshPublicKeyError};
pub use user::UserConfig;

/// Why there is no Ignition config. Never with anything of its contents but names and paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IgnitionError {
    /// Not JSON, or not what the spec says.
    #[error("the Ignition config is not valid at {place}: {problem}")]
    Invalid {
        /// A path in it, such as `storage.files[0].mode`; where it is not JSON, line and column.
        place: String,
        /// What kind of problem.
        problem: &'static str,
    },
    /// Nested too deeply.
    #[error("the Ignition config is nested more than {0} levels deep")]
    TooDeep(usize),
    /// No version.
    #[error("the Ignition config has no ignition.version; write \"ignition\": {{\"version\": \"3.2.0\"}} or later")]
    VersionMissing,
    /// A version that is not supported.
    #[error("the Ignition config is of spec {0}; 3.0.0 to 3.6.0 are supported (translate older configs)")]
    Version(String),
    /// The user's config would throw away what is added to it.
    #[error("ignition.config.replace would replace the host's network, too; use ignition.config.merge instead")]
    Replace,
    /// A part with another shape than the spec gives it.
    #[error("{0} in the Ignition config is not of the form that the spec gives it")]
    Shape(String),
    /// A path that Ignition would refuse.
    #[error("{0:?} in the Ignition config is not an absolute path without '.', '..' and double slashes")]
    Path(String),
    /// The user's config contradicts itself.
    #[error("{0} is in the Ignition config twice, which Ignition refuses; remove one of them")]
    Duplicate(String),
    /// A unit whose name Ignition would refuse.
    #[error("{0:?} in the Ignition config is not the name of a systemd unit (such as network-check.service)")]
    Unit(String),
    /// Two things for one place.
    #[error("{path} is written by dayone, and {by} has {other}, too; remove one of them")]
    Conflict {
        /// The path that both want.
        path: String,
        /// Whose the other one is.
        by: &'static str,
        /// Path of the other.
        other: String,
    },
    /// Two units of one name.
    #[error("the systemd unit {0} is there twice; remove one of them")]
    UnitConflict(String),
    /// A mode that older specs cannot express.
    #[error(
        "mode {mode} of {path} needs spec 3.4.0; raise ignition.version of the Ignition config, or change the mode"
    )]
    SpecialMode {
        /// The file.
        path: String,
        /// Its mode in octal.
        mode: String,
    },
}

#[cfg(test)]
mod tests;

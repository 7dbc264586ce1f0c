//! Ignition configs of spec 3 (<https://coreos.github.io/ignition/specs/>): merges what dayone adds to a host with the user's
//! own config.
//!
//! The module does not use `ignition.config.merge`: of two files with the same path, the last would silently win, and the host
//! could lose its network. Here, such a conflict is an error before anything boots. It also is one with a config that the user's own
//! merges, as far as the user's own has it in a `data:` URL.

mod additions;
mod files;
mod merge;
mod merged;
mod order;
mod places;
mod ssh;
mod unit_text;
mod user;
mod values;

pub use additions::{AbsolutePath, Additions, AdditionsError, ExtraFile, FileMode, Unit, UnitName};
pub use files::{AddedFile, files};
pub use merge::config;
pub(crate) use places::written_at;
pub use ssh::{SshPublicKey, SshPublicKeyError};
pub use unit_text::MAX_UNIT_LINE;
pub use user::UserConfig;

/// The directory in which Ignition writes systemd units.
const UNITS: &str = "/etc/systemd/system";

/// Why an Ignition config is invalid, or cannot be merged. Messages quote only names and paths from it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IgnitionError {
    /// The config is not JSON, or does not follow its spec.
    #[error("the Ignition config is not valid at {place}: {problem}")]
    Invalid {
        /// A path in it, such as `storage.files[0].mode`, or line and column if it is not JSON.
        place: String,
        /// The kind of the problem.
        problem: &'static str,
    },
    /// The config is nested too deeply.
    #[error("the Ignition config is nested more than {0} levels deep")]
    TooDeep(usize),
    /// The config has too many values.
    #[error("the Ignition config has more than {0} values; put what is long into the contents of files")]
    TooManyValues(usize),
    /// The config has no version.
    #[error("the Ignition config has no ignition.version; write \"ignition\": {{\"version\": \"3.2.0\"}} or later")]
    VersionMissing,
    /// The config has an unsupported version.
    #[error("the Ignition config has spec {0}; dayone supports 3.0.0 to 3.6.0 (translate older configs)")]
    Version(String),
    /// The user's config replaces itself, and would lose what is added to it.
    #[error("ignition.config.replace would replace the host's network, too; use ignition.config.merge instead")]
    Replace,
    /// A part does not have the form that the spec requires.
    #[error("{0} in the Ignition config does not have the form that the spec requires")]
    Shape(String),
    /// Ignition would refuse a path.
    #[error("{0:?} in the Ignition config is not an absolute path without '.', '..' and double slashes")]
    Path(String),
    /// The user's config has a path, a unit or another entry twice.
    #[error("{0} is in the Ignition config twice, which Ignition refuses; remove one of them")]
    Duplicate(String),
    /// Ignition would refuse a path beneath a link of the same config.
    #[error(
        "{path} in the Ignition config is beneath its link {link}, which Ignition refuses; write the path without the link"
    )]
    BeneathLink {
        /// The path.
        path: String,
        /// The path of the link.
        link: String,
    },
    /// Ignition would refuse the name of a unit.
    #[error("{0:?} in the Ignition config is not the name of a systemd unit (such as network-check.service)")]
    Unit(String),
    /// Two files have the same place, or one is below the other.
    #[error("dayone writes {path}, and {by} has {other}, too; remove one of them")]
    Conflict {
        /// The path of dayone's file.
        path: String,
        /// The origin of the other file.
        by: &'static str,
        /// The path of the other file.
        other: String,
    },
    /// Two units have the same name.
    #[error("the systemd unit {0} is defined twice; remove one of them")]
    UnitConflict(String),
    /// Ignition would refuse the text of a unit.
    #[error("Ignition would refuse {path}, and the whole config with it: it {problem}")]
    UnitText {
        /// The path of the unit or the drop-in.
        path: String,
        /// What is wrong with its text.
        problem: &'static str,
    },
    /// The config's spec is too old for a mode.
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

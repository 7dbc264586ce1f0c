//! Answer files: what an installer reads in place of asking.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The program of the Debian installer that gives the installed system its network. It comes with a preseed file that dayone has
/// completed, and with nothing else.
pub const PRESEED_PROGRAM: &str = "/usr/lib/finish-install.d/56dayone-network";

/// The completed kickstart file in the installer's own system.
pub const KICKSTART_FILE: &str = "/usr/lib/dayone/host.ks";

/// The kernel argument by which Anaconda's initramfs finds [`KICKSTART_FILE`] before the installer's system does: among the files
/// that wait there to be copied to that system.
pub const KICKSTART_ARGUMENT: &str = "inst.ks=file:/usr/lib/dayone/root/usr/lib/dayone/host.ks";

/// The completed autoinstall file in the live system that Subiquity runs in.
pub const AUTOINSTALL_FILE: &str = "/autoinstall.yaml";

/// The completed profile in the live system that Agama runs in.
pub const AGAMA_FILE: &str = "/usr/lib/dayone/autoinst.json";

/// The kernel argument by which Agama finds [`AGAMA_FILE`].
pub const AGAMA_ARGUMENT: &str = "inst.auto=file:///usr/lib/dayone/autoinst.json";

/// The installer that an answer file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Installer {
    /// The Debian installer, which reads a preseed file.
    Preseed,
    /// Anaconda, the installer of Fedora, RHEL and its rebuilds, which reads a kickstart file.
    Kickstart,
    /// Subiquity, the installer of Ubuntu, which reads an autoinstall file.
    Autoinstall,
    /// Agama, the installer of SUSE Linux Enterprise and openSUSE since version 16, which reads a profile.
    Agama,
}

/// A text that names no installer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of answer file that dayone knows; use preseed, kickstart, autoinstall or agama")]
pub struct InstallerError(String);

crate::text_as_serde!(Installer, InstallerError);

/// An answer file. It often has passwords.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// The kind of the file.
    pub kind: Installer,
    /// The file's text. dayone adds the host's network to it.
    #[schema(example = "d-i passwd/root-login boolean false\n")]
    pub text: String,
}

impl fmt::Debug for Answers {
    /// Without the text, which may have passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("kind", &self.kind).field("size", &self.text.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_output_has_no_passwords() {
        let answers =
            Answers { kind: Installer::Preseed, text: "d-i passwd/root-password password hunter2".to_owned() };
        assert_eq!(format!("{answers:?}"), "Answers { kind: Preseed, size: 41, .. }");
    }

    #[test]
    fn kinds_are_written_as_words() {
        assert_eq!("preseed".parse(), Ok(Installer::Preseed));
        assert_eq!(Installer::Preseed.to_string(), "preseed");
        assert_eq!("kickstart".parse(), Ok(Installer::Kickstart));
        assert!(
            "Kickstart"
                .parse::<Installer>()
                .unwrap_err()
                .to_string()
                .contains("use preseed, kickstart, autoinstall or agama")
        );
    }
}

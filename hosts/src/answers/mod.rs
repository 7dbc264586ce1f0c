//! Completes the answer file of an installer with a host's network.
//!
//! The network of the installed system is meant, and that of the installer as far as the installer can have it. What the file
//! says of the network itself must agree with the host's documents.

mod installed;
mod installer;
mod preseed;

use crate::network::ConvertedNetwork;
use vocabulary::answers::{Answers, Installer};
use vocabulary::host::HostName;
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::{Report, Reported};

/// A file for the installer.
#[derive(Clone, PartialEq, Eq)]
pub struct InstallerFile {
    /// Its absolute path in the system that the installer runs in.
    pub path: String,
    /// Whether it is a program.
    pub is_program: bool,
    /// Whether it may have secrets.
    pub is_secret: bool,
    /// Its content.
    pub content: String,
}

impl std::fmt::Debug for InstallerFile {
    /// Without the content, which may have passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InstallerFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The form of the network that the system has which an installer installs.
pub fn network_files(kind: Installer) -> NetworkFiles {
    match kind {
        Installer::Preseed => NetworkFiles::NetworkdUnits,
    }
}

/// Returns the files for the installer: the completed answer file, and what it installs. `network` has the form of
/// [`network_files`].
pub fn complete(
    answers: &Answers,
    network: &ConvertedNetwork,
    hostname: Option<&HostName>,
    report: &mut Report,
) -> Result<Vec<InstallerFile>, Reported> {
    match answers.kind {
        Installer::Preseed => preseed::complete(&answers.text, network, hostname, report),
    }
}

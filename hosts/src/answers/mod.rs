//! Completes the answer file of an installer with a host's network.
//!
//! The network of the installed system is meant, and that of the installer as far as the installer can have it. What the file
//! says of the network itself must agree with the host's documents.

mod agama;
mod autoinstall;
mod installed;
mod installed_profiles;
mod installer;
mod kickstart;
mod preseed;
#[cfg(test)]
mod testing;

use crate::network::ConvertedNetwork;
use vocabulary::answers::{AGAMA_ARGUMENT, Answers, Installer, KICKSTART_ARGUMENT};
use vocabulary::host::HostName;
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::{DocumentPath, Report, Reported};

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

/// The system that an installer installs.
#[derive(Debug, Clone, Copy)]
pub struct InstalledSystem<'a> {
    /// Its network, in the form of [`network_files`].
    pub network: &'a ConvertedNetwork,
    /// Its host name.
    pub hostname: Option<&'a HostName>,
    /// Whether NICs without a profile stay down. Units of systemd-networkd say so themselves.
    pub no_auto_default: bool,
}

/// The form of the network that the system has which an installer installs.
pub fn network_files(kind: Installer) -> NetworkFiles {
    match kind {
        Installer::Preseed => NetworkFiles::NetworkdUnits,
        Installer::Kickstart | Installer::Agama => NetworkFiles::Keyfiles,
        Installer::Autoinstall => NetworkFiles::Netplan,
    }
}

/// Whether the installer's own system takes network files of that form, too.
pub fn takes_network_files(kind: Installer) -> bool {
    match kind {
        Installer::Preseed | Installer::Autoinstall => false,
        Installer::Kickstart | Installer::Agama => true,
    }
}

/// The kernel argument without which the installer does not use its file, if there is one.
pub fn kernel_argument(kind: Installer) -> Option<&'static str> {
    match kind {
        Installer::Preseed => None,
        Installer::Kickstart => Some(KICKSTART_ARGUMENT),
        Installer::Autoinstall => Some("autoinstall"),
        Installer::Agama => Some(AGAMA_ARGUMENT),
    }
}

/// Whether a kernel argument makes the installer read another file than dayone's.
pub fn names_other_file(kind: Installer, argument: &str) -> bool {
    let key = argument.split('=').next().unwrap_or_default();
    match kind {
        Installer::Preseed => preseed::names_other_file(argument),
        // With `inst.ks.all`, Anaconda skips dayone's `file:` (`dracut/parse-anaconda-kickstart.sh`).
        Installer::Kickstart => ["inst.ks", "inst.ks.all", "ks"].contains(&key),
        Installer::Autoinstall => key == "subiquity.autoinstallpath",
        // Agama ignores the case of keys (`rust/agama-utils/src/kernel_cmdline.rs`).
        Installer::Agama => ["inst.auto", "agama.auto"].iter().any(|known| key.eq_ignore_ascii_case(known)),
    }
}

/// Whether a kernel argument of a base makes the installer read another file, even though dayone's [`kernel_argument`] follows it.
///
/// Anaconda takes the last `inst.ks`, but the releases that still know `ks` (RHEL 8) look for that first. Agama loads the files of all its
/// arguments, one after the other. dayone's argument for Subiquity names no file, and Subiquity first looks for the file that another
/// argument names.
pub fn names_file_despite_own(kind: Installer, argument: &str) -> bool {
    let is_overridden = kind == Installer::Kickstart && argument.split('=').next() == Some("inst.ks");
    names_other_file(kind, argument) && !is_overridden
}

/// Checks the kernel arguments of an installer that takes answers about the network from them. `place` is where the arguments are.
pub fn check_arguments<'a>(
    kind: Installer,
    arguments: impl IntoIterator<Item = &'a str>,
    system: InstalledSystem<'_>,
    place: &DocumentPath,
    report: &mut Report,
) -> Result<(), Reported> {
    match kind {
        Installer::Preseed => preseed::check_arguments(arguments, system, place, report),
        Installer::Kickstart | Installer::Autoinstall | Installer::Agama => Ok(()),
    }
}

/// Returns the files for the installer: the completed answer file, and what it installs.
pub fn complete(
    answers: &Answers,
    system: InstalledSystem<'_>,
    report: &mut Report,
) -> Result<Vec<InstallerFile>, Reported> {
    match answers.kind {
        Installer::Preseed => preseed::complete(&answers.text, system.network, system.hostname, report),
        Installer::Kickstart => kickstart::complete(&answers.text, system, report),
        Installer::Autoinstall => autoinstall::complete(&answers.text, system, report),
        Installer::Agama => agama::complete(&answers.text, system, report),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_of_the_base_counts_unless_that_of_dayone_overrides_it() {
        for (kind, argument, by_order, by_base) in [
            (Installer::Kickstart, "inst.ks=hd:LABEL=RHEL:/ks.cfg", true, false),
            (Installer::Kickstart, "ks=cdrom:/ks.cfg", true, true),
            (Installer::Kickstart, "inst.ks.all", true, true),
            (Installer::Kickstart, "inst.ks.sendmac", false, false),
            (Installer::Autoinstall, "subiquity.autoinstallpath=/cdrom/other.yaml", true, true),
            (Installer::Autoinstall, "autoinstall", false, false),
            (Installer::Agama, "inst.auto=http://192.0.2.1/other.json", true, true),
            (Installer::Agama, "Inst.Auto=http://192.0.2.1/other.json", true, true),
            (Installer::Agama, "inst.auto_insecure=1", false, false),
            (Installer::Preseed, "preseed/file=/cdrom/other.cfg", true, true),
            (Installer::Preseed, "priority=critical", false, false),
        ] {
            assert_eq!(names_other_file(kind, argument), by_order, "{argument}");
            assert_eq!(names_file_despite_own(kind, argument), by_base, "{argument}");
        }
    }
}

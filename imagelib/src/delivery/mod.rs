//! Delivers files to a system that boots from an initramfs.
//!
//! [`detect`] finds out from the files of an initramfs which system it starts. A [`DeliveryProfile`] tells where that system
//! takes its configuration from, and [`members`] makes the archive to append to the initramfs. If another root file system
//! replaces the initramfs, a script in the archive copies the files there.

mod carried;
mod competing;
mod contents;
mod coreos;
mod detect;
mod drivers;
mod embedded;
mod fetched_root;
mod flatcar;
mod handover;
mod initramfs_network;
mod network_manager;
mod profile;
mod root;
mod signs;
mod talos;
mod tmpfiles;

pub(crate) use carried::Carried;
pub(crate) use competing::{config_argument, network_arguments, warn_of_arguments, warn_of_config};
pub use coreos::embed_area;
pub(crate) use coreos::{has_rootfs, warn_of_installation};
pub use detect::{Detected, RELEASE_FILE_LIMIT, detect, release_files};
pub(crate) use drivers::{DRIVERS, Drivers};
pub use embedded::{DeliveredBy, EmbeddedFile};
pub use fetched_root::NotFetched;
pub(crate) use fetched_root::{CasperScript, FetchedRoot, Places};
pub(crate) use handover::RootFileSystem;
pub use network_manager::network_manager_version;
pub use profile::{DeliveryProfile, DeliveryProfileError};
pub use signs::has_network_manager;
pub(crate) use signs::is_debian_installer;
pub(crate) use tmpfiles::{TmpfilesLines, needs_network, reads_credentials, verifies_medium};

use crate::cpio::{Archive, ArchiveError, MemberPathError};
use crate::ignition::{Additions, IgnitionError, UserConfig};
use crate::initramfs::{PlacementError, Tree};
use signs::{is_agama, is_anaconda, is_casper};
use vocabulary::answers::{AGAMA_FILE, AUTOINSTALL_FILE, Installer, KICKSTART_FILE, PRESEED_PROGRAM};
use vocabulary::network_files::{InitramfsNetwork, NetworkFiles};
use vocabulary::report::{DocumentPath, Report};

/// Why dayone cannot deliver the additions to a system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveryError {
    /// The system is unknown.
    #[error(
        "dayone does not know how the system in this initramfs accepts files; if no other root file system replaces the initramfs, set \
         the base's delivery profile to root-in-initramfs, or to networkd if systemd-networkd runs the network"
    )]
    UnknownSystem,
    /// The system has no Ignition, which alone delivers this kind of addition.
    #[error(
        "dayone cannot deliver {0}: this base does not read an Ignition config; leave them out, or use a CoreOS base"
    )]
    NeedsIgnition(&'static str),
    /// The network is given as keyfiles, but the system reads units of systemd-networkd.
    #[error(
        "systemd-networkd runs the network of this base, and does not read NetworkManager keyfiles; give the network \
         as units of systemd-networkd, or use a base with NetworkManager"
    )]
    NeedsNetworkdUnits,
    /// Talos takes nothing of this kind.
    #[error(
        "dayone cannot deliver {0}: Talos takes its network from a kernel argument, everything else from its machine configuration, \
         and no files; leave them out"
    )]
    TalosTakesNoFiles(&'static str),
    /// The initramfs is of another kind than the profile.
    #[error(
        "dayone cannot add files with the delivery profile '{profile}': this initramfs has no {missing}; choose \
         another profile, or let dayone detect it"
    )]
    OtherSystem {
        /// The profile.
        profile: DeliveryProfile,
        /// What an initramfs of this profile has.
        missing: &'static str,
    },
    /// A credential would bring an answer file too late.
    #[error(
        "dayone cannot deliver an answer file: a credential alone brings files to this base, after its installer has looked for them; \
         leave the answer file out"
    )]
    AnswersInCredential,
    /// A credential would bring a file too late.
    #[error(
        "dayone cannot deliver {0}: a credential alone brings files to this base, after systemd has started and looked for such files; \
         leave it out"
    )]
    TooLateInCredential(String),
    /// An answer file for an installer that is not in this initramfs.
    #[error("this initramfs is not that of {0}, which alone reads such an answer file; use the installer as base")]
    NotTheInstaller(&'static str),
    /// Ignition would fail at a file, and the boot with it.
    #[error(
        "dayone cannot deliver {path}: {system} is read-only there, so Ignition would fail, and the host would not boot; use a path in \
         {instead}"
    )]
    ReadOnly {
        /// The path of the file.
        path: String,
        /// The system.
        system: &'static str,
        /// Where files may be.
        instead: &'static str,
    },
    /// A file cannot be in the archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A path is not valid in an initramfs.
    #[error(transparent)]
    Path(#[from] MemberPathError),
    /// The initramfs has no place for a file.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The files or the Ignition config are invalid.
    #[error(transparent)]
    Ignition(#[from] IgnitionError),
}

/// What to append to an initramfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    /// The archive.
    pub archive: Archive,
    /// The files that it brings to the initramfs and, through Ignition or the script, to the system.
    pub embedded: Vec<EmbeddedFile>,
    /// Warnings about the delivery.
    pub report: Report,
}

/// Makes the archive to append to an initramfs with this tree, so that its system gets the additions. If another root file system replaces
/// the initramfs, it must be writable.
///
/// The archive never replaces a directory, changes its mode, or replaces a symbolic link to a directory. It contains only
/// directories that the tree lacks, and its files have paths without symbolic links.
pub fn members(
    profile: DeliveryProfile,
    additions: &Additions,
    ignition: Option<&UserConfig>,
    tree: &Tree,
) -> Result<Members, DeliveryError> {
    let path = DocumentPath::document("initrd");
    members_with_network(profile, additions, ignition, None, tree, RootFileSystem::AsMounted, &path)
}

/// The same for the initramfs at `path`, which starts such a root file system. It may get a network of its own, in which live-boot or casper
/// fetches its system.
pub(crate) fn members_with_network(
    profile: DeliveryProfile,
    additions: &Additions,
    ignition: Option<&UserConfig>,
    network: Option<&InitramfsNetwork>,
    tree: &Tree,
    root: RootFileSystem,
    path: &DocumentPath,
) -> Result<Members, DeliveryError> {
    if profile.network_files() == NetworkFiles::NetworkdUnits
        && additions.networkd_units.is_empty()
        && !additions.keyfiles.is_empty()
    {
        return Err(DeliveryError::NeedsNetworkdUnits);
    }
    let refuses_itself = matches!(profile, DeliveryProfile::Talos | DeliveryProfile::Unknown);
    if !profile.reads_ignition() && !refuses_itself {
        needs_no_ignition(additions, ignition)?;
    }
    check_installer(profile, additions, tree)?;
    let mut contents = match profile {
        DeliveryProfile::Coreos => coreos::contents(additions, ignition, true),
        DeliveryProfile::Flatcar => flatcar::contents(additions, ignition),
        DeliveryProfile::RootInInitramfs | DeliveryProfile::Networkd => root::contents(profile, additions, tree),
        DeliveryProfile::Dracut => handover::dracut(additions, tree, root),
        DeliveryProfile::InitramfsTools => handover::initramfs_tools(additions, tree, root),
        DeliveryProfile::Talos => talos::contents(additions, ignition),
        DeliveryProfile::Unknown => Err(DeliveryError::UnknownSystem),
    }?;
    if let Some(network) = network {
        for (path, content) in initramfs_network::files(network, tree) {
            contents.file(path, 0o644, content)?;
        }
    }
    let mut report = report(profile, tree, Some(additions), path);
    contents.warn_of_hidden(tree, path, &mut report);
    let (embedded, archive) = (contents.embedded(), contents.archive_for(tree)?);
    Ok(Members { archive, embedded, report })
}

/// The installer for which the additions have an answer file with the host's network.
pub(crate) fn installer(additions: &Additions) -> Option<Installer> {
    additions.files.iter().find_map(|file| match file.path.as_str() {
        PRESEED_PROGRAM => Some(Installer::Preseed),
        KICKSTART_FILE => Some(Installer::Kickstart),
        AUTOINSTALL_FILE => Some(Installer::Autoinstall),
        AGAMA_FILE => Some(Installer::Agama),
        _ => None,
    })
}

/// Refuses an answer file that nothing in this initramfs would read.
fn check_installer(profile: DeliveryProfile, additions: &Additions, tree: &Tree) -> Result<(), DeliveryError> {
    let Some(installer) = installer(additions) else { return Ok(()) };
    let is_there = match installer {
        Installer::Preseed => is_debian_installer(tree),
        // The kernel argument has the path at which the profile puts the file.
        Installer::Kickstart => profile == DeliveryProfile::Dracut && is_anaconda(tree),
        Installer::Autoinstall => profile == DeliveryProfile::InitramfsTools && is_casper(tree),
        Installer::Agama => profile == DeliveryProfile::Dracut && is_agama(tree),
    };
    if is_there { Ok(()) } else { Err(not_the_installer(installer)) }
}

fn not_the_installer(installer: Installer) -> DeliveryError {
    DeliveryError::NotTheInstaller(match installer {
        Installer::Preseed => "the Debian installer",
        Installer::Kickstart => "Anaconda, the installer of Fedora and RHEL",
        Installer::Autoinstall => "Ubuntu's live media (casper)",
        Installer::Agama => "Agama, the installer of SUSE Linux Enterprise and openSUSE",
    })
}

/// Warnings about the delivery of these additions to the initramfs at `path` with this tree; without additions, whatever is delivered.
pub fn report(profile: DeliveryProfile, tree: &Tree, additions: Option<&Additions>, path: &DocumentPath) -> Report {
    let mut report = Report::new();
    let with_network_manager = has_network_manager(tree);
    match profile {
        DeliveryProfile::RootInInitramfs if !with_network_manager && is_debian_installer(tree) => report.warning(
            "debian-installer",
            path,
            "is the Debian installer, which does not read keyfiles: its network does not change; hand over \
             a preseed file with --answers preseed FILE",
        ),
        DeliveryProfile::RootInInitramfs if !with_network_manager => report.warning(
            "no-network-manager",
            path,
            "has no NetworkManager, so nothing in it reads keyfiles, and nothing hands them to another root file system; use an \
             initramfs with NetworkManager, or set the delivery profile to networkd if systemd-networkd runs the network",
        ),
        DeliveryProfile::Dracut | DeliveryProfile::InitramfsTools if !with_network_manager => report.warning(
            "network-manager-assumed",
            path,
            "only starts the system: dayone cannot see whether the root file system has NetworkManager to read the \
             keyfiles, and assumes that it has",
        ),
        DeliveryProfile::Coreos
            if !coreos::reads_keyfiles(tree)
                && additions.is_none_or(|additions| !additions.keyfiles.is_empty()) =>
        {
            report.warning(
                "no-live-initrd-network",
                path,
                "is of an older CoreOS, and does not read keyfiles: only the booted system configures the network, and the initramfs \
                 needs DHCP to fetch the root file system",
            );
        }
        DeliveryProfile::Flatcar => report.warning(
            "flatcar-untested",
            path,
            "is Flatcar's: the delivery profile for it follows Flatcar's documentation, and is not tested on the real \
             system",
        ),
        DeliveryProfile::Talos => crate::talos::warn_untested(&mut report, path),
        _ => {}
    }
    competing::warn(&mut report, profile, tree, additions, path);
    report
}

fn needs_no_ignition(additions: &Additions, ignition: Option<&UserConfig>) -> Result<(), DeliveryError> {
    let found = [
        (ignition.is_some(), "an Ignition config"),
        (!additions.ssh_authorized_keys.is_empty(), "SSH keys"),
        (!additions.units.is_empty(), "systemd units"),
    ];
    match found.into_iter().find(|(present, _)| *present) {
        Some((_, what)) => Err(DeliveryError::NeedsIgnition(what)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;

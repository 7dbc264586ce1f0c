//! Makes the recipe of an image from an order and a host's network, for the API, the commands and the controller.

use std::collections::BTreeSet;

use hosts::answers::{self, InstalledSystem, InstallerFile};
use hosts::network::{ConvertedNetwork, Target};
use imagelib::base::Base;
use imagelib::data_image::DataKind;
use imagelib::delivery::DeliveryProfile;
use imagelib::ignition::{Additions, ExtraFile, FileMode};
use imagelib::image;
use imagelib::kernel_arguments::{KernelArgument, KernelArgumentEdits, Replacement};
use imagelib::recipe::{DataDrive, Recipe, RootfsLocation};
use imagelib::secure_boot::{SecureBoot, Verdict};
use vocabulary::answers::{Answers, Installer};
use vocabulary::host::{BootMode, HostSpec};
use vocabulary::network_files::InitramfsNetwork;
use vocabulary::report::{DocumentPath, Report, Reported};

/// The parts of an order that determine the form of the host's network.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NetworkOrder {
    /// The kind of a data image.
    pub(crate) data: Option<DataKind>,
    /// The delivery profile, if it overrides the base's.
    pub(crate) delivery: Option<DeliveryProfile>,
    /// The installer whose answer file the order has.
    pub(crate) answers: Option<Installer>,
    /// Whether NICs that the documents do not mention may come up with DHCP.
    pub(crate) auto_default: bool,
}

impl NetworkOrder {
    /// Whether NICs without a profile stay down. A drive does not affect NICs that the documents do not mention.
    pub(crate) fn no_auto_default(self) -> bool {
        !self.auto_default && self.data.is_none()
    }

    /// Returns the target of the conversion: the readers of a drive, or the system in the base. The base is optional, because
    /// dayone can check documents without it.
    pub(crate) fn target(self, base: Option<&Base>) -> Target {
        let files = match (self.data, self.answers, self.delivery) {
            (Some(kind), _, _) => kind.network_files(),
            (None, Some(installer), _) => answers::network_files(installer),
            (None, None, Some(delivery)) => delivery.network_files(),
            (None, None, None) => base.map(|base| base.profile().network_files()).unwrap_or_default(),
        };
        let release = base.and_then(Base::network_manager_version);
        Target { files, release, no_auto_default: self.no_auto_default() }
    }
}

/// Adds the network to the recipe of an order. The order's host name overrides that of the network. `profile` is that of the base.
pub(crate) fn compose(order: Recipe, network: ConvertedNetwork, profile: DeliveryProfile) -> Recipe {
    if order.data.is_none() && order.delivery.unwrap_or(profile) == DeliveryProfile::Talos {
        return compose_talos(order, network);
    }
    // The target of the conversion is another system than Talos.
    let ConvertedNetwork { keyfiles, networkd_units, network_data, talos_network: _, hostname, topology: _ } = network;
    let Additions { hostname: ordered, .. } = order.additions;
    let data = order.data.map(|drive| {
        let network_data = network_data.map(Into::into).or(drive.network_data);
        DataDrive { network_data, ..drive }
    });
    let additions = Additions { keyfiles, networkd_units, hostname: ordered.or(hostname), ..order.additions };
    Recipe { additions, data, ..order }
}

/// Adds the network to the recipe of an order for Talos, as a kernel argument, with the host name. Talos leaves no NIC alone that it is
/// not told of, and the conversion has warned about that.
fn compose_talos(order: Recipe, network: ConvertedNetwork) -> Recipe {
    let hostname = order.additions.hostname.or(network.hostname);
    let document = network.talos_network.unwrap_or_default().document(hostname.as_ref());
    // Only the encoder can fail, and it writes to memory.
    let argument = document.and_then(|document| imagelib::talos::network_argument(&document).ok());
    let mut kernel_arguments = order.kernel_arguments;
    kernel_arguments.append.extend(argument);
    let additions = Additions { hostname: None, no_auto_default: false, ..order.additions };
    Recipe { additions, kernel_arguments, ..order }
}

/// Returns the network by which the initramfs fetches its root file system, if the recipe must have it. Without a network of the host, the
/// image is refused later. Warns if an initramfs that has the whole network does not reach the server.
fn initramfs_network(
    order: &Recipe,
    network: &ConvertedNetwork,
    base: &Base,
    report: &mut Report,
) -> Result<Option<InitramfsNetwork>, Reported> {
    if network.topology.interfaces.is_empty() {
        return Ok(None);
    }
    if let Some(server) = image::initramfs_server(order, base) {
        return hosts::initramfs_network::leading_to(server, &network.topology, report).map(Some);
    }
    // Other NICs and the user's own arguments for the initramfs may also lead to this server, or to another one.
    let mut appended = order.kernel_arguments.append.iter().map(KernelArgument::as_str);
    let is_own_server =
        |argument: &str| matches!(order.rootfs, Some(RootfsLocation::MediaPlane(_))) && argument.contains("://");
    let is_all = order.additions.no_auto_default
        && !appended.any(|argument| argument.starts_with("ip=") || is_own_server(argument));
    if let Some(server) = order.rootfs.as_ref().and_then(RootfsLocation::address).filter(|_| is_all) {
        hosts::initramfs_network::check_reachable(server, &network.topology, report);
    }
    Ok(None)
}

/// Warns about a host that is to boot with Secure Boot, if the base does not keep it. The base is examined only for such a host.
pub(crate) fn check_secure_boot<'a>(host: &HostSpec, base: impl FnOnce() -> &'a SecureBoot, report: &mut Report) {
    if host.boot_mode != Some(BootMode::UefiSecureBoot) {
        return;
    }
    let SecureBoot { verdict, reason, .. } = base();
    if *verdict != Verdict::Kept {
        let message = format!("is to boot with Secure Boot, and the verdict on the base is '{verdict}': {reason}");
        report.warning("secure-boot-not-kept", &host.paths.host, message);
    }
}

/// Makes the recipe of an order that may have an answer file. With one, the network goes to the installer and to the system that
/// it installs.
pub(crate) fn compose_installer(
    order: Recipe,
    network: ConvertedNetwork,
    answers: Option<&Answers>,
    base: &Base,
    report: &mut Report,
) -> Result<Recipe, Reported> {
    let initramfs_network = initramfs_network(&order, &network, base, report)?;
    let order = Recipe { initramfs_network, ..order };
    let Some(answers) = answers else { return Ok(compose(order, network, base.profile())) };
    let Additions { hostname, no_auto_default, .. } = &order.additions;
    let hostname = hostname.as_ref().or(network.hostname.as_ref());
    let system = InstalledSystem { network: &network, hostname, no_auto_default: *no_auto_default };
    let checked = check_arguments(answers.kind, &order, system, base, report);
    let completed = answers::complete(answers, system, report)?;
    checked?;
    let mut recipe = if answers::takes_network_files(answers.kind) {
        compose(order, network, base.profile())
    } else {
        Recipe { additions: Additions { hostname: None, no_auto_default: false, ..order.additions }, ..order }
    };
    recipe.additions.files.extend(completed.into_iter().filter_map(extra_file));
    let argument = answers::kernel_argument(answers.kind);
    // dayone makes the argument, so it is valid.
    recipe.kernel_arguments.append.extend(argument.and_then(|argument| argument.parse::<KernelArgument>().ok()));
    Ok(recipe)
}

/// Refuses kernel arguments that make the installer read another answer file as well, or in place of the order's, and answers in kernel
/// arguments that contradict the host's documents: those of the order, and those of the base that stay in the image.
fn check_arguments(
    kind: Installer,
    order: &Recipe,
    system: InstalledSystem<'_>,
    base: &Base,
    report: &mut Report,
) -> Result<(), Reported> {
    let KernelArgumentEdits { delete, append, replace } = &order.kernel_arguments;
    let replaced: Vec<(&str, String)> = replace.iter().map(Replacement::old_and_new).collect();
    let ordered = append.iter().map(KernelArgument::as_str).chain(replaced.iter().map(|(_, new)| new.as_str()));
    let ordered: BTreeSet<&str> = ordered.collect();
    let stays = |argument: &&str| {
        !delete.iter().any(|deleted| deleted.trim() == *argument) && !replaced.iter().any(|(old, _)| old == argument)
    };
    let of_base: BTreeSet<&str> = base.kernel_arguments(&order.boot_entries).into_iter().filter(stays).collect();
    let by_order = keys(&ordered, |argument| answers::names_other_file(kind, argument));
    let by_base = keys(&of_base, |argument| answers::names_file_despite_own(kind, argument));
    let mut result = Ok(());
    for (place, arguments, keys) in [("kernel arguments", ordered, by_order), ("boot entries", of_base, by_base)] {
        let place = DocumentPath::document(place);
        if !keys.is_empty() {
            let message =
                format!("name an answer file, and the order has another one; leave out {keys}, or the order's file");
            result = Err(report.refuse("answers-named-twice", &place, message));
        }
        result = result.and(answers::check_arguments(kind, arguments, system, &place, report));
    }
    result
}

/// The keys of the kernel arguments that name a file, as a list for people. The values may be secrets.
fn keys(arguments: &BTreeSet<&str>, names_file: impl Fn(&str) -> bool) -> String {
    let naming = arguments.iter().filter(|argument| names_file(argument));
    let keys: BTreeSet<&str> = naming.filter_map(|argument| argument.split('=').next()).collect();
    keys.into_iter().collect::<Vec<_>>().join(", ")
}

/// Returns the file as an image has it. dayone makes the path, so it is valid.
fn extra_file(file: InstallerFile) -> Option<ExtraFile> {
    let mode = match (file.is_program, file.is_secret) {
        (true, _) => 0o755,
        (false, true) => 0o600,
        (false, false) => 0o644,
    };
    let path = file.path.parse().ok()?;
    Some(ExtraFile { path, mode: FileMode::try_from(mode).ok()?, user: 0, group: 0, contents: file.content.into() })
}

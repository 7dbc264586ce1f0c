//! Initramfs images.

use imagelib::base::{DeliveryProfile, Format, KernelInitrdBase};
use imagelib::initramfs::InitramfsError;
use imagelib::source::Source;

use super::{Common, InitramfsFeatures, Inspection, Kind, Member, carried};

pub(super) fn inspect(
    base: &KernelInitrdBase,
    source: &dyn Source,
    formats: Vec<Format>,
) -> Result<Inspection, InitramfsError> {
    // The files and directories (with a slash) from which each kind of system takes its configuration.
    let paths: &[&str] = match base.profile {
        DeliveryProfile::Coreos => &["config.ign", "etc/coreos-firstboot-network/"],
        DeliveryProfile::RootInInitramfs => &["etc/NetworkManager/system-connections/"],
        DeliveryProfile::Networkd => &["etc/systemd/network/"],
        DeliveryProfile::Flatcar => &["usr/share/oem/config.ign"],
        DeliveryProfile::Dracut | DeliveryProfile::InitramfsTools => &["usr/lib/dayone/root/"],
        DeliveryProfile::Talos | DeliveryProfile::Unknown => &[],
    };
    let wanted =
        |path: &str| paths.iter().any(|known| path == *known || (known.ends_with('/') && path.starts_with(known)));
    let (carried, walk) = carried::read(source, wanted)?;
    let members = walk.members.into_iter().map(|member| Member {
        offset: member.offset,
        compression: member.compression.map(|compression| compression.to_string()),
        entries: member.entries,
    });
    let customised = base.customised || !carried.files.is_empty();
    let (size, carried) = (source.size(), Some(carried));
    let kind = Kind::Initramfs {
        members: members.collect(),
        profile: base.profile,
        evidence: base.evidence.clone(),
        features: InitramfsFeatures { network_manager: base.has_network_manager },
        problem: base.problem().map(|problem| problem.to_string()),
    };
    let network_manager_version = base.network_manager_version;
    Ok(Inspection {
        kind,
        common: Common { size, formats, network_manager_version, customised, carried, ..Common::default() },
    })
}

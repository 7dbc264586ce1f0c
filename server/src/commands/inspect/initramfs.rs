//! Initramfs images.

use imagelib::base::{DeliveryProfile, Format, KernelInitrdBase};
use imagelib::initramfs::InitramfsError;
use imagelib::source::Source;
use vocabulary::report::Report;

use super::{Common, InitramfsFeatures, Inspection, Kind, Member, carried};

// The files and directories (with a slash) from which each kind of system takes its configuration.
const COREOS: [&str; 2] = ["config.ign", "etc/coreos-firstboot-network/"];
const ROOT_IN_INITRAMFS: [&str; 1] = ["etc/NetworkManager/system-connections/"];
const NETWORKD: [&str; 1] = ["etc/systemd/network/"];
const FLATCAR: [&str; 1] = ["usr/share/oem/config.ign"];
const HANDED_OVER: [&str; 1] = ["usr/lib/dayone/root/"];

pub(super) fn inspect(
    base: &KernelInitrdBase,
    source: &dyn Source,
    formats: Vec<Format>,
) -> Result<Inspection, InitramfsError> {
    let paths = match base.profile {
        DeliveryProfile::Coreos => COREOS.as_slice(),
        DeliveryProfile::RootInInitramfs => ROOT_IN_INITRAMFS.as_slice(),
        DeliveryProfile::Networkd => NETWORKD.as_slice(),
        DeliveryProfile::Flatcar => FLATCAR.as_slice(),
        DeliveryProfile::Dracut | DeliveryProfile::InitramfsTools => HANDED_OVER.as_slice(),
        DeliveryProfile::Unknown => &[],
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
    let (size, carried, findings) = (source.size(), Some(carried), Report::new());
    let kind = Kind::Initramfs {
        members: members.collect(),
        profile: base.profile,
        evidence: base.evidence.clone(),
        features: InitramfsFeatures { network_manager: base.has_network_manager },
    };
    let network_manager_version = base.network_manager_version;
    Ok(Inspection { kind, common: Common { size, formats, network_manager_version, customised, carried, findings } })
}

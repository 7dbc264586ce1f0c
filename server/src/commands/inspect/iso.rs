//! ISOs and disks.

use hosts::network::NetworkManagerVersion;
use imagelib::base::{DiskBase, Format, IsoBase, IsoSystem, LiveFiles};
use imagelib::image::FileName;
use imagelib::initramfs::InitramfsError;
use imagelib::iso::coreos::CoreosIso;
use imagelib::source::Source;
use vocabulary::report::Report;

use super::carried::{self, Window};
use super::{Areas, Common, IgnitionArea, Inspection, Iso, KernelArgumentArea, KernelArguments, Kind};

pub(super) fn inspect(
    base: IsoBase,
    source: &dyn Source,
    formats: Vec<Format>,
    network_manager_version: Option<NetworkManagerVersion>,
) -> Result<Inspection, InitramfsError> {
    let (size, findings) = (base.size, base.report());
    let mut common = Common { size, formats, network_manager_version, findings, ..Common::default() };
    let hybrid = base.is_hybrid();
    let iso = Iso { volume_id: base.volume_id, hybrid };
    let (areas, live) = match base.system {
        IsoSystem::Coreos(coreos) => (coreos.areas, coreos.live),
        IsoSystem::Live(live) => {
            common.customised = live.is_customised();
            common.findings.append(live.report());
            return Ok(Inspection { kind: Kind::LiveIso { iso, live: live.describe() }, common });
        }
        IsoSystem::Other(reason) => {
            return Ok(Inspection { kind: Kind::Iso { iso, problem: reason.to_string() }, common });
        }
    };
    let (offset, length) = (areas.ignition().offset(), areas.ignition().length());
    let (carried, _) = carried::read(&Window { source, offset, length }, |_| true)?;
    common.customised = !areas.is_pristine();
    common.carried = Some(carried);
    Ok(Inspection { kind: Kind::CoreosIso { iso, areas: describe(&areas, live.as_ref()) }, common })
}

/// Inspects the image of a disk.
pub(super) fn inspect_disk(
    base: &DiskBase,
    formats: Vec<Format>,
    network_manager_version: Option<NetworkManagerVersion>,
) -> Inspection {
    let live = base.system.as_ref();
    let common = Common {
        size: base.size,
        formats,
        network_manager_version,
        customised: base.is_customised(),
        findings: live.map_or_else(|_| Report::new(), |live| live.report()),
        ..Common::default()
    };
    let problem = base.problem().map(|problem| problem.to_string());
    let talos_meta = base.talos_meta.as_ref().map(|meta| meta.keys().collect());
    Inspection { kind: Kind::Disk { live: live.ok().map(|live| live.describe()), talos_meta, problem }, common }
}

fn describe(areas: &CoreosIso, live: Option<&LiveFiles>) -> Areas {
    let ignition = areas.ignition();
    let kernel_arguments = areas.kernel_arguments().map(|kargs| KernelArguments {
        capacity: kargs.capacity(),
        default: kargs.default().to_string(),
        current: kargs.current().to_string(),
        areas: kargs
            .areas()
            .iter()
            .map(|area| KernelArgumentArea { file: area.file().map(str::to_owned), offset: area.offset() })
            .collect(),
    });
    let files = live.map(|live| {
        let all = [
            (FileName::Kernel, Some(&live.kernel)),
            (FileName::Initrd, Some(&live.initrd)),
            (FileName::Rootfs, live.rootfs.as_ref()),
        ];
        all.into_iter().filter_map(|(name, range)| range.map(|range| (name.as_str(), range.end - range.start)))
    });
    Areas {
        ignition_area: IgnitionArea {
            file: ignition.file().to_owned(),
            offset: ignition.offset(),
            length: ignition.length(),
            used: ignition.used(),
        },
        kernel_arguments,
        features: areas.features(),
        network_boot: files.into_iter().flatten().collect(),
    }
}

//! `dayone inspect`: shows what an image is, what dayone can make from it, and what is embedded in it.

mod carried;
mod initramfs;
mod iso;
mod text;

use std::collections::BTreeMap;

use hosts::network::NetworkManagerVersion;
use imagelib::base::live::LiveDescription;
use imagelib::base::{Base, DeliveryProfile, Format};
use imagelib::iso::coreos::Features;
use imagelib::medium_reads::MediumReads;
use imagelib::minimal_iso::MinimalIso;
use imagelib::ram_disk::RamDisk;
use imagelib::secure_boot::{SecureBoot, Survey};
use serde::Serialize;
use vocabulary::report::Report;

use super::base::OpenedBase;
use super::failure::Failure;
use super::{findings, terminal};
use crate::arguments::{InspectArguments, OutputFormat};
use carried::Carried;

/// The properties of an image. `docs/commands.md` describes its JSON.
#[derive(Serialize)]
struct Inspection {
    #[serde(flatten)]
    kind: Kind,
    #[serde(flatten)]
    common: Common,
}

/// The properties of a kind of image.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Kind {
    /// A CoreOS live ISO.
    CoreosIso {
        #[serde(flatten)]
        iso: Iso,
        #[serde(flatten)]
        areas: Areas,
    },
    /// An ISO whose boot menus start Linux.
    LiveIso {
        #[serde(flatten)]
        iso: Iso,
        #[serde(flatten)]
        live: LiveDescription,
    },
    /// Another ISO.
    Iso {
        #[serde(flatten)]
        iso: Iso,
        /// Why dayone cannot customise it.
        problem: String,
    },
    /// The image of a disk.
    Disk {
        #[serde(flatten)]
        live: Option<LiveDescription>,
        /// The keys of the values in the META partition of Talos, if the disk has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        talos_meta: Option<Vec<u8>>,
        /// Why dayone cannot customise it.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// An initramfs.
    Initramfs {
        /// Its archives, in the order in which the kernel unpacks them.
        members: Vec<Member>,
        /// The delivery profile of its system.
        profile: DeliveryProfile,
        /// The signs that show the profile.
        evidence: Vec<String>,
        features: InitramfsFeatures,
        /// Why dayone cannot customise it.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
}

#[derive(Default, Serialize)]
struct Common {
    /// Length in bytes.
    size: u64,
    /// The formats that dayone can make from it.
    formats: Vec<Format>,
    /// The release of NetworkManager in its initramfs, if the initramfs shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    network_manager_version: Option<NetworkManagerVersion>,
    /// Whether machines with Secure Boot start it; absent for an initramfs, which firmware does not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    secure_boot: Option<SecureBoot>,
    /// Whether an image of the format `iso` boots by UEFI HTTP boot; absent for an initramfs.
    #[serde(skip_serializing_if = "Option::is_none")]
    http_boot: Option<RamDisk>,
    /// Whether images of the format `minimal-iso` are possible; absent if the image is not a live ISO.
    #[serde(skip_serializing_if = "Option::is_none")]
    minimal_iso: Option<MinimalIso>,
    /// How many bytes of an image a BMC passes on until the system runs, by format.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    medium_reads: Vec<MediumReads>,
    /// Whether somebody has embedded a configuration in it.
    customised: bool,
    /// The embedded files; null if dayone does not know where this kind of image has them.
    carried: Option<Carried>,
    /// Findings about the image.
    #[serde(serialize_with = "crate::findings::serialize")]
    findings: Report,
}

#[derive(Serialize)]
struct Iso {
    volume_id: String,
    /// Whether it has a partition table.
    hybrid: bool,
}

#[derive(Serialize)]
struct Areas {
    ignition_area: IgnitionArea,
    /// Null for images without areas for them, whose kernel arguments dayone cannot change.
    kernel_arguments: Option<KernelArguments>,
    features: Features,
    /// The files for network boot, with their lengths in bytes.
    network_boot: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct IgnitionArea {
    file: String,
    offset: u64,
    length: u64,
    /// How many bytes of it are in use.
    used: u64,
}

#[derive(Serialize)]
struct KernelArguments {
    /// The maximum length of all kernel arguments, in bytes.
    capacity: u64,
    default: String,
    current: String,
    areas: Vec<KernelArgumentArea>,
}

#[derive(Serialize)]
struct KernelArgumentArea {
    /// Null if the image has only offsets.
    file: Option<String>,
    offset: u64,
}

/// Like the `features` of a base in the API.
#[derive(Serialize)]
struct InitramfsFeatures {
    /// Whether NetworkManager is in it. Its release is [`Common::network_manager_version`].
    network_manager: bool,
}

#[derive(Serialize)]
struct Member {
    offset: u64,
    /// Null if it is not compressed.
    compression: Option<String>,
    entries: u64,
}

pub(super) fn run(arguments: &InspectArguments) -> Result<(), Failure> {
    let OpenedBase { mut base, files, .. } = OpenedBase::open_single(&arguments.image)?;
    base.survey_initramfs(&files);
    let version = base.network_manager_version();
    let secure_boot =
        matches!(base, Base::Iso(_) | Base::Disk(_)).then(|| Survey::of_base(&base, &files).report().clone());
    let http_boot = base.formats().contains(&Format::Iso).then(|| RamDisk::of(&base, Format::Iso)).flatten();
    let (minimal_iso, medium_reads) = (MinimalIso::of(&base), MediumReads::of(&base));
    // There is exactly one file.
    let Some(file) = files.values().next() else { return Ok(()) };
    let formats = base.formats();
    let inspected = match base {
        Base::Iso(base) => iso::inspect(base, file, formats, version),
        Base::Disk(base) => Ok(iso::inspect_disk(&base, formats, version)),
        Base::KernelInitrd(base) => initramfs::inspect(&base, file, formats),
        Base::Nothing => return Ok(()),
    };
    let path = arguments.image.display().to_string();
    let mut inspection =
        inspected.map_err(|error| Failure::input(&format!("cannot read the files in {path}"), &error))?;
    inspection.common.secure_boot = secure_boot;
    inspection.common.http_boot = http_boot;
    inspection.common.minimal_iso = minimal_iso;
    inspection.common.medium_reads = medium_reads;
    file.check().map_err(|error| Failure::system("the file has changed meanwhile", &error))?;
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&inspection),
        OutputFormat::Text => {
            terminal::print(&text::describe(&path, &inspection))?;
            terminal::print(&findings::as_text(&inspection.common.findings))
        }
    }
}

//! `dayone inspect`: what an image is, what can be done with it, and what it carries.

mod carried;
mod initramfs;
mod iso;
mod text;

use std::collections::BTreeMap;

use hosts::network::NetworkManagerVersion;
use imagelib::base::live::LiveDescription;
use imagelib::base::{Base, DeliveryProfile, Format};
use serde::Serialize;
use vocabulary::report::Report;

use super::base::OpenedBase;
use super::failure::Failure;
use super::{findings, terminal};
use crate::arguments::{InspectArguments, OutputFormat};
use carried::Carried;

/// What is found in an image. Its serialisation is what programs read; see `docs/commands.md`.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Inspection {
    /// A CoreOS live ISO.
    CoreosIso {
        #[serde(flatten)]
        iso: Iso,
        #[serde(flatten)]
        areas: Areas,
        #[serde(flatten)]
        common: Common,
    },
    /// An ISO whose boot menus start Linux.
    LiveIso {
        #[serde(flatten)]
        iso: Iso,
        #[serde(flatten)]
        live: LiveDescription,
        #[serde(flatten)]
        common: Common,
    },
    /// Another ISO.
    Iso {
        #[serde(flatten)]
        iso: Iso,
        /// Why it cannot be customised.
        problem: String,
        #[serde(flatten)]
        common: Common,
    },
    /// An initramfs.
    Initramfs {
        /// Its archives, in the order in which the kernel unpacks them.
        members: Vec<Member>,
        /// Where its system looks for keyfiles.
        profile: DeliveryProfile,
        /// How that shows.
        evidence: Vec<String>,
        features: InitramfsFeatures,
        #[serde(flatten)]
        common: Common,
    },
}

#[derive(Serialize)]
struct Common {
    /// Length in bytes.
    size: u64,
    /// What images over it can be.
    formats: Vec<Format>,
    /// The release of NetworkManager in its initramfs, as far as it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    network_manager_version: Option<NetworkManagerVersion>,
    /// Whether somebody has put a configuration into it.
    customised: bool,
    /// What that is; null where dayone does not know such images.
    carried: Option<Carried>,
    /// What should be known about it.
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
    /// Null for images of 2020, whose kernel arguments cannot be changed.
    kernel_arguments: Option<KernelArguments>,
    features: Features,
    /// The files in it for network boot, with their lengths in bytes; empty where it has none.
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
    /// How long they can be together, in bytes.
    capacity: u64,
    default: String,
    current: String,
    areas: Vec<KernelArgumentArea>,
}

#[derive(Serialize)]
struct KernelArgumentArea {
    /// Null where the image tells offsets only.
    file: Option<String>,
    offset: u64,
}

#[derive(Serialize)]
struct Features {
    live_initrd_network: bool,
    installer_config: bool,
    installer_console: bool,
}

/// As `features` of a base in the API.
#[derive(Serialize)]
struct InitramfsFeatures {
    /// Whether NetworkManager is in it. Its release is [`Common::network_manager_version`].
    network_manager: bool,
}

#[derive(Serialize)]
struct Member {
    offset: u64,
    /// Null where it is not compressed.
    compression: Option<String>,
    entries: u64,
}

pub(super) fn run(arguments: &InspectArguments) -> Result<(), Failure> {
    let OpenedBase { mut base, files } = OpenedBase::open_single(&arguments.image)?;
    base.find_network_manager(&files);
    let version = base.network_manager_version();
    // A single file, whose role follows from what it is.
    let Some(file) = files.values().next() else { return Ok(()) };
    let formats = base.formats();
    let inspected = match base {
        Base::Iso(base) => iso::inspect(base, file, formats, version),
        Base::KernelInitrd(base) => initramfs::inspect(&base, file, formats),
        Base::Nothing => return Ok(()),
    };
    let path = arguments.image.display().to_string();
    let inspection = inspected.map_err(|error| Failure::input(&format!("cannot read what {path} carries"), &error))?;
    file.check().map_err(|error| Failure::system("what was found does not hold any more", &error))?;
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&inspection),
        OutputFormat::Text => {
            terminal::print(&text::describe(&path, &inspection))?;
            terminal::print(&findings::as_text(&inspection.common().findings))
        }
    }
}

impl Inspection {
    fn common(&self) -> &Common {
        match self {
            Self::CoreosIso { common, .. }
            | Self::LiveIso { common, .. }
            | Self::Iso { common, .. }
            | Self::Initramfs { common, .. } => common,
        }
    }
}

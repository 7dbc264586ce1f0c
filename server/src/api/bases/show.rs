//! Lists and shows bases.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use hosts::network::NetworkManagerVersion;
use imagelib::base::live::{
    BootEntryDescription, InitrdDescription, LiveDescription, LiveIso, NotCustomisable, UnifiedKernelDescription,
};
use imagelib::base::{Base, DeliveryProfile, DiskBase, Format, IsoBase, IsoSystem, KernelInitrdBase, Role};
use imagelib::medium_reads::MediumReads;
use imagelib::minimal_iso::MinimalIso;
use imagelib::ram_disk::RamDisk;
use imagelib::secure_boot::SecureBoot;
use imagelib::source::Source as _;
use serde::Serialize;
use utoipa::ToSchema;

use super::origin::BaseOrigin;
use crate::api::Api;
use crate::api::parameters::NoQuery;
use crate::api::problem::{Problem, ProblemKind};
use crate::findings::{FindingBody, findings};
use crate::store::{OpenBase, RegisteredBase};

/// All bases.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BaseList {
    /// The bases, ordered by name.
    pub(crate) bases: Vec<BaseBody>,
}

/// A base, and what dayone can make from it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Base)]
pub(crate) enum BaseBody {
    /// The base is available.
    Available(AvailableBase),
    /// The base is not available at the moment: its files are missing or have changed, or they have not arrived yet.
    Unavailable(UnavailableBase),
}

/// An available base, and what dayone can make from it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AvailableBase {
    #[schema(inline)]
    state: Available,
    /// The base's name.
    #[schema(example = "fcos")]
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) details: Box<BaseDetails>,
    #[serde(flatten)]
    pub(crate) origin: Box<BaseOrigin>,
}

/// A base that is not available at the moment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnavailableBase {
    #[schema(inline)]
    state: Unavailable,
    /// The base's name.
    #[schema(example = "fcos")]
    pub(crate) name: String,
    /// Why the base is not available.
    pub(crate) reason: String,
    #[serde(flatten)]
    pub(crate) origin: Box<BaseOrigin>,
}

// Each state is a type of its own: generators of clients do not understand the schema that serde's tag gives.

/// The base is available.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum Available {
    Available,
}

/// The base is not available at the moment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum Unavailable {
    Unavailable,
}

/// The properties of a base.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct BaseDetails {
    /// The base's identity: a digest over the digests of its files.
    pub(crate) identity: String,
    /// `coreos-iso`, `live-iso`, `iso` (which dayone cannot customise), `disk` or `kernel-initrd`.
    #[schema(example = "coreos-iso")]
    pub(crate) kind: &'static str,
    /// Its files, by role: `iso`, or `kernel`, `initrd`, `rootfs`, `esp` and the parts of a BIOS boot loader.
    pub(crate) files: BTreeMap<String, BaseFileBody>,
    /// The formats that dayone can make from it; empty if dayone cannot customise it.
    pub(crate) formats: Vec<Format>,
    /// The volume identifier of an ISO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) volume_id: Option<String>,
    /// Whether an ISO also has a partition table, so that it boots if the BMC shows it to the host as a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hybrid: Option<bool>,
    /// The delivery profile: how its system receives files, such as `coreos` or `root-in-initramfs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "coreos")]
    pub(crate) profile: Option<DeliveryProfile>,
    /// Whether somebody has embedded files in it. Images of a CoreOS ISO, of Talos' META partition, and of an initramfs with nothing but
    /// an Ignition config, then need `replace_embedded`; from any other base with embedded files, dayone makes no images.
    pub(crate) customised: bool,
    /// The size of the embed area in bytes, if the base has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) embed_area: Option<u64>,
    /// The size of the area for kernel arguments in bytes; absent if dayone cannot change them, or if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kernel_arguments_area: Option<u64>,
    /// The kernel arguments of the base as published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kernel_arguments: Option<String>,
    /// The features of its system.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(example = json!({"live-initrd-network": true}))]
    pub(crate) features: BTreeMap<&'static str, bool>,
    /// The release of NetworkManager in its initramfs, if the initramfs shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "1.54.0")]
    pub(crate) network_manager_version: Option<NetworkManagerVersion>,
    /// The signs that show the kind of its system, as lines of text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence: Vec<String>,
    /// The entries of a live ISO's or a disk's boot menus that start Linux; absent for a base of another kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) boot_entries: Option<Vec<BootEntryDescription>>,
    /// The initramfs images that these entries load; absent for a base of another kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) initrds: Option<Vec<InitrdDescription>>,
    /// The unified kernel images on a live ISO or a disk that firmware or systemd-boot starts; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unified_kernel_images: Vec<UnifiedKernelDescription>,
    /// The keys of the values in the META partition of Talos on a disk; absent if there is no such partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!([6, 10]))]
    pub(crate) talos_meta: Option<Vec<u8>>,
    /// Why dayone cannot make images from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_customisable: Option<String>,
    /// Whether machines with Secure Boot start its system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secure_boot: Option<SecureBoot>,
    /// Whether an image of the format `iso` boots by UEFI HTTP boot, as far as its system needs the medium.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) http_boot: Option<RamDisk>,
    /// Whether images of the format `minimal-iso` are possible; absent if the base is not a live ISO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) minimal_iso: Option<MinimalIso>,
    /// How many bytes of an image a BMC passes on until the system runs, by format; empty if dayone does not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) medium_reads: Vec<MediumReads>,
    /// Findings that matter before a host boots from it.
    pub(crate) findings: Vec<FindingBody>,
}

/// A file of a base.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BaseFile)]
pub(crate) struct BaseFileBody {
    /// The length in bytes.
    pub(crate) size: u64,
    /// The SHA-256 of its bytes, hexadecimal.
    pub(crate) sha256: String,
}

/// List the bases.
#[utoipa::path(operation_id = "listBases", get, path = "/v1/bases", tag = "bases", security(("token" = ["read"])),
    responses(
        (status = 200, description = "All bases", body = BaseList),
        (status = 400, description = "The query has a parameter (`wrong-parameter`)"),
    ))]
pub(super) async fn list(State(api): State<Arc<Api>>, _: NoQuery) -> Json<BaseList> {
    Json(BaseList { bases: bodies(&api) })
}

/// Show a base. While the server fetches it, `fetch` has the progress.
#[utoipa::path(operation_id = "getBase", get, path = "/v1/bases/{name}", tag = "bases", security(("token" = ["read"])),
    params(("name" = String, Path, description = "The base's name")),
    responses(
        (status = 200, description = "The base", body = BaseBody),
        (status = 404, description = "No base has this name (`not-found`)"),
    ))]
pub(super) async fn single(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Path(name): Path<String>,
) -> Result<Json<BaseBody>, Problem> {
    find(&api, &name).map(Json).ok_or_else(not_found)
}

/// No base has the name.
pub(super) fn not_found() -> Problem {
    Problem::new(ProblemKind::NotFound, "no base has this name; /v1/bases lists the bases")
}

/// Describes the base of this name.
pub(super) fn find(api: &Api, name: &str) -> Option<BaseBody> {
    bodies(api).into_iter().find(|base| base.name() == name)
}

/// Describes all bases: those that are there, and those that the server fetches for the first time.
pub(crate) fn bodies(api: &Api) -> Vec<BaseBody> {
    // First, because a base that arrives meanwhile is among the others then.
    let mut unfinished = api.fetches.unfinished();
    let mut bodies = Vec::new();
    for base in api.store.bases() {
        let position = unfinished.iter().position(|fetch| fetch.record.name == *base.name());
        let fetch = position.map(|position| unfinished.remove(position));
        bodies.push(body(&base, BaseOrigin::of(&api.store, &base, fetch.as_ref())));
    }
    for fetch in unfinished {
        let origin = BaseOrigin::first(&fetch);
        let reason = origin.why_not_here();
        let (name, state) = (fetch.record.name.to_string(), Unavailable::Unavailable);
        bodies.push(BaseBody::Unavailable(UnavailableBase { state, name, reason, origin: Box::new(origin) }));
    }
    bodies.sort_by(|one, other| one.name().cmp(other.name()));
    bodies
}

fn body(base: &RegisteredBase, origin: BaseOrigin) -> BaseBody {
    let (name, origin) = (base.name().to_string(), Box::new(origin));
    match base.state() {
        Ok(open) => {
            let details = Box::new(details(&open));
            BaseBody::Available(AvailableBase { state: Available::Available, name, details, origin })
        }
        Err(reason) => BaseBody::Unavailable(UnavailableBase { state: Unavailable::Unavailable, name, reason, origin }),
    }
}

impl BaseBody {
    /// The base's name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Available(base) => &base.name,
            Self::Unavailable(base) => &base.name,
        }
    }
}

fn details(open: &OpenBase) -> BaseDetails {
    let file = |(role, file): (&Role, &crate::store::OpenBaseFile)| {
        let body = BaseFileBody { size: file.file.size(), sha256: file.digest.to_string() };
        (role.word().to_owned(), body)
    };
    let details = BaseDetails {
        identity: open.identity.to_string(),
        files: open.files.iter().map(file).collect(),
        formats: open.base.formats(),
        network_manager_version: open.base.network_manager_version(),
        secure_boot: Some(open.secure_boot.report().clone()),
        http_boot: http_boot(&open.base),
        minimal_iso: MinimalIso::of(&open.base),
        medium_reads: MediumReads::of(&open.base),
        ..BaseDetails::default()
    };
    match &open.base {
        Base::Iso(iso) => iso_details(iso, details),
        Base::Disk(disk) => disk_details(disk, details),
        Base::KernelInitrd(base) => kernel_initrd_details(base, details),
        Base::Nothing => details,
    }
}

/// `None` for bases that firmware does not boot.
fn http_boot(base: &Base) -> Option<RamDisk> {
    let bootable = base.formats().contains(&Format::Iso);
    RamDisk::of(base, Format::Iso).filter(|_| bootable)
}

fn iso_details(iso: &IsoBase, common: BaseDetails) -> BaseDetails {
    let details = BaseDetails {
        kind: "iso",
        volume_id: Some(iso.volume_id.clone()),
        hybrid: Some(iso.is_hybrid()),
        findings: findings(&iso.report()),
        ..common
    };
    let areas = match &iso.system {
        IsoSystem::Coreos(coreos) => &coreos.areas,
        IsoSystem::Live(live) => {
            let mut report = iso.report();
            report.append(live.report());
            return live_details(live, BaseDetails { kind: "live-iso", findings: findings(&report), ..details });
        }
        IsoSystem::Other(reason) => return BaseDetails { not_customisable: Some(reason.to_string()), ..details },
    };
    let features = areas.features();
    BaseDetails {
        kind: "coreos-iso",
        profile: Some(DeliveryProfile::Coreos),
        customised: !areas.is_pristine(),
        embed_area: Some(areas.ignition().length()),
        kernel_arguments_area: areas.kernel_arguments().map(imagelib::iso::coreos::KernelArgumentAreas::capacity),
        kernel_arguments: areas.kernel_arguments().map(|areas| areas.default().to_string()),
        features: BTreeMap::from([
            ("live-initrd-network", features.live_initrd_network),
            ("installer-config", features.installer_config),
            ("installer-console", features.installer_console),
        ]),
        ..details
    }
}

fn disk_details(disk: &DiskBase, common: BaseDetails) -> BaseDetails {
    let details = BaseDetails { kind: "disk", ..common };
    let details = match &disk.system {
        Ok(live) => live_details(live, BaseDetails { findings: findings(&live.report()), ..details }),
        Err(_) => details,
    };
    BaseDetails {
        profile: disk.talos_meta.as_ref().map(|_| DeliveryProfile::Talos).or(details.profile),
        talos_meta: disk.talos_meta.as_ref().map(|meta| meta.keys().collect()),
        customised: disk.is_customised(),
        not_customisable: disk.problem().map(|problem| problem.to_string()),
        ..details
    }
}

fn live_details(live: &LiveIso, common: BaseDetails) -> BaseDetails {
    let LiveDescription { boot_entries, initrds, unified_kernel_images } = live.describe();
    BaseDetails {
        profile: Some(live.profile()),
        customised: live.is_customised(),
        boot_entries: Some(boot_entries),
        initrds: Some(initrds),
        unified_kernel_images,
        not_customisable: live.is_customised().then(|| NotCustomisable::Customised.to_string()),
        ..common
    }
}

fn kernel_initrd_details(base: &KernelInitrdBase, common: BaseDetails) -> BaseDetails {
    BaseDetails {
        kind: "kernel-initrd",
        profile: Some(base.profile),
        customised: base.customised,
        not_customisable: base.problem().map(|problem| problem.to_string()),
        evidence: base.evidence.clone(),
        features: BTreeMap::from([("network-manager", base.has_network_manager)]),
        ..common
    }
}

//! `/v1/bases`: the bases of images.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use hosts::network::NetworkManagerVersion;
use imagelib::base::live::{BootEntryDescription, InitrdDescription, LiveDescription, NotCustomisable};
use imagelib::base::{Base, DeliveryProfile, Format, IsoBase, IsoSystem, KernelInitrdBase, Role};
use imagelib::source::Source as _;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Api;
use super::problem::{Problem, ProblemKind};
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
    /// The base is not available at the moment. The server checks it again every few seconds.
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
    /// `coreos-iso`, `live-iso`, `iso` (which dayone cannot customise) or `kernel-initrd`.
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
    /// Whether somebody has embedded files in it. Then images of this base need `replace_embedded`; from a live ISO with
    /// embedded files, dayone makes no images.
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
    /// The entries of a live ISO's boot menus that start Linux; absent for a base of another kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) boot_entries: Option<Vec<BootEntryDescription>>,
    /// The initramfs images that these entries load; absent for a base of another kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) initrds: Option<Vec<InitrdDescription>>,
    /// Why dayone cannot make images from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_customisable: Option<String>,
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

/// The routes.
pub(super) fn router() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(single))
}

/// List the bases.
#[utoipa::path(operation_id = "listBases", get, path = "/v1/bases", tag = "bases",
    responses((status = 200, description = "All bases", body = BaseList)))]
async fn list(State(api): State<Arc<Api>>) -> Json<BaseList> {
    Json(BaseList { bases: api.store.bases().iter().map(|base| body(base)).collect() })
}

/// Show a base.
#[utoipa::path(operation_id = "getBase", get, path = "/v1/bases/{name}", tag = "bases",
    params(("name" = String, Path, description = "The base's name")),
    responses(
        (status = 200, description = "The base", body = BaseBody),
        (status = 404, description = "No base has this name (`not-found`)"),
    ))]
async fn single(State(api): State<Arc<Api>>, Path(name): Path<String>) -> Result<Json<BaseBody>, Problem> {
    match api.store.base(&name) {
        Some(base) => Ok(Json(body(&base))),
        None => Err(Problem::new(ProblemKind::NotFound, "no base has this name; /v1/bases lists the bases")),
    }
}

/// Describes a base.
pub(crate) fn body(base: &RegisteredBase) -> BaseBody {
    let name = base.name().to_string();
    match base.state() {
        Ok(open) => {
            let details = Box::new(details(&open));
            BaseBody::Available(AvailableBase { state: Available::Available, name, details })
        }
        Err(reason) => BaseBody::Unavailable(UnavailableBase { state: Unavailable::Unavailable, name, reason }),
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
        ..BaseDetails::default()
    };
    match &open.base {
        Base::Iso(iso) => iso_details(iso, details),
        Base::KernelInitrd(base) => kernel_initrd_details(base, details),
        Base::Nothing => details,
    }
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
            let LiveDescription { boot_entries, initrds } = live.describe();
            let not_customisable = live.is_customised().then(|| NotCustomisable::Customised.to_string());
            return BaseDetails {
                kind: "live-iso",
                profile: Some(live.profile()),
                customised: live.is_customised(),
                boot_entries: Some(boot_entries),
                initrds: Some(initrds),
                not_customisable,
                findings: findings(&report),
                ..details
            };
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

fn kernel_initrd_details(base: &KernelInitrdBase, common: BaseDetails) -> BaseDetails {
    BaseDetails {
        kind: "kernel-initrd",
        profile: Some(base.profile),
        customised: base.customised,
        evidence: base.evidence.clone(),
        features: BTreeMap::from([("network-manager", base.has_network_manager)]),
        ..common
    }
}

//! What a client orders: one image for one host over one base. In JSON, or as the documents and a query.

use std::collections::BTreeSet;

use bytes::Bytes;
use imagelib::base::Format;
use imagelib::delivery::DeliveryProfile;
use imagelib::host::HostName;
use imagelib::ignition::{ExtraFile, SshPublicKey, Unit, UserConfig};
use imagelib::kernel_arguments::{KernelArgument, KernelArgumentEdits, Replacement};
use imagelib::recipe::RootfsUrl;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::schema::{ExtraFileBody, FormatBody, KernelArgumentEditsBody, UnitBody};
use crate::api::json;
use crate::api::parameters::Parameters;
use crate::api::problem::{Problem, ProblemKind};

/// An order in JSON. Give the host's network as `documents` or as `nmstate`, one of them.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ImageRequest)]
pub(super) struct JsonOrder {
    /// Name of the base.
    #[schema(example = "fcos")]
    base: String,
    /// What to make; `iso` if absent.
    #[serde(default = "iso")]
    #[schema(value_type = FormatBody)]
    format: Format,
    /// The user's documents as text: `NMState`, or a BareMetalHost with its Secret, in YAML or JSON.
    #[serde(default)]
    documents: Option<String>,
    /// The host's `NMState`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    nmstate: Option<Box<RawValue>>,
    /// Which of the hosts in the documents is meant, by its name. Needed where there are several.
    #[serde(default)]
    host: Option<String>,
    /// The host name to set, whatever the documents say.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 64, example = "worker-0.example.com")]
    hostname: Option<HostName>,
    /// An Ignition config of the user's own (version 3), which the image's is merged with. CoreOS bases only.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    ignition: Option<Box<RawValue>>,
    /// SSH public keys of the user `core`. CoreOS bases only.
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    ssh_authorized_keys: Vec<SshPublicKey>,
    /// Further files.
    #[serde(default)]
    #[schema(value_type = Vec<ExtraFileBody>)]
    files: Vec<ExtraFile>,
    /// systemd units. CoreOS bases only.
    #[serde(default)]
    #[schema(value_type = Vec<UnitBody>)]
    units: Vec<Unit>,
    /// Whether NICs that the documents do not mention may come up with DHCP, as NetworkManager does of itself.
    #[serde(default)]
    auto_default: bool,
    /// Changes to the kernel arguments of the base.
    #[serde(default)]
    #[schema(value_type = KernelArgumentEditsBody)]
    kernel_arguments: KernelArgumentEdits,
    /// The titles of the boot entries that get the kernel arguments and what is added to the system. All, if absent.
    #[serde(default)]
    boot_entries: BTreeSet<String>,
    /// How the system takes what is added, where its initramfs does not say so: see `profile` of the base.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "dracut")]
    profile: Option<DeliveryProfile>,
    /// Where a `minimal-iso` fetches its root file system from (http or https). From this server, if absent.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "http://192.0.2.10/rootfs.img")]
    rootfs_url: Option<RootfsUrl>,
    /// Whether what somebody embedded in the base before may be replaced. Without this, such a base is refused.
    #[serde(default)]
    replace_embedded: bool,
}

fn iso() -> Format {
    Format::Iso
}

/// The parameters of an order whose body is the user's documents.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "documents what Order::from_query reads")]
pub(super) struct OrderQuery {
    /// Name of the base. That it is there says that the body is the user's documents, whatever its content type; with
    /// `application/json` and without it, the body is an `ImageRequest`.
    base: Option<String>,
    /// What to make: `iso` (the default) or `usb` for virtual media, `minimal-iso` for slow virtual media, `initrd` for
    /// network boot.
    #[param(value_type = Option<FormatBody>, inline)]
    format: Option<String>,
    /// Which of the hosts in the documents is meant, by its name. Needed where there are several.
    host: Option<String>,
    /// The host name to set, whatever the documents say.
    hostname: Option<String>,
    /// An SSH public key of the user `core`; repeatable.
    ssh_authorized_key: Option<Vec<String>>,
    /// `true`: NICs that the documents do not mention may come up with DHCP, as NetworkManager does of itself.
    auto_default: Option<bool>,
    /// A kernel argument to add; repeatable.
    karg_append: Option<Vec<String>>,
    /// A kernel argument to remove; repeatable.
    karg_delete: Option<Vec<String>>,
    /// A kernel argument's value to change, `KEY=OLD=NEW`; repeatable.
    karg_replace: Option<Vec<String>>,
    /// Title of a boot entry that gets the kernel arguments and what is added to the system; repeatable. All, if absent.
    boot_entry: Option<Vec<String>>,
    /// How the system takes what is added, where its initramfs does not say so: see `profile` of the base.
    profile: Option<String>,
    /// Where a `minimal-iso` fetches its root file system from (http or https). From this server, if absent.
    rootfs_url: Option<String>,
    /// `true`: what somebody embedded in the base before may be replaced.
    replace_embedded: Option<bool>,
}

/// An order, whichever way it came.
pub(super) struct Order {
    /// Name of the base.
    pub base: String,
    /// What to make.
    pub format: Format,
    /// What describes the host.
    pub documents: Bytes,
    /// Which of the hosts in the documents.
    pub host: Option<String>,
    /// The host name to set, whatever the documents say.
    pub hostname: Option<HostName>,
    /// The user's own Ignition config.
    pub ignition: Option<UserConfig>,
    /// For the user `core`.
    pub ssh_authorized_keys: Vec<SshPublicKey>,
    /// Further files.
    pub files: Vec<ExtraFile>,
    /// systemd units.
    pub units: Vec<Unit>,
    /// Whether NICs that the documents do not mention may come up with DHCP.
    pub auto_default: bool,
    /// Changes to the kernel arguments.
    pub kernel_arguments: KernelArgumentEdits,
    /// Which boot entries; all, if none is named.
    pub boot_entries: BTreeSet<String>,
    /// How the system takes what is added, where that is not as its base says.
    pub profile: Option<DeliveryProfile>,
    /// Where a minimal ISO fetches its root file system from.
    pub rootfs_url: Option<RootfsUrl>,
    /// Whether what the base carries may be replaced.
    pub replace_embedded: bool,
}

impl Order {
    /// Reads an order in JSON.
    pub(super) fn from_json(body: &[u8]) -> Result<Self, Problem> {
        let order: JsonOrder = json::read(body)?;
        let documents = match (order.documents, order.nmstate) {
            (Some(documents), None) => documents.into(),
            (None, Some(nmstate)) => String::from(Box::<str>::from(nmstate)).into(),
            (None, None) => return Err(malformed("the request has neither documents nor nmstate; give one of them")),
            (Some(_), Some(_)) => {
                return Err(malformed("the request has both documents and nmstate; give one of them"));
            }
        };
        Ok(Self {
            base: order.base,
            format: order.format,
            documents,
            host: order.host,
            hostname: order.hostname,
            ignition: order.ignition.map(|config| parse_ignition(&config)).transpose()?,
            ssh_authorized_keys: order.ssh_authorized_keys,
            files: order.files,
            units: order.units,
            auto_default: order.auto_default,
            kernel_arguments: order.kernel_arguments,
            boot_entries: order.boot_entries,
            profile: order.profile,
            rootfs_url: order.rootfs_url,
            replace_embedded: order.replace_embedded,
        })
    }

    /// Reads the parameters of an order over the base `base`, whose documents are still to come.
    pub(super) fn from_query(base: String, mut query: Parameters) -> Result<Self, Problem> {
        let order = Self {
            base,
            format: query.one("format")?.unwrap_or(Format::Iso),
            documents: Bytes::new(),
            host: query.one("host")?,
            hostname: query.one("hostname")?,
            ignition: None,
            ssh_authorized_keys: query.all("ssh_authorized_key")?,
            files: Vec::new(),
            units: Vec::new(),
            auto_default: query.one("auto_default")?.unwrap_or_default(),
            kernel_arguments: KernelArgumentEdits {
                append: query.all::<KernelArgument>("karg_append")?,
                delete: query.all("karg_delete")?,
                replace: query.all::<Replacement>("karg_replace")?,
            },
            boot_entries: query.all("boot_entry")?.into_iter().collect(),
            profile: query.one("profile")?,
            rootfs_url: query.one("rootfs_url")?,
            replace_embedded: query.one("replace_embedded")?.unwrap_or_default(),
        };
        query.finish()?;
        Ok(order)
    }
}

fn parse_ignition(config: &RawValue) -> Result<UserConfig, Problem> {
    UserConfig::parse(config.get().as_bytes())
        .map_err(|error| Problem::new(ProblemKind::DocumentsRefused, error.to_string()))
}

fn malformed(detail: &str) -> Problem {
    Problem::new(ProblemKind::MalformedRequest, detail)
}

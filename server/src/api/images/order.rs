//! What a client orders: one image for one host over one base. In JSON, or as the documents and a query.

use std::collections::BTreeSet;

use imagelib::base::Format;
use imagelib::data_image::{DataKind, FileSystem};
use imagelib::delivery::DeliveryProfile;
use imagelib::ignition::{ExtraFile, SshPublicKey, Unit, UserConfig};
use imagelib::kernel_arguments::{KernelArgument, KernelArgumentEdits, Replacement};
use imagelib::recipe::{DataDrive, RootfsUrl};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};
use vocabulary::host::HostName;

use crate::api::json;
use crate::api::parameters::Parameters;
use crate::api::problem::{Problem, ProblemKind};
use crate::api::user_documents::{DocumentsBody, UserDocuments};

/// An order in JSON. Give the host's network as `documents` or as `nmstate`, one of them; for a data image, which can do
/// without, also as `data.network_data`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ImageRequest)]
pub(in crate::api) struct JsonOrder {
    /// Name of the base. Needed but for a data image, which has none.
    #[serde(default)]
    #[schema(example = "fcos")]
    base: Option<String>,
    /// What to make; if absent, `data` where there is a member `data`, and `iso` otherwise.
    #[serde(default)]
    format: Option<Format>,
    /// What is on a data image.
    #[serde(default)]
    data: Option<DataDrive>,
    /// The user's documents: as text, such as `NMState` or a BareMetalHost with its Secret, or as files.
    #[serde(default)]
    #[schema(value_type = Option<DocumentsBody>)]
    documents: Option<UserDocuments>,
    /// The host's `NMState`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    nmstate: Option<Box<RawValue>>,
    /// Which of the hosts in the documents is meant, by its name or a MAC address. Needed where there are several.
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
    files: Vec<ExtraFile>,
    /// systemd units. CoreOS bases only.
    #[serde(default)]
    units: Vec<Unit>,
    /// Whether NICs that the documents do not mention may come up with DHCP, as NetworkManager does of itself.
    #[serde(default)]
    auto_default: bool,
    /// Changes to the kernel arguments of the base.
    #[serde(default)]
    kernel_arguments: KernelArgumentEdits,
    /// The titles of the boot entries that get the kernel arguments and what is added to the system. All, if absent.
    #[serde(default)]
    boot_entries: BTreeSet<String>,
    /// How the system takes what is added, where its initramfs does not say so: see `profile` of the base.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "dracut")]
    profile: Option<DeliveryProfile>,
    /// Where a `minimal-iso`, or a medium around CoreOS's kernel, fetches its root file system from (http or https). From
    /// this server, if absent.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "http://192.0.2.10/rootfs.img")]
    rootfs_url: Option<RootfsUrl>,
    /// Whether what somebody embedded in the base before may be replaced. Without this, such a base is refused.
    #[serde(default)]
    replace_embedded: bool,
}

/// The parameters of an order whose body is the user's documents.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct OrderQuery {
    /// Name of the base. That it is there says that the body is the user's documents, whatever its content type; with
    /// `application/json` and without it, the body is an `ImageRequest`. A data image has no base, and `format=data` says
    /// the same.
    base: Option<String>,
    /// What to make: `iso` (the default) or `usb` for virtual media, `minimal-iso` for slow virtual media, `initrd` for
    /// network boot, `data` for a drive with the configuration alone.
    #[param(inline)]
    format: Option<Format>,
    /// Whom a data image is for: `config-2` (for cloud-init and the Ironic Python agent), `cidata`
    /// (for cloud-init) or `combustion`.
    #[param(inline)]
    data: Option<DataKind>,
    /// The file system of a data image: `iso` (the default) or `vfat`, for slots that show a disk.
    #[param(inline)]
    file_system: Option<FileSystem>,
    /// The publisher of a `config-2` drive's ISO, which Ironic compares with the kernel argument `ir_pub_id`.
    publisher: Option<String>,
    /// Which of the hosts in the documents is meant, by its name or a MAC address. Needed where there are several.
    host: Option<String>,
    /// The host name to set, whatever the documents say.
    #[param(value_type = Option<String>)]
    hostname: Option<HostName>,
    /// An SSH public key of the user `core`; repeatable.
    #[param(value_type = Option<Vec<String>>)]
    ssh_authorized_key: Vec<SshPublicKey>,
    /// `true`: NICs that the documents do not mention may come up with DHCP, as NetworkManager does of itself.
    auto_default: Option<bool>,
    /// A kernel argument to add; repeatable.
    #[param(value_type = Option<Vec<String>>)]
    karg_append: Vec<KernelArgument>,
    /// A kernel argument to remove; repeatable.
    #[param(value_type = Option<Vec<String>>)]
    karg_delete: Vec<String>,
    /// A kernel argument's value to change, `KEY=OLD=NEW`; repeatable.
    #[param(value_type = Option<Vec<String>>)]
    karg_replace: Vec<Replacement>,
    /// Title of a boot entry that gets the kernel arguments and what is added to the system; repeatable. All, if absent.
    #[param(value_type = Option<Vec<String>>)]
    boot_entry: Vec<String>,
    /// How the system takes what is added, where its initramfs does not say so: see `profile` of the base.
    #[param(value_type = Option<String>)]
    profile: Option<DeliveryProfile>,
    /// Where a `minimal-iso`, or a medium around CoreOS's kernel, fetches its root file system from (http or https). From
    /// this server, if absent.
    #[param(value_type = Option<String>)]
    rootfs_url: Option<RootfsUrl>,
    /// `true`: what somebody embedded in the base before may be replaced.
    replace_embedded: Option<bool>,
}

impl OrderQuery {
    fn take(query: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self {
            base: query.one("base")?,
            format: query.one("format")?,
            data: query.one("data")?,
            file_system: query.one("file_system")?,
            publisher: query.one("publisher")?,
            host: query.one("host")?,
            hostname: query.one("hostname")?,
            ssh_authorized_key: query.all("ssh_authorized_key")?,
            auto_default: query.one("auto_default")?,
            karg_append: query.all("karg_append")?,
            karg_delete: query.all("karg_delete")?,
            karg_replace: query.all("karg_replace")?,
            boot_entry: query.all("boot_entry")?,
            profile: query.one("profile")?,
            rootfs_url: query.one("rootfs_url")?,
            replace_embedded: query.one("replace_embedded")?,
        })
    }

    fn into_order(self) -> Result<Order, Problem> {
        let data = data(self.data, self.file_system, self.publisher)?;
        let format = format(self.format, data.as_ref(), self.base.as_deref())
            .map_err(|detail| Problem::new(ProblemKind::WrongParameter, detail))?;
        Ok(Order {
            base: self.base,
            format,
            data,
            documents: None,
            host: self.host,
            hostname: self.hostname,
            ignition: None,
            ssh_authorized_keys: self.ssh_authorized_key,
            files: Vec::new(),
            units: Vec::new(),
            auto_default: self.auto_default.unwrap_or_default(),
            kernel_arguments: KernelArgumentEdits {
                append: self.karg_append,
                delete: self.karg_delete,
                replace: self.karg_replace,
            },
            boot_entries: self.boot_entry.into_iter().collect(),
            profile: self.profile,
            rootfs_url: self.rootfs_url,
            replace_embedded: self.replace_embedded.unwrap_or_default() && format != Format::Data,
        })
    }
}

/// An order, whichever way it came.
#[derive(Clone)]
pub(in crate::api) struct Order {
    /// Name of the base; there is none exactly where there is a data drive.
    pub base: Option<String>,
    /// What to make.
    pub format: Format,
    /// What is on a data image; there exactly where that is the format.
    pub data: Option<DataDrive>,
    /// What describes the host; absent where a data image does without.
    pub documents: Option<UserDocuments>,
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
    pub(in crate::api) fn from_json(body: &[u8]) -> Result<Self, Problem> {
        Self::from_json_order(json::read(body)?)
    }

    /// Reads an order in JSON that was a part of another.
    pub(in crate::api) fn from_json_part(body: &[u8]) -> Result<Self, Problem> {
        Self::from_json_order(json::read_part(body)?)
    }

    fn from_json_order(order: JsonOrder) -> Result<Self, Problem> {
        let documents = match (order.documents, order.nmstate) {
            (Some(documents), None) => Some(documents),
            (None, Some(nmstate)) => Some(String::from(Box::<str>::from(nmstate)).into()),
            (None, None) if order.data.is_some() => None,
            (None, None) => return Err(malformed("the request has neither documents nor nmstate; give one of them")),
            (Some(_), Some(_)) => {
                return Err(malformed("the request has both documents and nmstate; give one of them"));
            }
        };
        if documents.is_some() && order.data.as_ref().is_some_and(|drive| drive.network_data.is_some()) {
            return Err(malformed("the request has the network twice: data.network_data, and documents or nmstate"));
        }
        let format = format(order.format, order.data.as_ref(), order.base.as_deref()).map_err(malformed)?;
        Ok(Self {
            base: order.base,
            format,
            data: order.data,
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
            // Without a base there is nothing to replace.
            replace_embedded: order.replace_embedded && format != Format::Data,
        })
    }

    /// Reads the parameters of an order whose documents are still to come.
    pub(in crate::api) fn from_query(mut query: Parameters) -> Result<Self, Problem> {
        let order = OrderQuery::take(&mut query)?.into_order()?;
        query.finish()?;
        Ok(order)
    }
}

/// Whether a parameter says that the query is an order, so that the body is documents.
pub(in crate::api) fn is_order(name: &str, value: &str) -> bool {
    matches!((name, value), ("base" | "data", _) | ("format", "data"))
}

/// What is made. A data image has no base, and every other image has one.
fn format(wanted: Option<Format>, data: Option<&DataDrive>, base: Option<&str>) -> Result<Format, &'static str> {
    match (wanted, data, base) {
        (Some(Format::Data), None, _) => Err("data: say whom the drive is for, config-2, cidata or combustion"),
        (None | Some(Format::Data), Some(_), Some(_)) => Err("base: a data image has none; leave it out"),
        (None | Some(Format::Data), Some(_), None) => Ok(Format::Data),
        (Some(_), Some(_), _) => Err("data: this is for the format data only; leave it out, or ask for that"),
        (_, None, None) => Err("name the base (parameter or member base); /v1/bases lists them"),
        (wanted, None, Some(_)) => Ok(wanted.unwrap_or(Format::Iso)),
    }
}

fn data(
    kind: Option<DataKind>,
    file_system: Option<FileSystem>,
    publisher: Option<String>,
) -> Result<Option<DataDrive>, Problem> {
    match kind {
        Some(kind) => Ok(Some(DataDrive { publisher, ..DataDrive::new(kind, file_system.unwrap_or_default()) })),
        None if file_system.is_some() || publisher.is_some() => {
            let detail = "file_system and publisher are for data images only: say data=config-2, data=cidata or \
                          data=combustion, too";
            Err(Problem::new(ProblemKind::WrongParameter, detail))
        }
        None => Ok(None),
    }
}

fn parse_ignition(config: &RawValue) -> Result<UserConfig, Problem> {
    UserConfig::parse(config.get().as_bytes())
        .map_err(|error| Problem::new(ProblemKind::DocumentsRefused, error.to_string()))
}

fn malformed(detail: &str) -> Problem {
    Problem::new(ProblemKind::MalformedRequest, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_that_is_described_is_read() {
        let mut query = Parameters::new(None);
        OrderQuery::take(&mut query).unwrap();
        let described = OrderQuery::into_params(|| None);
        assert_eq!(described.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>(), query.known());
    }
}

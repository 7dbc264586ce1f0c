//! Orders of images: one image of one base for one host. A client sends JSON, or documents and a query.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::str::FromStr;

use imagelib::base::Format;
use imagelib::data_image::{DataKind, FileSystem};
use imagelib::delivery::DeliveryProfile;
use imagelib::ignition::{ExtraFile, SshPublicKey, Unit, UserConfig};
use imagelib::kernel_arguments::{KernelArgument, KernelArgumentEdits, Replacement};
use imagelib::recipe::{DataDrive, RootfsUrl};
use media::access::{AccessLimits, Network, OnlyFrom, Ttl};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use vocabulary::answers::Answers;
use vocabulary::host::HostName;

use crate::api::json;
use crate::api::parameters::query_parameters;
use crate::api::problem::{Problem, ProblemKind};
use crate::api::request::DocumentRequest;
use crate::api::user_documents::{DocumentsBody, UserDocuments};

/// How many bytes of a request the images of all its hosts may repeat together. An answer file of a megabyte, for each of ten thousand
/// hosts, would fill the memory and the disk.
const MAX_COPIES: usize = 256 << 20;

/// A request for an image. Give the host's network as either `documents` or `nmstate`. A data image can also have it as
/// `data.network_data`, or have no network.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ImageRequest {
    /// The name of the base. A data image has none; all other images need one.
    #[serde(default)]
    #[schema(example = "fcos")]
    pub base: Option<String>,
    /// What to make. The default is `data` if the request has the member `data`, and otherwise `iso`.
    #[serde(default)]
    pub format: Option<Format>,
    /// The contents of a data image.
    #[serde(default)]
    pub data: Option<DataDrive>,
    /// The user's documents, as text (such as `NMState`, or a BareMetalHost with its Secret) or as files.
    #[serde(default)]
    #[schema(value_type = Option<DocumentsBody>)]
    pub documents: Option<UserDocuments>,
    /// The host's `NMState`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub nmstate: Option<Box<RawValue>>,
    /// The host, by its name or a MAC address. Required if the documents describe several hosts.
    #[serde(default)]
    pub host: Option<String>,
    /// `all`: make an image for each host in the documents, with an answer for each host (207). A boot is for all hosts anyway.
    #[serde(default)]
    pub hosts: Option<Hosts>,
    /// The host name to set; overrides the documents.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 64, example = "worker-0.example.com")]
    pub hostname: Option<HostName>,
    /// The user's own Ignition config (version 3), which dayone merges with the image's. CoreOS bases only.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub ignition: Option<Box<RawValue>>,
    /// SSH public keys for the user `core`. CoreOS bases only.
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub ssh_authorized_keys: Vec<SshPublicKey>,
    /// Files to add to the system.
    #[serde(default)]
    pub files: Vec<ExtraFile>,
    /// systemd units to add. CoreOS bases only.
    #[serde(default)]
    pub units: Vec<Unit>,
    /// The answer file of an installer. dayone completes it with the host's network, which the installed system gets.
    #[serde(default)]
    pub answers: Option<Answers>,
    /// Whether NICs that the documents do not mention may come up with DHCP, as NetworkManager does by default.
    #[serde(default)]
    pub auto_default: bool,
    /// Changes to the kernel arguments of the base.
    #[serde(default)]
    pub kernel_arguments: KernelArgumentEdits,
    /// The titles of the boot entries that get the kernel arguments and the additions to the system; all, if absent.
    #[serde(default)]
    pub boot_entries: BTreeSet<String>,
    /// How the system receives the additions, if its initramfs does not show that: see `profile` of the base.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "dracut")]
    pub profile: Option<DeliveryProfile>,
    /// The URL (http or https) from which a `minimal-iso`, or a medium around the kernel of CoreOS, fetches its root file
    /// system. The default is this server.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "http://192.0.2.10/rootfs.img")]
    pub rootfs_url: Option<RootfsUrl>,
    /// Whether dayone may replace files that somebody has embedded in the base, if it can (`customised` of the base). Otherwise it
    /// refuses such a base.
    #[serde(default)]
    pub replace_embedded: bool,
    /// How long the server serves the image, in seconds from this request on. After that, its URLs answer 404, and the server
    /// removes it. Absent: until it is deleted.
    #[serde(default)]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 315_360_000, example = 14400)]
    pub ttl: Option<Ttl>,
    /// How many times each file of the image may be read as a whole: when the server has delivered as many times the file's
    /// size in bytes, further requests for it answer 403. Absent: any number of times.
    #[serde(default)]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 4_294_967_295_u64)]
    pub max_reads: Option<NonZeroU32>,
    /// The networks (CIDR) or addresses whose clients may read the image; requests of all others answer 403. Absent: all clients.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 64, example = json!(["192.0.2.0/24", "2001:db8::/64"]))]
    pub only_from: Option<OnlyFrom>,
}

/// The hosts that get an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::api) enum Hosts {
    /// Each host in the documents.
    All,
}

impl FromStr for Hosts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" { Ok(Self::All) } else { Err(format!("{text:?} is unknown; the only value is all")) }
    }
}

query_parameters! {
    /// The parameters of an order whose body is documents.
    pub(in crate::api) struct OrderQuery {
        /// The name of the base. With this parameter the body is documents, whatever its content type. Without it, a body with
        /// the content type `application/json` is an `ImageRequest`. A data image has no base: use `format=data` instead.
        base: Option<String>,
        /// What to make: `iso` (the default) or `usb` for virtual media, `minimal-iso` for slow virtual media, `initrd` for
        /// network boot, `data` for a drive that holds only the configuration.
        #[param(inline)]
        format: Option<Format>,
        /// The kind of a data image: `config-2` (for cloud-init and the Ironic Python agent), `cidata` (for cloud-init) or
        /// `combustion`.
        #[param(inline)]
        data: Option<DataKind>,
        /// The file system of a data image: `iso` (the default) or `vfat`, for slots that show a disk.
        #[param(inline)]
        file_system: Option<FileSystem>,
        /// The publisher id of a `config-2` ISO, which Ironic compares with the kernel argument `ir_pub_id`.
        publisher: Option<String>,
        /// The host, by its name or a MAC address. Required if the documents describe several hosts.
        host: Option<String>,
        /// `all`: make an image for each host in the documents, with an answer for each host (207). A boot is for all hosts
        /// anyway.
        #[param(inline)]
        hosts: Option<Hosts>,
        /// The host name to set; overrides the documents.
        #[param(value_type = Option<String>)]
        hostname: Option<HostName>,
        /// An SSH public key for the user `core`; repeatable.
        #[param(value_type = Option<Vec<String>>)]
        ssh_authorized_key: Vec<SshPublicKey>,
        /// `true`: NICs that the documents do not mention may come up with DHCP, as NetworkManager does by default.
        auto_default: Option<bool>,
        /// A kernel argument to add; repeatable.
        #[param(value_type = Option<Vec<String>>)]
        karg_append: Vec<KernelArgument>,
        /// A kernel argument to remove; repeatable.
        #[param(value_type = Option<Vec<String>>)]
        karg_delete: Vec<String>,
        /// A kernel argument whose value to change, `KEY=OLD=NEW`; repeatable.
        #[param(value_type = Option<Vec<String>>)]
        karg_replace: Vec<Replacement>,
        /// The title of a boot entry that gets the kernel arguments and the additions to the system; repeatable; all, if absent.
        #[param(value_type = Option<Vec<String>>)]
        boot_entry: Vec<String>,
        /// How the system receives the additions, if its initramfs does not show that: see `profile` of the base.
        #[param(value_type = Option<String>)]
        profile: Option<DeliveryProfile>,
        /// The URL (http or https) from which a `minimal-iso`, or a medium around the kernel of CoreOS, fetches its root file
        /// system. The default is this server.
        #[param(value_type = Option<String>)]
        rootfs_url: Option<RootfsUrl>,
        /// `true`: dayone may replace files that somebody has embedded in the base.
        replace_embedded: Option<bool>,
        /// How long the server serves the image, in seconds from this request on. After that, its URLs answer 404, and the server
        /// removes it. Absent: until it is deleted.
        #[param(value_type = Option<u64>, minimum = 1, maximum = 315_360_000)]
        ttl: Option<Ttl>,
        /// How many times each file of the image may be read as a whole; further requests for it answer 403.
        #[param(value_type = Option<u64>, minimum = 1, maximum = 4_294_967_295_u64)]
        max_reads: Option<NonZeroU32>,
        /// A network (CIDR) or an address whose clients may read the image; repeatable; requests of all others answer 403.
        #[param(value_type = Option<Vec<String>>)]
        only_from: Vec<Network>,
    }
}

impl From<OrderQuery> for ImageRequest {
    fn from(query: OrderQuery) -> Self {
        Self {
            base: query.base,
            format: query.format,
            host: query.host,
            hosts: query.hosts,
            hostname: query.hostname,
            ssh_authorized_keys: query.ssh_authorized_key,
            auto_default: query.auto_default.unwrap_or_default(),
            kernel_arguments: KernelArgumentEdits {
                append: query.karg_append,
                delete: query.karg_delete,
                replace: query.karg_replace,
            },
            boot_entries: query.boot_entry.into_iter().collect(),
            profile: query.profile,
            rootfs_url: query.rootfs_url,
            replace_embedded: query.replace_embedded.unwrap_or_default(),
            ttl: query.ttl,
            max_reads: query.max_reads,
            ..Self::default()
        }
    }
}

/// A validated order.
#[derive(Clone)]
pub(in crate::api) struct Order {
    /// What to make.
    pub format: Format,
    /// The documents that describe the host; a data image may have none.
    pub documents: Option<UserDocuments>,
    /// The user's own Ignition config.
    pub ignition: Option<UserConfig>,
    /// The limits on the access to the image.
    pub limits: AccessLimits,
    /// Everything else, as the client sent it. It has a base or the contents of a data image, and never both.
    pub request: ImageRequest,
}

impl Order {
    /// Validates a request in JSON.
    pub(in crate::api) fn from_request(mut request: ImageRequest) -> Result<Self, Problem> {
        let documents = UserDocuments::either(request.documents.take(), request.nmstate.take())?;
        if documents.is_none() && request.data.is_none() {
            return Err(malformed("the request has neither documents nor nmstate; give one of them"));
        }
        if documents.is_some() && request.data.as_ref().is_some_and(|drive| drive.network_data.is_some()) {
            return Err(malformed("the request has the network twice: data.network_data, and documents or nmstate"));
        }
        Self::new(request, documents, ProblemKind::MalformedRequest)
    }

    fn new(
        mut request: ImageRequest,
        documents: Option<UserDocuments>,
        wrong_format: ProblemKind,
    ) -> Result<Self, Problem> {
        let format = format(&request).map_err(|detail| Problem::new(wrong_format, detail))?;
        all_hosts(&request, documents.is_some()).map_err(|detail| Problem::new(wrong_format, detail))?;
        if format == Format::Data && request.answers.is_some() {
            let detail = "answers: a data image is for no installer; leave it out, or give the installer as base";
            return Err(Problem::new(wrong_format, detail));
        }
        // Without a base there is nothing to replace.
        request.replace_embedded &= format != Format::Data;
        let ignition = request.ignition.take().map(|config| {
            UserConfig::parse(config.get().as_bytes())
                .map_err(|error| Problem::new(ProblemKind::DocumentsRefused, error.to_string()))
        });
        let limits = AccessLimits {
            ttl: request.ttl.take(),
            max_reads: request.max_reads.take(),
            only_from: request.only_from.take(),
        };
        Ok(Self { format, documents, ignition: ignition.transpose()?, limits, request })
    }

    /// Refuses an order whose parts are too large for so many hosts, because the image of each host gets them.
    pub(in crate::api) fn check_copies(&self, hosts: usize) -> Result<(), Problem> {
        if hosts < 2 {
            return Ok(());
        }
        let ImageRequest { files, units, ssh_authorized_keys, kernel_arguments, boot_entries, data, answers, .. } =
            &self.request;
        let answers = answers.as_ref().map(|answers| &answers.text);
        let parts = (&self.ignition, files, units, ssh_authorized_keys, kernel_arguments, boot_entries, data, answers);
        let size = serde_json::to_vec(&parts).map_err(Problem::internal)?.len();
        if size.saturating_mul(hosts) <= MAX_COPIES {
            return Ok(());
        }
        let detail = format!(
            "besides its documents, the request has {size} bytes, which the image of each of {hosts} hosts would get; dayone makes at \
             most {} MiB of them; send fewer hosts at once",
            MAX_COPIES >> 20
        );
        Err(Problem::new(ProblemKind::TooLarge, detail))
    }
}

impl DocumentRequest for Order {
    type Query = OrderQuery;

    fn implies_documents(name: &str, value: &str) -> bool {
        matches!((name, value), ("base" | "data", _) | ("format", "data"))
    }

    fn from_query(mut query: OrderQuery, documents: UserDocuments) -> Result<Self, Problem> {
        let data = data(query.data.take(), query.file_system.take(), query.publisher.take())?;
        let only_from = only_from(std::mem::take(&mut query.only_from))?;
        let request = ImageRequest { data, only_from, ..query.into() };
        Self::new(request, Some(documents), ProblemKind::WrongParameter)
    }

    fn from_json(body: &[u8]) -> Result<Self, Problem> {
        Self::from_request(json::read(body)?)
    }

    fn documents(&self) -> Option<&UserDocuments> {
        self.documents.as_ref()
    }
}

/// Refuses members that are about one host, if the request is for all hosts.
fn all_hosts(request: &ImageRequest, has_documents: bool) -> Result<(), &'static str> {
    match request {
        ImageRequest { hosts: None, .. } => Ok(()),
        ImageRequest { host: Some(_), .. } => Err("host: the request is for all hosts; leave out host or hosts"),
        ImageRequest { hostname: Some(_), .. } => {
            Err("hostname: the request is for all hosts, and a host name is for one; put the names into the documents")
        }
        _ if !has_documents => Err("hosts: there are no documents to read the hosts from"),
        _ => Ok(()),
    }
}

/// Returns the format to make. A data image has no base, and every other image has one.
fn format(request: &ImageRequest) -> Result<Format, &'static str> {
    match (request.format, &request.data, &request.base) {
        (Some(Format::Data), None, _) => Err("data: give the kind of drive: config-2, cidata or combustion"),
        (None | Some(Format::Data), Some(_), Some(_)) => Err("base: a data image has none; leave it out"),
        (None | Some(Format::Data), Some(_), None) => Ok(Format::Data),
        (Some(_), Some(_), _) => {
            Err("data: only images of the format data have it; leave it out, or change the format")
        }
        (_, None, None) => Err("base: give the name of a base; /v1/bases lists them"),
        (format, None, Some(_)) => Ok(format.unwrap_or(Format::Iso)),
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
            let detail =
                "only data images have file_system and publisher: add data=config-2, data=cidata or data=combustion";
            Err(Problem::new(ProblemKind::WrongParameter, detail))
        }
        None => Ok(None),
    }
}

fn only_from(networks: Vec<Network>) -> Result<Option<OnlyFrom>, Problem> {
    if networks.is_empty() {
        return Ok(None);
    }
    let wrong = |error| Problem::new(ProblemKind::WrongParameter, format!("only_from: {error}"));
    OnlyFrom::try_from(networks).map(Some).map_err(wrong)
}

fn malformed(detail: &str) -> Problem {
    Problem::new(ProblemKind::MalformedRequest, detail)
}

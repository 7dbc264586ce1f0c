//! Requests for boots: an order of an image or the id of an existing one, with the BMC and the settings of the boot.

use imagelib::recipe::RecipeId;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::api::images::{ImageRequest, Order, OrderQuery};
use crate::api::json;
use crate::api::parameters::{Parameters, QueryParameters, query_parameters};
use crate::api::problem::Problem;
use crate::api::request::DocumentRequest;
use crate::api::user_documents::UserDocuments;
use crate::boots::{BootMethod, CredentialsName, EjectWhen, Evidence};
use redfish::BmcAddress;

/// The members of a request for boots that a request for an image does not have.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct BootSettings {
    /// The id of an existing image, instead of a base and everything else that goes into an image. Documents are then optional
    /// and only describe the BMCs.
    #[schema(value_type = Option<String>, pattern = "^[0-9a-f]{64}$")]
    image: Option<RecipeId>,
    /// How the host gets the image: `virtual-media` (the BMC inserts it, the default) or `http` (the host's firmware fetches it by UEFI
    /// HTTP boot; the default if the BMC's address begins with `redfish-uefihttp`).
    #[schema(value_type = Option<String>, example = "virtual-media")]
    pub method: Option<BootMethod>,
    /// For the method `http` with Dell and HPE: the firmware's name of the NIC that gets the document's static address while the firmware
    /// fetches the image, such as `NIC.Integrated.1-1-1` or `Slot1NicPort1`. Without it, dayone finds the NIC by its MAC address, where
    /// the BMC shows that.
    #[schema(value_type = Option<String>, max_length = 64, example = "NIC.Integrated.1-1-1")]
    pub firmware_interface: Option<String>,
    /// The host's BMC; overrides the documents.
    #[schema(value_type = Option<Bmc>)]
    pub bmc: Option<Bmc>,
    /// The signs that the host has booted: `call-home`, `boot-progress`, `reachable`, `reading`. Any one of them is enough. The
    /// default is `call-home` if the system has NetworkManager, and otherwise `boot-progress` and `reachable`. These two count only
    /// after somebody has requested the image.
    #[schema(value_type = Option<Vec<String>>, example = json!(["call-home"]))]
    pub wait_for: Option<Vec<Evidence>>,
    /// How long the host may take to boot after dayone has switched it on, in seconds, at least 1; 1800 if absent.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 86_400)]
    pub booted_within: Option<u64>,
    /// How long the host may take to shut down before dayone switches it off, in seconds; 0 if absent.
    pub shutdown_within: Option<u64>,
    /// When to eject the medium: `when-deleted` (when the boot is deleted, the default) or `when-booted` (when the host has booted).
    #[schema(value_type = Option<String>)]
    pub eject: Option<EjectWhen>,
    /// Whether to switch the host off before ejecting the medium.
    #[serde(default)]
    pub power_off: bool,
    /// Whether to boot although Secure Boot is on and the verdict on the image is `impossible`: for a machine whose owner has switched off
    /// the verification in shim, which no BMC says. The boot has a remark then.
    #[serde(default)]
    pub ignore_secure_boot: bool,
}

/// A host's BMC.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BmcSettings)]
pub(in crate::api) struct Bmc {
    /// The BMC's address, as Metal3 writes it; overrides `spec.bmc.address` of the only host in the documents.
    #[schema(value_type = Option<String>, example = "redfish-virtualmedia://192.0.2.200/redfish/v1/Systems/1")]
    pub address: Option<String>,
    /// The name of credentials that the server keeps (`--bmc-credentials`); overrides the documents.
    #[schema(value_type = Option<String>, example = "worker-0-bmc")]
    pub credentials: Option<CredentialsName>,
    /// Whether to skip the verification of the BMC's certificate: then any machine that answers gets the password.
    pub disable_certificate_verification: Option<bool>,
}

/// A request for boots: an `ImageRequest` or the id of an existing image, with the settings of the boot.
#[derive(Deserialize, ToSchema)]
#[expect(dead_code, reason = "documents what BootOrder::from_json reads")]
pub(in crate::api) struct BootRequest {
    #[serde(flatten)]
    image: ImageRequest,
    #[serde(flatten)]
    settings: BootSettings,
}

query_parameters! {
    /// The parameters of a request for boots whose body is documents, besides the parameters of images.
    pub(in crate::api) struct BootQuery {
        /// The id of an existing image; the documents then only describe the BMCs.
        #[param(value_type = Option<String>, pattern = "^[0-9a-f]{64}$")]
        image: Option<RecipeId>,
        /// How the host gets the image: `virtual-media` (the default) or `http` (UEFI HTTP boot; the default if the
        /// BMC's address begins with `redfish-uefihttp`).
        #[param(value_type = Option<String>)]
        method: Option<BootMethod>,
        /// For the method `http` with Dell and HPE: the firmware's name of the NIC that gets the document's static address.
        #[param(max_length = 64, example = "NIC.Integrated.1-1-1")]
        firmware_interface: Option<String>,
        /// The BMC's address; overrides the documents.
        #[param(value_type = Option<String>)]
        bmc_address: Option<BmcAddress>,
        /// The name of credentials that the server keeps; overrides the documents.
        #[param(value_type = Option<String>)]
        bmc_credentials: Option<CredentialsName>,
        /// `true`: do not verify the BMC's certificate.
        bmc_disable_certificate_verification: Option<bool>,
        /// A sign that the host has booted; repeatable, any one of them is enough.
        #[param(value_type = Option<Vec<String>>)]
        wait_for: Vec<Evidence>,
        /// How long the host may take to boot after dayone has switched it on, in seconds, at least 1; 1800 if absent.
        #[param(value_type = Option<u64>, minimum = 1, maximum = 86_400)]
        booted_within: Option<u64>,
        /// How long the host may take to shut down before dayone switches it off, in seconds; 0 if absent.
        shutdown_within: Option<u64>,
        /// When to eject the medium: `when-deleted` (the default) or `when-booted`.
        #[param(value_type = Option<String>)]
        eject: Option<EjectWhen>,
        /// `true`: switch the host off before ejecting the medium.
        power_off: Option<bool>,
        /// `true`: boot although Secure Boot is on and the verdict on the image is `impossible`.
        ignore_secure_boot: Option<bool>,
    }
}

impl From<BootQuery> for BootSettings {
    fn from(query: BootQuery) -> Self {
        Self {
            image: query.image,
            method: query.method,
            firmware_interface: query.firmware_interface,
            bmc: Some(Bmc {
                address: query.bmc_address.map(|address| address.to_string()),
                credentials: query.bmc_credentials,
                disable_certificate_verification: query.bmc_disable_certificate_verification,
            }),
            wait_for: Some(query.wait_for).filter(|wait_for| !wait_for.is_empty()),
            booted_within: query.booted_within,
            shutdown_within: query.shutdown_within,
            eject: query.eject,
            power_off: query.power_off.unwrap_or_default(),
            ignore_secure_boot: query.ignore_secure_boot.unwrap_or_default(),
        }
    }
}

/// All parameters of a request for boots.
pub(in crate::api) struct BootOrderQuery {
    boot: BootQuery,
    image: OrderQuery,
}

impl QueryParameters for BootOrderQuery {
    /// For an existing image, `host` is the only parameter of images that is valid.
    fn take(query: &mut Parameters) -> Result<Self, Problem> {
        let boot = BootQuery::take(query)?;
        let image = match boot.image {
            None => OrderQuery::take(query)?,
            Some(_) => OrderQuery { host: query.take("host")?, ..OrderQuery::default() },
        };
        Ok(Self { boot, image })
    }
}

/// What hosts boot from.
pub(in crate::api) enum Source {
    /// An image for each host, which dayone makes.
    Order(Box<Order>),
    /// An existing image.
    Image {
        id: RecipeId,
        /// The documents that describe the BMCs.
        documents: Option<UserDocuments>,
        /// The host in the documents.
        host: Option<String>,
    },
}

/// A request for boots.
pub(in crate::api) struct BootOrder {
    pub source: Source,
    pub settings: BootSettings,
}

impl DocumentRequest for BootOrder {
    type Query = BootOrderQuery;

    fn implies_documents(name: &str, value: &str) -> bool {
        name == "image" || Order::implies_documents(name, value)
    }

    fn from_query(query: BootOrderQuery, documents: UserDocuments) -> Result<Self, Problem> {
        let settings = BootSettings::from(query.boot);
        let source = match settings.image {
            None => Source::Order(Box::new(Order::from_query(query.image, documents)?)),
            Some(id) => Source::Image { id, documents: Some(documents), host: query.image.host },
        };
        Ok(Self { source, settings })
    }

    fn from_json(body: &[u8]) -> Result<Self, Problem> {
        const SETTINGS: [&str; 10] = [
            "image",
            "method",
            "firmware_interface",
            "bmc",
            "wait_for",
            "booted_within",
            "shutdown_within",
            "eject",
            "power_off",
            "ignore_secure_boot",
        ];
        let Members(members) = json::read(body)?;
        let (settings, image): (Vec<_>, Vec<_>) =
            members.into_iter().partition(|(name, _)| SETTINGS.contains(&name.as_str()));
        let settings: BootSettings = json::read_part(&object(&settings))?;
        let source = match settings.image {
            None => Source::Order(Box::new(Order::from_request(json::read_part(&object(&image))?)?)),
            Some(id) => {
                let ExistingImage { documents, host } = json::read_part(&object(&image)).map_err(|problem| {
                    problem.with_more("with image, only documents and host are valid of the members of an ImageRequest")
                })?;
                Source::Image { id, documents, host }
            }
        };
        Ok(Self { source, settings })
    }

    fn documents(&self) -> Option<&UserDocuments> {
        match &self.source {
            Source::Order(order) => order.documents(),
            Source::Image { documents, .. } => documents.as_ref(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ExistingImage {
    documents: Option<UserDocuments>,
    host: Option<String>,
}

/// The members of a JSON object, in their order and unchanged.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Makes an object of members. A repeated member stays repeated, and its reader refuses it.
fn object(members: &[(String, Box<RawValue>)]) -> Vec<u8> {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("{}:{value}", json_text(name))).collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

//! What a client orders: an order of an image, with the BMC and what else matters to a boot; or an image that is there.

use bytes::Bytes;
use imagelib::recipe::RecipeId;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use crate::api::images::{self, JsonOrder, Order};
use crate::api::json;
use crate::api::parameters::Parameters;
use crate::api::problem::{Problem, ProblemKind};
use crate::api::user_documents::UserDocuments;
use crate::boots::{CredentialsName, EjectWhen, Evidence};
use redfish::BmcAddress;

/// What a request for a boot has besides that for an image.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BootSettings)]
pub(super) struct JsonBoot {
    /// The id of an image that is there already, in place of a base and all else that an image is made of. Documents, if
    /// there are any, then only say which BMCs.
    #[schema(value_type = Option<String>, pattern = "^[0-9a-f]{64}$")]
    image: Option<RecipeId>,
    /// The host's BMC, as far as the documents do not say, or say otherwise.
    #[schema(value_type = Option<Bmc>)]
    bmc: Option<Bmc>,
    /// What shows that the host has booted, any of these: `call-home`, `boot-progress`, `reachable`, `reading`. If absent,
    /// `call-home` where the system has NetworkManager, and `boot-progress` and `reachable` otherwise.
    #[schema(value_type = Option<Vec<String>>, example = json!(["call-home"]))]
    wait_for: Option<Vec<Evidence>>,
    /// How long after it is switched on the host may take to boot, in seconds; 1800 if absent.
    booted_within: Option<u64>,
    /// How long the host gets to shut down before it is switched off, in seconds; 0, at once, if absent.
    shutdown_within: Option<u64>,
    /// When the medium is ejected: `when-deleted` (the boot is; if absent), or `when-booted` (the host has).
    #[schema(value_type = Option<String>)]
    eject: Option<EjectWhen>,
    /// Whether the host is switched off before the medium is ejected.
    #[serde(default)]
    power_off: bool,
}

/// A host's BMC.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BmcSettings)]
pub(super) struct Bmc {
    /// Its address, as Metal3 writes it; in place of `spec.bmc.address` of the one host in the documents.
    #[schema(value_type = Option<String>, example = "redfish-virtualmedia://192.0.2.200/redfish/v1/Systems/1")]
    pub address: Option<String>,
    /// The name of credentials that the server keeps (`--bmc-credentials`); in place of those in the documents.
    #[schema(value_type = Option<String>, example = "worker-0-bmc")]
    pub credentials: Option<CredentialsName>,
    /// Whether whoever answers at the address is taken for the BMC, whatever certificate it shows.
    pub disable_certificate_verification: Option<bool>,
}

/// A request for boots: an `ImageRequest`, or the id of an image, and what matters to a boot.
#[derive(Deserialize, ToSchema)]
#[schema(as = BootRequest)]
#[expect(dead_code, reason = "documents what BootOrder::from_json reads")]
pub(super) struct JsonBootOrder {
    #[serde(flatten)]
    image: JsonOrder,
    #[serde(flatten)]
    boot: JsonBoot,
}

/// The parameters of a request for boots whose body is documents, besides those of images.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct BootQuery {
    /// The id of an image that is there already; the documents then only say which BMCs.
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{64}$")]
    image: Option<RecipeId>,
    /// The BMC's address, in place of that in the documents.
    #[param(value_type = Option<String>)]
    bmc_address: Option<BmcAddress>,
    /// The name of credentials that the server keeps, in place of those in the documents.
    #[param(value_type = Option<String>)]
    bmc_credentials: Option<CredentialsName>,
    /// `true`: whoever answers at the address is taken for the BMC.
    bmc_disable_certificate_verification: Option<bool>,
    /// What shows that the host has booted; repeatable: any of these.
    #[param(value_type = Option<Vec<String>>)]
    wait_for: Vec<Evidence>,
    /// How long after it is switched on the host may take to boot, in seconds; 1800 if absent.
    booted_within: Option<u64>,
    /// How long the host gets to shut down before it is switched off, in seconds; 0 if absent.
    shutdown_within: Option<u64>,
    /// `when-deleted` (if absent) or `when-booted`.
    eject: Option<String>,
    /// `true`: the host is switched off before the medium is ejected.
    power_off: Option<bool>,
}

impl BootQuery {
    fn take(query: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self {
            image: query.one("image")?,
            bmc_address: query.one("bmc_address")?,
            bmc_credentials: query.one("bmc_credentials")?,
            bmc_disable_certificate_verification: query.one("bmc_disable_certificate_verification")?,
            wait_for: query.all("wait_for")?,
            booted_within: query.one("booted_within")?,
            shutdown_within: query.one("shutdown_within")?,
            eject: query.one("eject")?,
            power_off: query.one("power_off")?,
        })
    }
}

/// What hosts boot from.
pub(super) enum Source {
    /// An image each, made for them.
    Order(Box<Order>),
    /// An image that is there.
    Image {
        id: RecipeId,
        /// What says which BMCs.
        documents: Option<UserDocuments>,
        /// Which of the hosts in the documents.
        host: Option<String>,
    },
}

/// An order, whichever way it came.
pub(super) struct BootOrder {
    pub source: Source,
    pub bmc: Bmc,
    pub wait_for: Option<Vec<Evidence>>,
    pub booted_within: Option<u64>,
    pub shutdown_within: Option<u64>,
    pub eject: EjectWhen,
    pub power_off: bool,
}

impl BootOrder {
    /// Reads an order in JSON.
    pub(super) fn from_json(body: &[u8]) -> Result<Self, Problem> {
        const OURS: [&str; 7] = ["image", "bmc", "wait_for", "booted_within", "shutdown_within", "eject", "power_off"];
        let Members(members) = json::read(body)?;
        let (ours, image): (Vec<_>, Vec<_>) = members.into_iter().partition(|(name, _)| OURS.contains(&name.as_str()));
        let boot: JsonBoot = json::read_part(&object(&ours))?;
        let source = match boot.image {
            None => Source::Order(Box::new(Order::from_json_part(&object(&image))?)),
            Some(id) => {
                let rest: ImageRest = json::read_part(&object(&image)).map_err(|problem| {
                    problem
                        .with_more("with image, of all that an image is made of only documents and host may be there")
                })?;
                Source::Image { id, documents: rest.documents, host: rest.host }
            }
        };
        Ok(Self {
            source,
            bmc: boot.bmc.unwrap_or_default(),
            wait_for: boot.wait_for,
            booted_within: boot.booted_within,
            shutdown_within: boot.shutdown_within,
            eject: boot.eject.unwrap_or_default(),
            power_off: boot.power_off,
        })
    }

    /// Reads the parameters of an order whose body is these documents.
    pub(super) fn from_query(mut query: Parameters, body: Bytes) -> Result<Self, Problem> {
        let asked = BootQuery::take(&mut query)?;
        let eject = match asked.eject.as_deref() {
            None | Some("when-deleted") => EjectWhen::Deleted,
            Some("when-booted") => EjectWhen::Booted,
            Some(other) => {
                let detail = format!("eject: {other:?} is neither when-deleted nor when-booted");
                return Err(Problem::new(ProblemKind::WrongParameter, detail));
            }
        };
        let source = match asked.image {
            None => Source::Order(Box::new(Order { documents: Some(body.into()), ..Order::from_query(query)? })),
            Some(id) => {
                let host = query.one("host")?;
                query.finish()?;
                Source::Image { id, documents: Some(body.into()), host }
            }
        };
        Ok(Self {
            source,
            bmc: Bmc {
                address: asked.bmc_address.map(|address| address.to_string()),
                credentials: asked.bmc_credentials,
                disable_certificate_verification: asked.bmc_disable_certificate_verification,
            },
            wait_for: Some(asked.wait_for).filter(|wait_for| !wait_for.is_empty()),
            booted_within: asked.booted_within,
            shutdown_within: asked.shutdown_within,
            eject,
            power_off: asked.power_off.unwrap_or_default(),
        })
    }
}

/// Whether a parameter says that the query is an order, so that the body is documents.
pub(super) fn is_order(name: &str, value: &str) -> bool {
    name == "image" || images::is_order(name, value)
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ImageRest {
    documents: Option<UserDocuments>,
    host: Option<String>,
}

/// The members of a JSON object, each as it stands there.
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

/// An object of these members. What stands there twice stays there twice, and is refused where it is read.
fn object(members: &[(String, Box<RawValue>)]) -> Vec<u8> {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("{}:{value}", json_text(name))).collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_that_is_described_is_read() {
        let mut query = Parameters::new(None);
        BootQuery::take(&mut query).unwrap();
        let described = BootQuery::into_params(|| None);
        assert_eq!(described.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>(), query.known());
    }
}

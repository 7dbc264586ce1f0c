//! Drives with one host's configuration, for Metal3's DataImages. [`imagelib::data_image`] makes the drive. This module
//! prepares the documents that Metal3's users have in their Secrets.

use bytes::Bytes;
use hosts::network::ConvertedNetwork;
use imagelib::base::Format;
use imagelib::data_image::{DataKind, FileSystem};
use imagelib::delivery::DeliveryProfile;
use imagelib::ignition::Additions;
use imagelib::image::FileName;
use imagelib::recipe::{DataDrive, DriveFile, Recipe};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use vocabulary::host::HostName;
use vocabulary::report::Report;

use super::network::network;
use super::{BuildError, Document, NetworkSource, PublishedImage};
use crate::compose::{NetworkOrder, compose};
use crate::store::Store;

/// The network that a drive brings.
#[derive(Clone)]
pub enum DriveNetwork<'a> {
    /// NMState, which dayone translates for the readers of the drive.
    Nmstate(Document<'a>),
    /// A document in the format of the readers of the drive.
    Given(Document<'a>),
}

/// A request for one host's drive.
#[derive(Clone)]
pub struct DriveRequest<'a> {
    /// The owner of the drive. A later drive of the same owner replaces this one.
    pub owner: &'a str,
    /// The host's name.
    pub host: &'a str,
    /// The program that reads the drive.
    pub kind: DataKind,
    /// The drive's file system.
    pub file_system: FileSystem,
    /// The host's network, if there is one.
    pub network: Option<DriveNetwork<'a>>,
    /// User data; for Combustion, the user's script.
    pub user_data: Option<Document<'a>>,
    /// Meta data.
    pub meta_data: Option<Document<'a>>,
}

/// Makes the drive, and publishes it.
pub(super) fn publish(store: &Store, request: &DriveRequest<'_>) -> Result<PublishedImage, BuildError> {
    let (recipe, report) =
        recipe(request, Recipe::new(store.empty_base().identity, Format::Data, Additions::default()))?;
    let published = store.publish_data_for(request.owner, recipe.seal(), Some(request.host.to_owned()));
    let (image, _) = published.map_err(|error| super::build_error(&error))?;
    let file = match request.file_system {
        FileSystem::Iso => FileName::DataIso,
        FileSystem::Vfat => FileName::DataDisk,
    };
    Ok(PublishedImage { report, ..PublishedImage::of(store, request.owner, &image, file) })
}

/// The owner's drive.
pub(super) fn published(store: &Store, owner: &str) -> Option<PublishedImage> {
    let image = store.image(&store.image_of(owner)?)?;
    let file = FileName::MAIN.into_iter().find(|file| image.main_file() == Some(file.as_str()))?;
    Some(PublishedImage::of(store, owner, &image, file))
}

/// Completes the recipe of an empty drive. Returns it with the warnings about the network.
fn recipe(request: &DriveRequest<'_>, empty: Recipe) -> Result<(Recipe, Report), BuildError> {
    let mut report = Report::new();
    let derived: Option<HostName> = request.host.parse().ok();
    let mut drive = DataDrive::new(request.kind, request.file_system);
    drive.user_data = request.user_data.as_ref().map(|document| copied(document).into());
    let converted = match &request.network {
        None => ConvertedNetwork::default(),
        Some(DriveNetwork::Nmstate(document)) => {
            let source = NetworkSource::Nmstate(document.clone());
            let target = NetworkOrder { data: Some(request.kind), ..NetworkOrder::default() }.target(None);
            network(&source, derived.clone(), target, &mut report)?
        }
        Some(DriveNetwork::Given(document)) => {
            drive.network_data = Some(given_network(request.kind, document)?);
            ConvertedNetwork::default()
        }
    };
    let additions = Additions { hostname: converted.hostname.clone().or(derived), ..Additions::default() };
    let mut recipe = compose(Recipe { additions, data: Some(drive), ..empty }, converted, DeliveryProfile::Unknown);
    if let (Some(document), Some(drive)) = (&request.meta_data, &mut recipe.data) {
        drive.meta_data = Some(meta_data(drive, document, recipe.additions.hostname.as_ref())?);
    }
    Ok((recipe, report))
}

/// Metal3 accepts YAML for network data, and readers of a config drive need JSON.
fn given_network(kind: DataKind, document: &Document<'_>) -> Result<DriveFile, BuildError> {
    let network = match kind {
        DataKind::ConfigDrive if serde_json::from_slice::<Map<String, Value>>(document.bytes).is_err() => {
            Value::Object(mapping(document)?).to_string().into()
        }
        DataKind::NoCloud if !is_network_config(&mapping(document)?) => {
            return Err(refused(
                document,
                "is not a network-config of cloud-init, which has a \"version\"; give NMState under the key nmstate, or \
                 make the drive a config-2",
            ));
        }
        _ => copied(document),
    };
    Ok(network.into())
}

fn is_network_config(network: &Map<String, Value>) -> bool {
    ["version", "network"].iter().any(|key| network.contains_key(*key))
}

/// Adds what identifies the host to Metal3's meta data. Without an identifier, readers ignore the drive.
fn meta_data(drive: &DataDrive, document: &Document<'_>, hostname: Option<&HostName>) -> Result<DriveFile, BuildError> {
    let (identifier, names): (_, &[&str]) = match drive.kind {
        DataKind::ConfigDrive => ("uuid", &["hostname", "name"]),
        DataKind::NoCloud => ("instance-id", &["local-hostname"]),
        // Combustion has no meta data: imagelib refuses any.
        DataKind::Combustion => return Ok(copied(document).into()),
    };
    let mut meta_data = mapping(document)?;
    for name in hostname.iter().flat_map(|_| names) {
        meta_data.entry(*name).or_insert_with(|| hostname.map(ToString::to_string).into());
    }
    if !meta_data.contains_key(identifier) {
        let contents = [drive.network_data.as_ref(), drive.user_data.as_ref()];
        let contents = contents.map(|file| file.map(DriveFile::bytes).cloned().unwrap_or_default());
        let instance =
            instance(&[Value::Object(meta_data.clone()).to_string().into_bytes().into(), contents.concat().into()]);
        meta_data.insert(identifier.to_owned(), instance.into());
    }
    Ok(Value::Object(meta_data).to_string().into())
}

/// An identifier of the content of a drive. If the content changes, the host is configured again.
fn instance(contents: &[Bytes]) -> String {
    let mut hasher = Sha256::new_with_prefix(b"dayone DataImage instance\0");
    for content in contents {
        hasher.update((content.len() as u64).to_le_bytes());
        hasher.update(content);
    }
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().hyphenated().to_string()
}

fn mapping(document: &Document<'_>) -> Result<Map<String, Value>, BuildError> {
    serde_yaml::from_slice(document.bytes)
        .map_err(|_| refused(document, "is not a mapping of names to values, in YAML or JSON"))
}

fn refused(document: &Document<'_>, message: &str) -> BuildError {
    let mut report = Report::new();
    report.error("drive-document", &document.path, message);
    BuildError::refused(&report)
}

fn copied(document: &Document<'_>) -> Bytes {
    Bytes::copy_from_slice(document.bytes)
}

#[cfg(test)]
mod tests {
    use imagelib::base::BaseIdentity;
    use vocabulary::report::DocumentPath;

    use super::*;

    const NMSTATE: &str = "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  identifier: mac-address\n  \
        mac-address: 52:54:00:00:00:01\n  ipv4: {enabled: true, address: [{ip: 192.0.2.2, prefix-length: 24}]}\n";

    fn document(text: &str) -> Document<'_> {
        let path = DocumentPath::document("Secret/s").key("data").key("key");
        Document { bytes: text.as_bytes(), path }
    }

    fn request(kind: DataKind) -> DriveRequest<'static> {
        DriveRequest {
            owner: "DataImage/n/worker-0/u",
            host: "worker-0",
            kind,
            file_system: FileSystem::Iso,
            network: None,
            user_data: None,
            meta_data: None,
        }
    }

    fn recipe_of(request: &DriveRequest<'_>) -> Result<Recipe, String> {
        let empty =
            Recipe::new(BaseIdentity::of(&std::collections::BTreeMap::new()), Format::Data, Additions::default());
        recipe(request, empty).map(|(recipe, _)| recipe).map_err(|error| error.to_string())
    }

    fn drive(request: &DriveRequest<'_>) -> DataDrive {
        recipe_of(request).unwrap().data.unwrap()
    }

    fn json(file: Option<&DriveFile>) -> Value {
        serde_json::from_slice(file.unwrap().bytes()).unwrap()
    }

    #[test]
    fn nmstate_is_translated_for_the_readers_of_each_kind_of_drive() {
        let network = Some(DriveNetwork::Nmstate(document(NMSTATE)));
        let config_drive = drive(&DriveRequest { network: network.clone(), ..request(DataKind::ConfigDrive) });
        assert_eq!(json(config_drive.network_data.as_ref())["links"][0]["ethernet_mac_address"], "52:54:00:00:00:01");
        let seed = drive(&DriveRequest { network: network.clone(), ..request(DataKind::NoCloud) });
        let text = String::from_utf8(seed.network_data.unwrap().bytes().to_vec()).unwrap();
        assert!(text.contains("192.0.2.2/24") && text.contains("version: 2"), "{text}");
        let combustion = recipe_of(&DriveRequest { network, ..request(DataKind::Combustion) }).unwrap();
        assert_eq!(combustion.additions.keyfiles.len(), 1);
        assert_eq!(combustion.additions.hostname.unwrap().to_string(), "worker-0");
        let wrong = Some(DriveNetwork::Nmstate(document("interfaces: hunter2\n")));
        let error = recipe_of(&DriveRequest { network: wrong, ..request(DataKind::NoCloud) }).unwrap_err();
        assert!(error.starts_with("Secret/s: data.key") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn yaml_becomes_json_on_a_config_drive_and_json_stays_unchanged() {
        let given = |text| DriveRequest {
            network: Some(DriveNetwork::Given(document(text))),
            ..request(DataKind::ConfigDrive)
        };
        let text = "{\"links\":  []}";
        assert_eq!(drive(&given(text)).network_data.unwrap().bytes(), text.as_bytes());
        let converted = drive(&given("links:\n- id: eth0\n")).network_data;
        assert_eq!(json(converted.as_ref())["links"][0]["id"], "eth0");
        let error = recipe_of(&given("- hunter2\n")).unwrap_err();
        assert!(error.contains("data.key is not a mapping") && !error.contains("hunter2"), "{error}");
        let request = DriveRequest { kind: DataKind::NoCloud, ..given("links: []\n") };
        assert!(recipe_of(&request).unwrap_err().contains("make the drive a config-2"));
        let request = DriveRequest { kind: DataKind::NoCloud, ..given("version: 2\n") };
        assert_eq!(drive(&request).network_data.unwrap().bytes(), "version: 2\n".as_bytes());
    }

    #[test]
    fn meta_data_gets_a_missing_identifier_and_missing_names() {
        let of = |kind, text, user_data| {
            let request =
                DriveRequest { meta_data: Some(document(text)), user_data: Some(document(user_data)), ..request(kind) };
            json(drive(&request).meta_data.as_ref())
        };
        let first = of(DataKind::ConfigDrive, "rack: 7\n", "a");
        assert_eq!(
            (&first["rack"], &first["name"], &first["hostname"]),
            (&7.into(), &"worker-0".into(), &"worker-0".into())
        );
        assert_eq!(first["uuid"].as_str().unwrap().len(), 36);
        assert_eq!(of(DataKind::ConfigDrive, "rack: 7\n", "a"), first);
        assert_ne!(of(DataKind::ConfigDrive, "rack: 7\n", "b")["uuid"], first["uuid"]);
        let seed = of(DataKind::NoCloud, "{local-hostname: other, instance-id: mine}", "a");
        assert_eq!((&seed["local-hostname"], &seed["instance-id"]), (&"other".into(), &"mine".into()));
    }
}

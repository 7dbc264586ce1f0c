//! What a BMC has: its System, its Managers, and the slots for virtual media with what each can do.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Bmc;
use super::error::BmcError;
use super::model::{self, Collection, Link, read, text, texts};
use super::state::{Boot, BootProgress, MediaState, PowerState};
use super::vendor::{Evidence, Vendor};
use crate::RedfishError;

/// The most Managers and slots that are read of one BMC.
const MOST_MANAGERS: usize = 4;
const MOST_SLOTS: usize = 16;

/// What a BMC has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// Whose firmware answers.
    pub vendor: Vendor,
    /// The service's product, such as `Integrated Dell Remote Access Controller`.
    pub product: Option<String>,
    /// The version of Redfish's protocol.
    pub redfish_version: Option<String>,
    /// The machine.
    pub system: System,
    /// The BMC itself. Most have one.
    pub managers: Vec<Manager>,
    /// The slots, in the BMC's order.
    pub slots: Vec<Slot>,
    /// What was odd on the way.
    pub notes: Vec<String>,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Such as `/redfish/v1/Systems/1`.
    pub path: String,
    /// Its name or id.
    pub name: Option<String>,
    /// Who made it.
    pub manufacturer: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Its serial number.
    pub serial_number: Option<String>,
    /// Its UUID.
    pub uuid: Option<String>,
    /// Its firmware's version.
    pub bios_version: Option<String>,
    /// Whether it is on.
    pub power_state: PowerState,
    /// What it boots from next.
    pub boot: Boot,
    /// How far its boot has come, where the BMC says so.
    pub boot_progress: Option<BootProgress>,
    /// Where settings that wait for the next boot go, where that is another resource.
    pub settings: Option<String>,
    /// How it is switched on and off.
    pub reset: Option<Reset>,
}

/// The action `ComputerSystem.Reset`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// Where to.
    pub target: String,
    /// The types that it takes, where the BMC lists them.
    pub types: Option<Vec<String>>,
}

/// A BMC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manager {
    /// Such as `/redfish/v1/Managers/1`.
    pub path: String,
    /// Such as `iLO 6`.
    pub model: Option<String>,
    /// Its firmware's version.
    pub firmware_version: Option<String>,
    /// Where Dell's attributes are (`DellAttributes`, or the older `Attributes`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dell_attributes: Option<String>,
}

/// A slot for virtual media.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Such as `/redfish/v1/Managers/1/VirtualMedia/2`.
    pub path: String,
    /// Such as `2` or `CD`.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// Such as `CD`, `DVD`, `USBStick`.
    pub media_types: Vec<String>,
    /// The action that inserts, if it has one.
    pub insert: Option<Insert>,
    /// Where the action that ejects is, if it has one.
    pub eject: Option<String>,
    /// Whether the BMC checks the certificate of the image's server, where it says so.
    pub verify_certificate: Option<bool>,
    /// What is in it.
    pub state: MediaState,
}

/// The action `VirtualMedia.InsertMedia`, with what the BMC says of its parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insert {
    /// Where to.
    pub target: String,
    /// Where the BMC says what parameters it takes.
    pub info: Option<String>,
    /// Values for `TransferProtocolType`.
    pub transfer_protocols: Option<Vec<String>>,
    /// Values for `TransferMethod`.
    pub transfer_methods: Option<Vec<String>>,
}

impl Slot {
    pub(super) fn read(path: &str, body: &Value) -> Self {
        let media: model::VirtualMedia = read(body);
        let state = MediaState::read(&media);
        let actions = media.actions.unwrap_or_default();
        let insert = actions.insert.and_then(|action| {
            Some(Insert {
                target: action.target?.0,
                info: action.info.map(|path| path.0),
                transfer_protocols: texts(action.transfer_protocols),
                transfer_methods: texts(action.transfer_methods),
            })
        });
        Self {
            id: text(media.id).unwrap_or_else(|| last_segment(path).to_owned()),
            path: path.to_owned(),
            name: text(media.name),
            media_types: texts(media.media_types).unwrap_or_default(),
            insert,
            eject: actions.eject.and_then(|action| action.target).map(|path| path.0),
            verify_certificate: media.verify_certificate,
            state,
        }
    }
}

impl System {
    pub(super) fn read(path: String, system: model::System) -> Self {
        let reset = system.actions.and_then(|actions| actions.reset);
        Self {
            path,
            name: text(system.name.or(system.id)),
            manufacturer: text(system.manufacturer),
            model: text(system.model),
            serial_number: text(system.serial_number),
            uuid: text(system.uuid),
            bios_version: text(system.bios_version),
            power_state: PowerState::read(system.power_state.as_ref()),
            boot: Boot::read(system.boot),
            boot_progress: BootProgress::read(system.boot_progress),
            settings: system.settings.and_then(|settings| settings.settings_object).map(|link| link.path.0),
            reset: reset.and_then(|action| Some(Reset { target: action.target?.0, types: texts(action.reset_types) })),
        }
    }
}

impl Bmc {
    /// Reads what the BMC has. Takes one request for each System that must be told from others, one for the Manager, one
    /// for the collection of virtual media and one for each slot.
    pub async fn survey(&self) -> Result<Survey, BmcError> {
        self.blanked(self.read_survey().await)
    }

    async fn read_survey(&self) -> Result<Survey, BmcError> {
        let root: model::Root = read(self.client().root());
        let mut notes = Vec::new();
        let asked = self.system().await?;
        let body = match self.client().get(&asked).await {
            Ok(resource) => resource.body,
            Err(error) if error.status().is_some_and(|status| status.as_u16() == 404) => {
                return Err(BmcError::UnknownSystem { path: asked, systems: self.systems().await? });
            }
            Err(error) => return Err(error.into()),
        };
        // A System that was asked for by its name may have another path.
        let system_path = read::<Option<Link>>(&body).map_or(asked, |link| link.path.0);
        let mut system: model::System = read(&body);

        let manager_paths = self.find_managers(&root, &mut system, &mut notes).await;
        let mut managers = Vec::new();
        let mut media = system.virtual_media.take().map(|link| link.path.0).into_iter().collect::<Vec<_>>();
        let mut manager_media = Vec::new();
        let mut identities = Vec::new();
        for path in manager_paths.into_iter().take(MOST_MANAGERS) {
            let body = match self.client().get(&path).await {
                Ok(resource) => resource.body,
                Err(error) if is_absent(&error) => {
                    notes.push(format!("the Manager {path} cannot be read: {error}"));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let manager: model::Manager = read(&body);
            manager_media.extend(manager.virtual_media.as_ref().map(|link| link.path.0.clone()));
            managers.push(Manager {
                dell_attributes: dell_attributes(&path, &manager),
                path,
                model: text(manager.model.clone()),
                firmware_version: text(manager.firmware_version.clone()),
            });
            identities.push(manager);
        }
        let manager = identities.first();
        let vendor = Vendor::detect(&Evidence {
            root: [as_str(root.vendor.as_ref()), as_str(root.product.as_ref())],
            oem: [Some(&root.oem), manager.map(|manager| &manager.oem)],
            manager: [
                manager.and_then(|manager| as_str(manager.manufacturer.as_ref())),
                manager.and_then(|manager| as_str(manager.model.as_ref())),
            ],
            system: as_str(system.manufacturer.as_ref()),
        });
        let vendor = if vendor == Vendor::Other { self.expected_vendor() } else { vendor };

        // Managers' virtual media is the older place; where a System has its own, they are the same devices.
        let mut slots = self.slots(&media, vendor, &mut notes).await?;
        if slots.iter().all(|slot| slot.insert.is_none()) {
            manager_media.retain(|path| !media.contains(path));
            for slot in self.slots(&manager_media, vendor, &mut notes).await? {
                if slots.iter().all(|known: &Slot| known.path != slot.path) {
                    slots.push(slot);
                }
            }
            media.append(&mut manager_media);
        }
        if media.is_empty() {
            notes.push("neither the System nor a Manager links to virtual media".to_owned());
        }
        Ok(Survey {
            vendor,
            product: text(root.product),
            redfish_version: text(root.redfish_version),
            system: System::read(system_path, system),
            managers,
            slots,
            notes,
        })
    }

    /// The Managers of a System; where it does not say, all of them.
    async fn find_managers(
        &self,
        root: &model::Root,
        system: &mut model::System,
        notes: &mut Vec<String>,
    ) -> Vec<String> {
        let links = system.links.take().unwrap_or_default();
        let linked = [links.managed_by, links.managers].into_iter().flatten().find(|links| !links.is_empty());
        if let Some(links) = linked {
            return links.into_iter().map(|link| link.path.0).collect();
        }
        let Some(Link { path }) = &root.managers else { return Vec::new() };
        match self.client().get(&path.0).await {
            Ok(resource) => read::<Collection>(&resource.body).paths(),
            Err(error) => {
                notes.push(format!("the Managers cannot be listed: {error}"));
                Vec::new()
            }
        }
    }

    /// The slots of collections.
    async fn slots(
        &self,
        collections: &[String],
        vendor: Vendor,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Slot>, BmcError> {
        let mut slots = Vec::new();
        for collection in collections {
            let members: Collection = match self.client().get(collection).await {
                Ok(resource) => read(&resource.body),
                Err(error) if is_absent(&error) => {
                    notes.push(format!("{collection} cannot be read: {error}"));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let mut paths = members.paths();
            // Lenovo's other slots are for uploads and for the remote console: nothing can be inserted by URL.
            if vendor == Vendor::Lenovo && paths.iter().any(|path| last_segment(path).starts_with("EXT")) {
                paths.retain(|path| last_segment(path).starts_with("EXT"));
            }
            if paths.len() > MOST_SLOTS {
                notes.push(format!("{collection} lists {} slots; the first {MOST_SLOTS} were read", paths.len()));
            }
            for path in paths.into_iter().take(MOST_SLOTS) {
                match self.client().get(&path).await {
                    Ok(resource) => slots.push(Slot::read(&path, &resource.body)),
                    Err(error) if is_absent(&error) => notes.push(format!("the slot {path} cannot be read: {error}")),
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(slots)
    }
}

/// Where Dell's attributes are: `DellAttributes` where the Manager links to them, the older `Attributes` otherwise.
fn dell_attributes(path: &str, manager: &model::Manager) -> Option<String> {
    let linked = manager.links.pointer("/Oem/Dell/DellAttributes").and_then(Value::as_array);
    let linked = linked.into_iter().flatten().filter_map(|link| link.get("@odata.id")?.as_str());
    let own = last_segment(path);
    if let Some(attributes) = linked.into_iter().find(|attributes| last_segment(attributes) == own) {
        return Some(attributes.to_owned());
    }
    own.starts_with("iDRAC").then(|| format!("{path}/Attributes"))
}

/// Whether an error is about one resource, and the others may answer.
fn is_absent(error: &RedfishError) -> bool {
    error.status().is_some_and(|status| matches!(status.as_u16(), 400 | 404 | 405 | 410 | 500 | 501))
}

fn last_segment(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

fn as_str(text: Option<&model::Text>) -> Option<&str> {
    text.map(|model::Text(text)| text.as_str())
}

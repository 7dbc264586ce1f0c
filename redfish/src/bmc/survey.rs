//! Reads what a BMC has: its System, its Managers, and its slots for virtual media with their actions.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Bmc;
use super::error::BmcError;
use super::hidden_slots::HiddenSlots;
use super::managers::{dell_attributes, is_manager_of};
use super::next_reset;
use super::properties::{Properties, last_segment};
use super::refusals::{cannot_be_read, is_about_one_resource, is_answer};
use super::state::{Boot, BootProgress, MediaState, PowerState};
use super::vendor::{Evidence, Vendor};

/// Maximum number of Managers of one machine.
const MAX_MANAGERS: usize = 4;
/// Maximum number of Managers that are read to find those of one machine, if one of them is its.
const MAX_CANDIDATES: usize = 32;

/// What a BMC has, as [`Bmc::survey`] read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// The vendor of the BMC's firmware.
    pub vendor: Vendor,
    /// `Product` of the service root, such as `Integrated Dell Remote Access Controller`.
    pub product: Option<String>,
    /// `RedfishVersion` of the service root: the version of the protocol (DSP0266), such as `1.17.0`.
    pub redfish_version: Option<String>,
    /// The machine.
    pub system: System,
    /// The BMC itself. Most machines have one.
    pub managers: Vec<Manager>,
    /// The slots for virtual media, in the BMC's order.
    pub slots: Vec<Slot>,
    /// The paths of the Managers, if nothing says which of them is this machine's. None of them was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_managers: Vec<String>,
    /// How the BMC refused to show one slot or all slots, for example because a licence or a privilege is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_slots: Option<String>,
    /// Sentences about slots that the BMC has, or may have, but did not show. They are also in `notes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden_slots: Vec<String>,
    /// Sentences about anything unusual, such as a resource that could not be read.
    pub notes: Vec<String>,
}

/// A machine (schema `ComputerSystem` 1.22).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// The resource's path, such as `/redfish/v1/Systems/1`.
    pub path: String,
    /// `Name`, or else `Id`.
    pub name: Option<String>,
    /// `Manufacturer`.
    pub manufacturer: Option<String>,
    /// `Model`.
    pub model: Option<String>,
    /// `SerialNumber`.
    pub serial_number: Option<String>,
    /// `UUID`.
    pub uuid: Option<String>,
    /// `BiosVersion`.
    pub bios_version: Option<String>,
    /// `PowerState`.
    pub power_state: PowerState,
    /// `Boot`: what the machine boots from next.
    pub boot: Boot,
    /// `BootProgress`, if the BMC reports it.
    pub boot_progress: Option<BootProgress>,
    /// The path of the settings resource (`@Redfish.Settings`), if changes of settings go to another resource.
    pub settings: Option<String>,
    /// The action that switches the machine on and off.
    pub reset: Option<Reset>,
    /// The path of the resource about Secure Boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secure_boot: Option<String>,
    /// The path of the resource with the firmware's settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bios: Option<String>,
    /// The path of the collection of the machine's NICs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ethernet_interfaces: Option<String>,
}

/// The action `ComputerSystem.Reset`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// The path of the action.
    pub target: String,
    /// The values of `ResetType` that the BMC accepts. `None` if it does not list them.
    pub types: Option<Vec<String>>,
}

/// A BMC (schema `Manager` 1.19).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manager {
    /// The resource's path, such as `/redfish/v1/Managers/1`.
    pub path: String,
    /// `Model`, such as `iLO 6`.
    pub model: Option<String>,
    /// `FirmwareVersion`.
    pub firmware_version: Option<String>,
    /// The path of an iDRAC's attributes (`DellAttributes`, or the older `Attributes`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dell_attributes: Option<String>,
}

/// A slot for virtual media (schema `VirtualMedia` 1.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The resource's path, such as `/redfish/v1/Managers/1/VirtualMedia/2`.
    pub path: String,
    /// `Id`, such as `2` or `CD`; or else the last segment of the path.
    pub id: String,
    /// `Name`.
    pub name: Option<String>,
    /// `MediaTypes`, such as `CD`, `DVD` and `USBStick`. Empty if the BMC does not list them.
    pub media_types: Vec<String>,
    /// The action that inserts an image. `None` if the slot has none.
    pub insert: Option<Insert>,
    /// The path of the action that ejects. `None` if the slot has none.
    pub eject: Option<String>,
    /// `VerifyCertificate`: whether the BMC checks the certificate of the server that serves the image.
    pub verify_certificate: Option<bool>,
    /// Whether the slot has HPE's `BootOnNextServerReset`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub boots_on_next_reset: bool,
    /// What is in the slot.
    pub state: MediaState,
}

/// The action `VirtualMedia.InsertMedia`, with what the BMC says about its parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insert {
    /// The path of the action.
    pub target: String,
    /// The path of the description of the action's parameters (`@Redfish.ActionInfo`).
    pub info: Option<String>,
    /// The values of `TransferProtocolType` that the BMC accepts, if it lists them.
    pub transfer_protocols: Option<Vec<String>>,
    /// The values of `TransferMethod` that the BMC accepts, if it lists them.
    pub transfer_methods: Option<Vec<String>>,
}

/// The paths of a System and of the resources that it links to. A survey does not keep whole resources, which take many times the memory:
/// thousands of surveys may run at once.
struct Links {
    /// The path by which the System was read, and the one under which the BMC lists it.
    own: [Option<String>; 2],
    /// The paths of the Managers that the System names.
    managed_by: Vec<String>,
    /// The path of its collection of slots.
    virtual_media: Option<String>,
}

impl Links {
    fn read(path: &str, system: Properties<'_>) -> Self {
        let links = system.object("Links");
        let managed_by = ["ManagedBy", "Managers"].map(|name| links.links(name));
        Self {
            own: [Some(path.to_owned()), system.path("@odata.id")],
            managed_by: managed_by.into_iter().find(|links| !links.is_empty()).unwrap_or_default(),
            virtual_media: system.link("VirtualMedia"),
        }
    }
}

impl Slot {
    pub(super) fn read(path: &str, body: &Value) -> Self {
        let media = Properties::new(body);
        let actions = media.object("Actions");
        let insert = actions.object("#VirtualMedia.InsertMedia");
        let insert = insert.path("target").map(|target| Insert {
            target,
            info: insert.path("@Redfish.ActionInfo"),
            transfer_protocols: insert.texts("TransferProtocolType@Redfish.AllowableValues"),
            transfer_methods: insert.texts("TransferMethod@Redfish.AllowableValues"),
        });
        Self {
            id: media.text("Id").unwrap_or_else(|| last_segment(path).to_owned()),
            path: path.to_owned(),
            name: media.text("Name"),
            media_types: media.texts("MediaTypes").unwrap_or_default(),
            insert,
            eject: actions.object("#VirtualMedia.EjectMedia").path("target"),
            verify_certificate: media.flag("VerifyCertificate"),
            boots_on_next_reset: next_reset::read(body).is_some(),
            state: MediaState::read(media),
        }
    }
}

impl System {
    pub(super) fn read(path: String, system: Properties<'_>) -> Self {
        Self {
            path,
            name: system.text("Name").or_else(|| system.text("Id")),
            manufacturer: system.text("Manufacturer"),
            model: system.text("Model"),
            serial_number: system.text("SerialNumber"),
            uuid: system.text("UUID"),
            bios_version: system.text("BiosVersion"),
            power_state: PowerState::read(system),
            boot: Boot::read(system),
            boot_progress: BootProgress::read(system),
            settings: settings_path(system),
            reset: Reset::read(system),
            secure_boot: system.link("SecureBoot"),
            bios: system.link("Bios"),
            ethernet_interfaces: system.link("EthernetInterfaces"),
        }
    }
}

impl Reset {
    pub(super) fn read(system: Properties<'_>) -> Option<Self> {
        let action = system.object("Actions").object("#ComputerSystem.Reset");
        Some(Self { target: action.path("target")?, types: action.texts("ResetType@Redfish.AllowableValues") })
    }
}

/// The path of the resource whose settings take effect at the next boot.
pub(super) fn settings_path(system: Properties<'_>) -> Option<String> {
    system.object("@Redfish.Settings").link("SettingsObject")
}

impl Bmc {
    /// Reads what the BMC has. Changes nothing.
    ///
    /// Sends one request for the System, one for each of its Managers, one for each collection of virtual media and one
    /// for each slot. It first lists the Systems if the address names none.
    pub async fn survey(&self) -> Result<Survey, BmcError> {
        self.masked(self.read_survey().await)
    }

    async fn read_survey(&self) -> Result<Survey, BmcError> {
        let mut notes = Vec::new();
        let (product, redfish_version, all_managers) = {
            let root = self.client().root();
            let root = Properties::new(&root);
            (root.text("Product"), root.text("RedfishVersion"), root.link("Managers"))
        };
        let (system, Links { own, managed_by, virtual_media }) = {
            let (path, body) = self.read_system().await?;
            let links = Links::read(&path, Properties::new(&body));
            // The BMC may list the System under another path than the one in its address.
            let [_, listed] = &links.own;
            (System::read(listed.clone().unwrap_or(path), Properties::new(&body)), links)
        };

        let (mut managers, mut of_managers) = (Vec::new(), Vec::new());
        let (mut vendor, mut unread) = (None, None);
        let mut hidden = HiddenSlots::default();
        let (paths, may_be_others) = self.manager_paths(all_managers, managed_by, &mut hidden, &mut notes).await?;
        let most = if may_be_others { MAX_CANDIDATES } else { MAX_MANAGERS };
        for (position, path) in paths.iter().enumerate() {
            // The only Manager of this System may be the last of all.
            let is_missing = may_be_others && managers.is_empty();
            if managers.len() >= MAX_MANAGERS || position >= most && !is_missing {
                if !may_be_others {
                    let listed = paths.len();
                    hidden.add_managers(
                        format!("the System has {listed} Managers; only the first {position} were read"),
                        &mut notes,
                    );
                }
                break;
            }
            let body = match self.client().get(path).await {
                Ok(resource) => resource.body,
                // Another Manager may have the slots. One of two may be off, or not be for this account.
                Err(error) if is_answer(&error) => {
                    hidden.note_managers(cannot_be_read(path, &error), &error, &mut notes);
                    if !is_about_one_resource(&error) {
                        unread.get_or_insert(error);
                    }
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if may_be_others && !is_manager_of(&body, &own) {
                continue;
            }
            let manager = Properties::new(&body);
            vendor.get_or_insert_with(|| self.vendor(&system, manager));
            of_managers.extend(manager.link("VirtualMedia"));
            managers.push(Manager {
                dell_attributes: dell_attributes(path, &body),
                path: path.clone(),
                model: manager.text("Model"),
                firmware_version: manager.text("FirmwareVersion"),
            });
        }
        let vendor = vendor.unwrap_or_else(|| self.vendor(&system, Properties::new(&Value::Null)));
        if may_be_others && !managers.is_empty() {
            // The System has its Manager, so the others are those of other Systems, which may be off for months.
            hidden.managers.clear();
        } else if may_be_others && !paths.is_empty() {
            let sentence = "no Manager that was read names the System, so their slots were not read";
            hidden.add_managers(sentence.to_owned(), &mut notes);
        }

        let mut collections: Vec<String> = virtual_media.into_iter().collect();
        let mut slots = self.slots(&collections, vendor, &mut hidden, &mut notes).await?;
        let more: Vec<String> = of_managers.into_iter().filter(|path| !collections.contains(path)).collect();
        self.add_managers_slots(&mut slots, &more, vendor, &mut hidden, &mut notes).await?;
        collections.extend(more);
        match unread {
            Some(error) if managers.is_empty() => return Err(error.into()),
            Some(error) if error.status() == Some(StatusCode::FORBIDDEN) => {
                hidden.refusal.get_or_insert_with(|| error.to_string());
            }
            // The slots may be at the Manager that could not be read.
            Some(error) if slots.is_empty() => return Err(error.into()),
            _ => {}
        }
        let unknown = paths.into_iter().filter(|_| may_be_others && managers.is_empty());
        let unknown_managers: Vec<String> = unknown.take(MAX_MANAGERS).collect();
        if collections.is_empty() && unknown_managers.is_empty() {
            notes.push("neither the System nor a Manager links to virtual media".to_owned());
        }
        Ok(Survey {
            vendor,
            product,
            redfish_version,
            system,
            managers,
            slots,
            unknown_managers,
            refused_slots: hidden.refusal,
            hidden_slots: hidden.sentences,
            notes,
        })
    }

    /// The vendor by what the BMC says. If that is not known, the vendor that the scheme of the address names.
    fn vendor(&self, system: &System, manager: Properties<'_>) -> Vendor {
        let root = self.client().root();
        let root = Properties::new(&root);
        let vendor = Vendor::detect(&Evidence {
            root: [root.text("Vendor"), root.text("Product")],
            oem: [root.value("Oem"), manager.value("Oem")],
            manager: [manager.text("Manufacturer"), manager.text("Model")],
            system: system.manufacturer.clone(),
        });
        if vendor == Vendor::Other { self.expected_vendor() } else { vendor }
    }
}

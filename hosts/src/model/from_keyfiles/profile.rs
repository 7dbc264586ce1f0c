//! One profile: what it is called, and how it finds its device.

use super::section::Section;
use crate::keyfile_format::GroupedKeys;
use crate::model::{Device, Kind};
use vocabulary::report::DocumentPath;

/// A profile, and what is asked of it more than once.
pub(super) struct Profile<'a> {
    pub(super) path: DocumentPath,
    file: GroupedKeys<'a>,
    /// What references call its interface.
    pub(super) name: String,
    /// Its identity, in lower case.
    pub(super) uuid: Option<String>,
    /// What it is for, by NetworkManager's name.
    pub(super) kind: String,
    /// Whether it comes up by itself.
    pub(super) active: bool,
    /// Its priority among those for one device.
    pub(super) priority: i32,
    /// The reference to the interface that it is a port of.
    pub(super) controller: Option<String>,
    /// Whether that is a VRF, whose ports keep their addresses.
    in_vrf: bool,
}

impl<'a> Profile<'a> {
    /// Reads a keyfile. One without a type or a name is no profile.
    pub(super) fn read(path: DocumentPath, content: &'a str) -> Option<Self> {
        let file = GroupedKeys::parse(content).ok()?;
        let connection = Section::new(file.group("connection"), path.key("connection"));
        let name = connection.text("interface-name").or_else(|| connection.text("id"))?;
        let port_type = connection.text("port-type").or_else(|| connection.text("slave-type"));
        Some(Self {
            name,
            uuid: connection.text("uuid").map(|uuid| uuid.to_ascii_lowercase()),
            kind: connection.text("type")?,
            active: connection.flag("autoconnect").unwrap_or(true),
            priority: connection.parsed("autoconnect-priority").unwrap_or(0),
            controller: connection.text("controller").or_else(|| connection.text("master")),
            in_vrf: port_type.as_deref() == Some("vrf"),
            path,
            file,
        })
    }

    /// A group of its keyfile.
    pub(super) fn section(&self, name: &str) -> Section<'_, 'a> {
        Section::new(self.file.group(name), self.path.key(name))
    }

    /// Whether its keyfile has a group.
    pub(super) fn has_section(&self, name: &str) -> bool {
        self.file.group(name).is_some()
    }

    /// The group about its hardware, by either of its names.
    pub(super) fn hardware(&self) -> Section<'_, 'a> {
        let names = ["ethernet", "802-3-ethernet", "infiniband", "wifi", "802-11-wireless"];
        let present = names.into_iter().find(|name| self.file.group(name).is_some());
        self.section(present.unwrap_or("ethernet"))
    }

    /// Whether it has addresses of its own: a port has none, unless it is that of a VRF.
    pub(super) fn has_ip(&self, kind: &Kind) -> bool {
        let carries_none = matches!(kind, Kind::Other(name) if matches!(name.as_str(), "ovs-bridge" | "ovs-port"));
        !carries_none && (self.controller.is_none() || self.in_vrf || self.kind == "ovs-interface")
    }

    /// How it finds its device.
    pub(super) fn device(&self) -> Device {
        if self.section("connection").text("interface-name").is_some() {
            return Device::Name;
        }
        if let Some(mac) = self.hardware().parsed("mac-address") {
            return Device::Mac(mac);
        }
        let paths = self.section("match").list("path");
        let path = paths.iter().map(|path| path.trim_start_matches(['|', '&'])).find(|path| !path.starts_with('!'));
        match path {
            Some(path) => Device::Pci(path.strip_prefix("pci-").unwrap_or(path).to_owned()),
            None => Device::Any,
        }
    }
}

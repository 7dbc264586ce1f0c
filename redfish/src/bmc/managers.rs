//! Finds the Managers of a System, and reads their links.

use serde_json::Value;

use super::Bmc;
use super::error::BmcError;
use super::hidden_slots::HiddenSlots;
use super::properties::{Properties, last_segment};
use super::refusals::is_about_one_resource;

impl Bmc {
    /// The paths of the System's Managers, or of all Managers if the System names none; and whether these may be Managers of other
    /// Systems. A medium inserted at such a Manager would change another machine.
    pub(super) async fn manager_paths(
        &self,
        all: Option<String>,
        managed_by: Vec<String>,
        hidden: &mut HiddenSlots,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<String>, bool), BmcError> {
        if !managed_by.is_empty() {
            return Ok((managed_by, false));
        }
        let Some(path) = all else { return Ok((Vec::new(), false)) };
        let listed = match self.collection(&path).await {
            Ok(listed) => listed,
            Err(error) => {
                hidden.note_managers(format!("the Managers cannot be listed: {error}"), &error, notes);
                return Ok((Vec::new(), false));
            }
        };
        let paths = listed.paths();
        if let Some(error) = &listed.incomplete {
            hidden.add_managers(format!("the list of the Managers ends early: {error}"), notes);
        } else if paths.len() < 2 {
            // One Manager manages all Systems.
            return Ok((paths, false));
        }
        let are_several = match self.systems().await {
            Ok(systems) => systems.incomplete.is_some() || systems.paths().len() > 1,
            Err(BmcError::Redfish(error)) if is_about_one_resource(&error) => true,
            Err(error) => return Err(error),
        };
        Ok((paths, are_several))
    }
}

/// The path of an iDRAC's attributes: `DellAttributes` if the Manager links to them, otherwise the older `Attributes`.
pub(super) fn dell_attributes(path: &str, manager: &Value) -> Option<String> {
    let linked = Properties::new(manager).object("Links").object("Oem").object("Dell").links("DellAttributes");
    let own = last_segment(path);
    let attributes = linked.into_iter().find(|attributes| last_segment(attributes) == own);
    attributes.or_else(|| own.starts_with("iDRAC").then(|| format!("{path}/Attributes")))
}

/// Whether a Manager says that it manages the System with one of these paths.
pub(super) fn is_manager_of(manager: &Value, system: &[Option<String>]) -> bool {
    let linked = Properties::new(manager).object("Links").links("ManagerForServers");
    let is_same = |one: &str, other: &str| one.trim_end_matches('/') == other.trim_end_matches('/');
    linked.iter().any(|path| system.iter().flatten().any(|own| is_same(path, own)))
}

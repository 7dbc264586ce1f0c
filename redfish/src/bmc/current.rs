//! The boot override as a BMC shows it: a System, and the resource with its settings for the next boot.

use serde_json::{Map, Value, json};

use super::Bmc;
use super::error::BmcError;
use super::properties::Properties;
use super::state::{Boot, BootSource};
use crate::Resource;

/// A System and its settings resource, as they were just read.
pub(super) struct Current {
    pub(super) system: Resource,
    pub(super) settings: Option<Resource>,
    pub(super) boot: Boot,
}

impl Current {
    /// Divides a change of `Boot` between the two resources: a property that the settings resource has is changed
    /// there.
    pub(super) fn divide(&self, boot: &Map<String, Value>) -> Vec<(&Resource, Value)> {
        let pending = self.settings.as_ref().and_then(|settings| settings.body.get("Boot")).and_then(Value::as_object);
        let (waiting, direct): (Map<_, _>, Map<_, _>) = boot
            .clone()
            .into_iter()
            .partition(|(property, _)| pending.is_some_and(|pending| pending.contains_key(property)));
        let mut parts = Vec::new();
        parts.extend(self.settings.as_ref().filter(|_| !waiting.is_empty()).map(|to| (to, json!({"Boot": waiting}))));
        if !direct.is_empty() {
            parts.push((&self.system, json!({"Boot": direct})));
        }
        parts
    }

    /// Whether the values of a resource take effect later.
    pub(super) fn is_staged(&self, resource: &Resource) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.path == resource.path)
    }
}

impl Bmc {
    /// Reads the override. The values in the settings resource take precedence, because they apply to the next boot.
    pub(super) async fn read_boot(&self, path: &str, settings: Option<&str>) -> Result<Current, BmcError> {
        let system = self.client().get(path).await?;
        let mut boot = Boot::read(Properties::new(&system.body));
        let settings = match settings {
            Some(settings) => match self.client().get(settings).await {
                Ok(settings) => Some(settings),
                // Some BMCs have the resource only while settings wait for the next boot.
                Err(error) if error.status().is_some_and(|status| status.is_client_error()) => None,
                Err(error) => return Err(error.into()),
            },
            None => None,
        };
        if let Some(settings) = &settings {
            let pending = Boot::read(Properties::new(&settings.body));
            let BootSource { enabled, target, mode } = pending.source;
            boot.source.enabled = enabled.or(boot.source.enabled);
            boot.source.target = target.or(boot.source.target);
            boot.source.mode = mode.or(boot.source.mode);
            boot.http_uri = pending.http_uri.or(boot.http_uri);
        }
        Ok(Current { system, settings, boot })
    }
}

//! The boot override as a BMC shows it: a System, and the resource with its settings for the next boot.

use serde_json::{Map, Value, json};

use super::Bmc;
use super::error::BmcError;
use super::http_uri::HttpUri;
use super::properties::Properties;
use super::state::{Boot, BootSource};
use crate::Resource;

/// The properties of a System and its settings resource that a boot override depends on, as dayone has just read them. The whole resources
/// take many times the memory, and thousands of boots may set their overrides at the same time.
pub(super) struct Current {
    pub(super) system: ReadResource,
    pub(super) settings: Option<Settings>,
    pub(super) boot: ShownBoot,
    /// The path of the collection of boot options.
    pub(super) boot_options: Option<String>,
    /// The path of the resource with the firmware's settings.
    pub(super) bios: Option<String>,
}

/// A resource as it was read, without its content.
pub(super) struct ReadResource {
    pub(super) path: String,
    pub(super) etag: Option<String>,
}

/// The settings resource.
pub(super) struct Settings {
    pub(super) resource: ReadResource,
    /// The names of the properties of its `Boot`.
    boot: Vec<String>,
}

/// The override in `Boot`.
#[derive(Clone)]
pub(super) struct ShownBoot {
    pub(super) source: BootSource,
    pub(super) http_uri: Option<HttpUri>,
}

impl Current {
    /// Divides a change of `Boot` between the two resources: a property that the settings resource has is changed
    /// there.
    pub(super) fn divide(&self, boot: &Map<String, Value>) -> Vec<(&ReadResource, Value)> {
        let settings = self.settings.as_ref();
        let (waiting, direct): (Map<_, _>, Map<_, _>) = boot
            .clone()
            .into_iter()
            .partition(|(property, _)| settings.is_some_and(|settings| settings.boot.contains(property)));
        let mut parts = Vec::new();
        let to = settings.filter(|_| !waiting.is_empty()).map(|settings| &settings.resource);
        parts.extend(to.map(|to| (to, json!({"Boot": waiting}))));
        if !direct.is_empty() {
            parts.push((&self.system, json!({"Boot": direct})));
        }
        parts
    }

    /// Whether the values of a resource take effect later.
    pub(super) fn is_staged(&self, resource: &ReadResource) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.resource.path == resource.path)
    }
}

impl ShownBoot {
    fn read(resource: Properties<'_>) -> Self {
        let Boot { source, http_uri, .. } = Boot::read(resource);
        Self { source, http_uri }
    }
}

impl Bmc {
    /// Reads the override. The values in the settings resource take precedence, because they apply to the next boot.
    pub(super) async fn read_boot(&self, path: &str, settings: Option<&str>) -> Result<Current, BmcError> {
        let Resource { path, body, etag } = self.client().get(path).await?;
        let resource = Properties::new(&body);
        let mut current = Current {
            system: ReadResource { path, etag },
            settings: None,
            boot: ShownBoot::read(resource),
            boot_options: resource.object("Boot").link("BootOptions"),
            bios: resource.link("Bios"),
        };
        drop(body);
        let Some(settings) = settings else { return Ok(current) };
        let Resource { path, body, etag } = match self.client().get(settings).await {
            Ok(settings) => settings,
            // Some BMCs have the resource only while settings wait for the next boot.
            Err(error) if error.status().is_some_and(|status| status.is_client_error()) => return Ok(current),
            Err(error) => return Err(error.into()),
        };
        let pending = ShownBoot::read(Properties::new(&body));
        let BootSource { enabled, target, mode } = pending.source;
        let ShownBoot { source, http_uri } = &mut current.boot;
        source.enabled = enabled.or(source.enabled.take());
        source.target = target.or(source.target.take());
        source.mode = mode.or(source.mode.take());
        *http_uri = pending.http_uri.or(http_uri.take());
        let properties = body.get("Boot").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let boot = properties.cloned().collect();
        current.settings = Some(Settings { resource: ReadResource { path, etag }, boot });
        Ok(current)
    }
}

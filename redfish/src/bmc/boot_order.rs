//! HPE's order of the firmware's boot sources (schema `HpeServerBootSettings`), for an iLO that takes no boot override. A change takes
//! effect at the host's next start, and stays.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Bmc;
use super::error::BmcError;
use super::properties::Properties;
use super::survey::settings_path;

/// The property with the order: `StructuredBootString`s of sources.
const ORDER: &str = "PersistentBootConfigOrder";
/// More sources than any host has. An order that is not known as a whole cannot be set back.
const MAX_SOURCES: usize = 256;

/// A change of the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootOrder {
    /// The path of the settings resource.
    path: String,
    /// The order from before.
    before: Vec<String>,
    /// The same with the wanted source in front.
    wanted: Vec<String>,
}

impl BootOrder {
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The body that sets the order.
    pub(super) fn body(&self) -> Value {
        json!({ORDER: self.wanted})
    }
}

/// The order in a resource. `None` if the resource has no order, or not every element is a name.
fn read(resource: &Value) -> Option<Vec<String>> {
    let sources = resource.get(ORDER)?.as_array().filter(|sources| sources.len() <= MAX_SOURCES)?;
    let is_name = |name: &&str| !name.is_empty() && !name.chars().any(char::is_control);
    sources.iter().map(|source| source.as_str().filter(is_name).map(str::to_owned)).collect()
}

/// What the order calls the source that people see under this name. HPE puts more behind some names.
fn source_named(resource: &Value, name: &str) -> Option<String> {
    let sources = resource.get("BootSources")?.as_array()?;
    let is_wanted = |source: &&Value| {
        let shown = source.get("BootString").and_then(Value::as_str).unwrap_or_default();
        shown.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    sources.iter().find(is_wanted)?.get("StructuredBootString")?.as_str().map(str::to_owned)
}

impl Bmc {
    /// The change that puts the boot source with this name in front. `bios` is the path of the resource with the firmware's settings.
    /// `None` if the firmware has no such source or no such order.
    pub(super) async fn boot_order(&self, bios: Option<&str>, name: &str) -> Result<Option<BootOrder>, BmcError> {
        let Some(bios) = bios else { return Ok(None) };
        let Some(bios) = self.read_if_there(bios).await? else { return Ok(None) };
        let links = Properties::new(&bios).object("Oem").object("Hpe").object("Links");
        let Some(current) = links.link("Boot") else { return Ok(None) };
        drop(bios);
        let Some(boot) = self.read_if_there(&current).await? else { return Ok(None) };
        let path = settings_path(Properties::new(&boot))
            .unwrap_or_else(|| format!("{}/settings", current.trim_end_matches('/')));
        // The order for the next start, which somebody may have changed already.
        let Some(settings) = self.read_if_there(&path).await? else { return Ok(None) };
        let Some(before) = read(&settings).or_else(|| read(&boot)) else { return Ok(None) };
        let Some(source) = source_named(&boot, name).or_else(|| source_named(&settings, name)) else { return Ok(None) };
        let others = before.iter().filter(|other| **other != source).cloned();
        let wanted = std::iter::once(source.clone()).chain(others).collect();
        Ok(before.contains(&source).then_some(BootOrder { path, before, wanted }))
    }

    /// Whether the order is set.
    pub(super) async fn has_boot_order(&self, order: &BootOrder) -> Result<bool, BmcError> {
        Ok(read(&self.client().get(&order.path).await?.body).as_ref() == Some(&order.wanted))
    }

    /// Sets the order from before, unless somebody has set another since. Returns whether that was necessary.
    pub(super) async fn restore_boot_order(&self, order: &BootOrder) -> Result<bool, BmcError> {
        if order.before == order.wanted || !self.has_boot_order(order).await? {
            return Ok(false);
        }
        self.client().update(&order.path, &json!({ORDER: order.before}), None, self.limits().change).await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_known_as_a_whole_or_not_at_all() {
        assert_eq!(read(&json!({ORDER: ["HD.1", "CD.1"]})), Some(vec!["HD.1".to_owned(), "CD.1".to_owned()]));
        for order in
            [json!(null), json!("HD.1"), json!(["HD.1", 7]), json!(["a\u{7}"]), json!([""]), json!(vec!["x"; 257])]
        {
            assert_eq!(read(&json!({ORDER: order})), None, "{order}");
        }
    }

    #[test]
    fn a_source_is_found_by_the_beginning_of_its_name() {
        let boot = json!({"BootSources": [
            {"BootString": "Embedded SATA", "StructuredBootString": "HD.Emb.1.1"},
            {"BootString": "URL File 1 : http://192.0.2.1/x", "StructuredBootString": "URL.1.1"},
        ]});
        assert_eq!(source_named(&boot, "url file").as_deref(), Some("URL.1.1"));
        assert_eq!(source_named(&boot, "Shell"), None);
        assert_eq!(source_named(&json!({}), "URL File"), None);
    }
}

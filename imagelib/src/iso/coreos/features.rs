//! What the operating system in the image can do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::CoreosIsoError;
use crate::iso::Volume;
use crate::source::Source;

const FEATURES: &str = "coreos/features.json";

/// What `/coreos/features.json` promises, or the file of this name in a live initramfs. Images from before December 2021 have no such file
/// and promise nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Features {
    /// NetworkManager keyfiles in the initramfs take effect from the first second.
    pub live_initrd_network: bool,
    /// The installer reads its settings from files in the live system.
    pub installer_config: bool,
    /// These settings may name consoles.
    pub installer_console: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Json {
    #[serde(default)]
    live_initrd_network: bool,
    #[serde(default)]
    installer_config: bool,
    #[serde(default)]
    installer_config_directives: BTreeMap<String, bool>,
}

impl Features {
    pub(super) fn probe(source: &dyn Source, volume: &Volume) -> Result<Self, CoreosIsoError> {
        let Some((json, _)) = super::read_json::<Json>(source, volume, FEATURES)? else { return Ok(Self::default()) };
        Ok(Self::of(&json))
    }

    /// What the file of a live initramfs promises: nothing, if it cannot be parsed.
    pub(crate) fn in_initramfs(content: &[u8]) -> Self {
        serde_json::from_slice::<Json>(content).map(|json| Self::of(&json)).unwrap_or_default()
    }

    fn of(json: &Json) -> Self {
        Self {
            live_initrd_network: json.live_initrd_network,
            installer_config: json.installer_config,
            installer_console: json.installer_config_directives.get("console").copied().unwrap_or_default(),
        }
    }
}

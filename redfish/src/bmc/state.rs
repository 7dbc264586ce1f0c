//! What a BMC says of its machine: power, progress of a boot, the next boot, and what is in a slot.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use super::model::{self, text, texts};

/// `ComputerSystem.PowerState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PowerState {
    /// On.
    On,
    /// Off.
    Off,
    /// On its way to on.
    PoweringOn,
    /// On its way to off.
    PoweringOff,
    /// Not said, or another word.
    Unknown,
}

impl PowerState {
    pub(super) fn read(word: Option<&model::Text>) -> Self {
        match word.map(|model::Text(word)| word.to_ascii_lowercase()).as_deref() {
            Some("on") => Self::On,
            Some("off") => Self::Off,
            Some("poweringon") => Self::PoweringOn,
            Some("poweringoff") => Self::PoweringOff,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for PowerState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
            Self::PoweringOn => "powering on",
            Self::PoweringOff => "powering off",
            Self::Unknown => "unknown",
        })
    }
}

/// `ComputerSystem.BootProgress`, in the BMC's own words: what they mean differs between makers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootProgress {
    /// Such as `OSBootStarted`.
    pub last_state: String,
    /// More, where `last_state` is `OEM`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oem_last_state: Option<String>,
    /// When, by the BMC's clock and in its format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_state_time: Option<String>,
}

impl BootProgress {
    pub(super) fn read(progress: Option<model::Progress>) -> Option<Self> {
        let progress = progress?;
        Some(Self {
            last_state: text(progress.last_state)?,
            oem_last_state: text(progress.oem_last_state),
            last_state_time: text(progress.last_state_time),
        })
    }

    /// Whether an operating system runs.
    pub fn is_running(&self) -> bool {
        self.last_state.eq_ignore_ascii_case("OSRunning")
    }
}

/// How the firmware boots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BootMode {
    /// UEFI.
    #[serde(rename = "UEFI")]
    Uefi,
    /// BIOS.
    Legacy,
}

impl BootMode {
    /// Redfish's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uefi => "UEFI",
            Self::Legacy => "Legacy",
        }
    }

    pub(super) fn read(word: Option<&str>) -> Option<Self> {
        [Self::Uefi, Self::Legacy]
            .into_iter()
            .find(|mode| word.is_some_and(|word| word.eq_ignore_ascii_case(mode.as_str())))
    }
}

impl fmt::Display for BootMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What the next boot is from, in the BMC's own words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootSource {
    /// `Disabled`, `Once` or `Continuous`.
    pub enabled: Option<String>,
    /// Such as `Cd`.
    pub target: Option<String>,
    /// `UEFI` or `Legacy`.
    pub mode: Option<String>,
}

/// `ComputerSystem.Boot`: what is set, and what can be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// What is set.
    pub source: BootSource,
    /// Targets that can be set, where the BMC lists them.
    pub targets: Option<Vec<String>>,
    /// Modes that can be set, where the BMC lists them.
    pub modes: Option<Vec<String>>,
    /// `Once`, `Continuous`, … where the BMC lists them.
    pub enables: Option<Vec<String>>,
}

impl Boot {
    pub(super) fn read(boot: Option<model::Boot>) -> Self {
        let boot = boot.unwrap_or_default();
        Self {
            source: BootSource { enabled: text(boot.enabled), target: text(boot.target), mode: text(boot.mode) },
            targets: texts(boot.targets),
            modes: texts(boot.modes),
            enables: texts(boot.enables),
        }
    }
}

/// What is in a slot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaState {
    /// The URL. Some BMCs leave it there when they have ejected.
    pub image: Option<String>,
    /// The last part of it, or something that the BMC made up.
    pub image_name: Option<String>,
    /// Whether the host sees a medium.
    pub inserted: Option<bool>,
    /// `NotConnected`, `URI`, `Applet`, `Oem`.
    pub connected_via: Option<String>,
}

impl MediaState {
    pub(super) fn read(media: &model::VirtualMedia) -> Self {
        Self {
            image: text(media.image.clone()),
            image_name: text(media.image_name.clone()),
            inserted: media.inserted,
            connected_via: text(media.connected_via.clone()),
        }
    }

    /// Whether the host sees a medium. `Inserted` alone does not tell: some BMCs keep it after an eject, and say
    /// `NotConnected`.
    pub fn is_connected(&self) -> bool {
        let not_connected = self.connected_via.as_deref() == Some("NotConnected");
        match self.inserted {
            Some(inserted) => inserted && !not_connected,
            None => self.image.is_some() && self.connected_via.is_some() && !not_connected,
        }
    }

    /// Whether there is nothing in it, and nothing left of what was.
    pub fn is_empty(&self) -> bool {
        self.image.is_none() && !self.inserted.unwrap_or(false)
    }

    /// Whether the image that it names is that of `url`. BMCs write URLs in their own ways: without the scheme, or with
    /// another form of the address.
    pub fn names(&self, url: &str) -> bool {
        let Some(image) = &self.image else { return false };
        if image == url {
            return true;
        }
        let file = |text: &str| Url::parse(text).map_or_else(|_| None, |url| Some(url.path().to_owned()));
        match (file(image), file(url)) {
            (Some(shown), Some(wanted)) => shown == wanted,
            (None, Some(wanted)) => wanted.len() > 1 && image.ends_with(&wanted),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://192.0.2.1:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso";

    fn state(image: Option<&str>, inserted: Option<bool>, connected_via: Option<&str>) -> MediaState {
        MediaState {
            image: image.map(str::to_owned),
            image_name: None,
            inserted,
            connected_via: connected_via.map(str::to_owned),
        }
    }

    #[test]
    fn a_medium_is_connected_where_nothing_contradicts_it() {
        let cases = [
            (state(Some(URL), Some(true), Some("URI")), true),
            (state(Some(URL), Some(true), None), true),
            (state(Some(URL), Some(true), Some("NotConnected")), false),
            (state(Some(URL), Some(false), Some("URI")), false),
            (state(Some(URL), None, Some("URI")), true),
            (state(Some(URL), None, None), false),
            (state(None, None, Some("Applet")), false),
        ];
        for (state, connected) in cases {
            assert_eq!(state.is_connected(), connected, "{state:?}");
        }
    }

    #[test]
    fn an_image_is_known_again_however_the_bmc_writes_it() {
        let names = |image: &str| state(Some(image), None, None).names(URL);
        assert!(names(URL));
        assert!(names("192.0.2.1:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(names("/i/abcdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(names("http://[::ffff:192.0.2.1]:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(!names("http://192.0.2.1:8081/i/zzzdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(!names("boot.iso"));
        assert!(!names(""));
    }
}

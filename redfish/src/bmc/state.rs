//! What a BMC says about its machine: power, the progress of a boot, the next boot, and what is in a slot.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use super::http_uri::{self, HttpUri};
use super::properties::Properties;
use crate::image_url::without_credentials;

/// `PowerState` of a System (`Resource.PowerState`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PowerState {
    /// `On`.
    On,
    /// `Off`.
    Off,
    /// `PoweringOn`.
    PoweringOn,
    /// `PoweringOff`.
    PoweringOff,
    /// The BMC does not say, or uses another word.
    Unknown,
}

impl PowerState {
    pub(super) fn read(system: Properties<'_>) -> Self {
        match system.text("PowerState").map(|word| word.to_ascii_lowercase()).as_deref() {
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

/// `BootProgress` of a System, in the BMC's own words: vendors use the same words for different moments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootProgress {
    /// `LastState`, such as `OSBootStarted`.
    pub last_state: String,
    /// `OemLastState`, which says more if `last_state` is `OEM`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oem_last_state: Option<String>,
    /// `LastStateTime`: when the state began, by the BMC's clock and in its format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_state_time: Option<String>,
}

impl BootProgress {
    pub(super) fn read(system: Properties<'_>) -> Option<Self> {
        let progress = system.object("BootProgress");
        Some(Self {
            last_state: progress.text("LastState")?,
            oem_last_state: progress.text("OemLastState"),
            last_state_time: progress.text("LastStateTime"),
        })
    }

    /// Whether the BMC says that an operating system runs (`OSRunning`).
    pub fn is_running(&self) -> bool {
        self.last_state.eq_ignore_ascii_case("OSRunning")
    }
}

/// How the firmware boots (`BootSourceOverrideMode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BootMode {
    /// UEFI.
    #[serde(rename = "UEFI")]
    Uefi,
    /// Legacy BIOS.
    Legacy,
}

impl BootMode {
    /// The value of `BootSourceOverrideMode`: `UEFI` or `Legacy`.
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

/// A boot override as it is set, in the BMC's own words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootSource {
    /// `BootSourceOverrideEnabled`: `Disabled`, `Once` or `Continuous`.
    pub enabled: Option<String>,
    /// `BootSourceOverrideTarget`, such as `Cd`.
    pub target: Option<String>,
    /// `BootSourceOverrideMode`: `UEFI` or `Legacy`.
    pub mode: Option<String>,
}

impl BootSource {
    /// Whether `BootSourceOverrideEnabled` is this word. Ignores case.
    pub(super) fn is(&self, enabled: &str) -> bool {
        self.enabled.as_ref().is_some_and(|shown| shown.eq_ignore_ascii_case(enabled))
    }

    /// Whether `BootSourceOverrideTarget` is this word. Ignores case.
    pub(super) fn has_target(&self, target: &str) -> bool {
        self.target.as_ref().is_some_and(|shown| shown.eq_ignore_ascii_case(target))
    }

    /// Whether the BMC shows another mode than this one.
    pub(super) fn contradicts(&self, mode: Option<BootMode>) -> bool {
        let shown = BootMode::read(self.mode.as_deref());
        mode.is_some() && shown.is_some() && shown != mode
    }
}

/// `Boot` of a System: the current boot override, and the values that the BMC accepts for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// The current override.
    pub source: BootSource,
    /// The targets that the BMC accepts, if it lists them.
    pub targets: Option<Vec<String>>,
    /// The modes that the BMC accepts, if it lists them.
    pub modes: Option<Vec<String>>,
    /// The values of `BootSourceOverrideEnabled` that the BMC accepts, if it lists them.
    pub enables: Option<Vec<String>>,
    /// Whether the BMC has `HttpBootUri`, also if it is null.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_http_uri: bool,
    /// `HttpBootUri`: where the host boots from by HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_uri: Option<HttpUri>,
}

impl Boot {
    pub(super) fn read(system: Properties<'_>) -> Self {
        let boot = system.object("Boot");
        Self {
            source: BootSource {
                enabled: boot.text("BootSourceOverrideEnabled"),
                target: boot.text("BootSourceOverrideTarget"),
                mode: boot.text("BootSourceOverrideMode"),
            },
            targets: boot.texts("BootSourceOverrideTarget@Redfish.AllowableValues"),
            modes: boot.texts("BootSourceOverrideMode@Redfish.AllowableValues"),
            enables: boot.texts("BootSourceOverrideEnabled@Redfish.AllowableValues"),
            has_http_uri: boot.value(http_uri::URI).is_some(),
            http_uri: HttpUri::read(boot.text(http_uri::URI)),
        }
    }
}

/// What is in a slot (schema `VirtualMedia` 1.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaState {
    /// `Image`: the image's URL. Some BMCs keep it after they have ejected the image. A user name, a password and a query are replaced by
    /// `…`: the image may be somebody else's, and people and records see what is in a slot.
    pub image: Option<String>,
    /// `ImageName`: the last part of the URL, or a name that the BMC made up. Without credentials, as `image`.
    pub image_name: Option<String>,
    /// `Inserted`: whether the host sees a medium. See [`is_connected`](Self::is_connected).
    pub inserted: Option<bool>,
    /// `ConnectedVia`: `NotConnected`, `URI`, `Applet` or `Oem`.
    pub connected_via: Option<String>,
}

impl MediaState {
    pub(super) fn read(media: Properties<'_>) -> Self {
        Self {
            image: media.text("Image").as_deref().map(without_credentials),
            image_name: media.text("ImageName").as_deref().map(without_credentials),
            inserted: media.flag("Inserted"),
            connected_via: media.text("ConnectedVia"),
        }
    }

    /// Whether the host sees a medium. `Inserted` alone does not show that: after an eject, some BMCs keep it true and
    /// set only `ConnectedVia` to `NotConnected`.
    pub fn is_connected(&self) -> bool {
        let not_connected = self.connected_via.as_deref() == Some("NotConnected");
        match self.inserted {
            Some(inserted) => inserted && !not_connected,
            None => self.image.is_some() && self.connected_via.is_some() && !not_connected,
        }
    }

    /// Whether the slot holds no medium and shows no URL of an earlier one.
    pub fn is_empty(&self) -> bool {
        self.image.is_none() && !self.inserted.unwrap_or(false)
    }

    /// Whether somebody has connected a medium through the remote console. It has no URL.
    pub fn is_of_remote_console(&self) -> bool {
        self.connected_via.as_deref().is_some_and(|via| via.eq_ignore_ascii_case("Applet"))
    }

    /// Whether the slot shows the image at `url`. Some BMCs change the URL: they leave out the scheme, or write the
    /// address in another form. The paths are therefore compared.
    pub fn names(&self, url: &str) -> bool {
        let Some(image) = &self.image else { return false };
        if image == url {
            return true;
        }
        // Without this, the parser takes the host in `boot.example:8081/x` for a scheme.
        let parsed = |text: &str| text.contains("://").then(|| Url::parse(text).ok()).flatten();
        let path = |text: &str| parsed(text).map(|url| url.path().to_owned());
        match (path(image), path(url)) {
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
    fn a_medium_is_connected_unless_a_property_contradicts_it() {
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
    fn credentials_in_somebody_elses_url_are_not_kept() {
        let url = "http://admin:hunter2@192.0.2.9/other.iso?sig=hunter3";
        let media = serde_json::json!({"Image": url, "ImageName": "other.iso?sig=hunter3"});
        let state = MediaState::read(Properties::new(&media));
        assert_eq!(state.image.as_deref(), Some("http://…@192.0.2.9/other.iso?…"));
        assert_eq!(state.image_name.as_deref(), Some("other.iso?…"));
        assert!(state.names(url) && !state.names(URL));
    }

    #[test]
    fn an_image_is_recognised_however_the_bmc_writes_its_url() {
        let names = |image: &str| state(Some(image), None, None).names(URL);
        assert!(names(URL));
        assert!(names("192.0.2.1:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(names("/i/abcdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(names("http://[::ffff:192.0.2.1]:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(!names("http://192.0.2.1:8081/i/zzzdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(!names("boot.iso"));
        assert!(!names(""));

        let url = "http://boot.example:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso";
        let names = |image: &str| state(Some(image), None, None).names(url);
        assert!(names("boot.example:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(names("boot.example/i/abcdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(!names("boot.example:8081/i/zzzdefghijklmnopqrstuvwxyz/boot.iso"));
        assert!(!names("boot.example:boot.iso"));
    }
}

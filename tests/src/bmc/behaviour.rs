//! How a firmware behaves, with its limits and mistakes: the object `behaviour` of a vendor's file. By default, a firmware
//! follows the DMTF's schemas.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// The behaviour of a firmware.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    pub(super) login: Login,
    pub(super) insert: Insert,
    pub(super) eject: Eject,
    pub(super) boot: Boot,
    pub(super) power: Power,
    pub(super) bios: Bios,
    pub(super) certificates: Certificates,
    pub(super) task: Task,
    /// Whether PATCH needs `If-Match`: status 428 without it, 412 with an old value.
    pub(super) etag_required: bool,
    /// Whether links and the targets of actions are whole URLs, with a host that only the firmware knows.
    pub(super) absolute_links: bool,
}

/// How the firmware adds certificates to a database of Secure Boot.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Certificates {
    /// Whether the firmware knows `UefiSignatureOwner`, which the schema has since version 1.2.
    pub(super) owner: bool,
    /// Whether the database shows a certificate at once. Otherwise the next start of the machine does.
    pub(super) listed: bool,
}

impl Default for Certificates {
    fn default() -> Self {
        Self { owner: true, listed: true }
    }
}

/// How clients authenticate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Login {
    #[default]
    SessionOrBasic,
    Session,
    Basic,
}

/// How clients change media: by the action, or by PATCH of the slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Way {
    #[default]
    Action,
    Patch,
}

/// How the firmware inserts media (`VirtualMedia.InsertMedia`).
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Insert {
    pub(super) way: Way,
    /// The status of success. With 202, a task does the work.
    pub(super) answer: u16,
    /// The required members.
    pub(super) required: Vec<String>,
    /// How the firmware reports a missing member.
    pub(super) missing: Missing,
    /// The members that the firmware refuses.
    pub(super) forbidden: Vec<String>,
    /// The allowed values of members.
    pub(super) values: BTreeMap<String, Vec<Value>>,
    /// The allowed schemes of images' URLs.
    pub(super) schemes: Vec<String>,
    /// How the firmware refuses another scheme.
    pub(super) other_scheme: OtherScheme,
    /// The characters that the firmware refuses in a URL.
    pub(super) refused_characters: String,
    /// The maximum length of a URL.
    pub(super) longest: usize,
    /// The slots that the firmware lists but refuses to use, each with the status of the refusal.
    pub(super) unusable: BTreeMap<String, u16>,
    /// Whether only one of all slots can have a medium.
    pub(super) one_of_all: bool,
    /// The status for a slot that has a medium already.
    pub(super) occupied: u16,
    /// Whether the firmware reads the image before it answers.
    pub(super) looks: bool,
    /// What the slot shows as `Image`.
    pub(super) shows: Shows,
}

impl Default for Insert {
    fn default() -> Self {
        Self {
            way: Way::Action,
            answer: 204,
            required: vec!["Image".into()],
            missing: Missing::Parameter,
            forbidden: Vec::new(),
            values: BTreeMap::new(),
            schemes: vec!["http".into(), "https".into()],
            other_scheme: OtherScheme::Value,
            refused_characters: String::new(),
            longest: 255,
            unusable: BTreeMap::new(),
            one_of_all: false,
            occupied: 400,
            looks: true,
            shows: Shows::Url,
        }
    }
}

/// How the firmware refuses a scheme: with `ActionParameterValueFormatError`, or as bmcweb does, with `ResourceAtUriInUnknownFormat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OtherScheme {
    Value,
    Resource,
}

/// What a slot shows as `Image`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shows {
    Url,
    FileName,
    /// The URL without its scheme.
    NoScheme,
    /// `null`.
    Nothing,
}

/// How the firmware reports a missing member: with `ActionParameterMissing`, or in a sentence of a general error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Missing {
    Parameter,
    Sentence,
}

/// How the firmware ejects media (`VirtualMedia.EjectMedia`).
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Eject {
    pub(super) way: Way,
    pub(super) answer: u16,
    pub(super) body: EjectBody,
    /// The status for an empty slot.
    pub(super) empty: u16,
    /// Whether `Image` keeps its value, and only `ConnectedVia` shows that nothing is connected.
    pub(super) keeps_image: bool,
    /// How long the slot still shows the medium, in milliseconds.
    pub(super) still_inserted_ms: u64,
    /// How long the firmware answers changes of the slot with 503, in milliseconds.
    pub(super) busy_ms: u64,
    /// Whether the firmware refuses this while the machine runs.
    pub(super) needs_power_off: bool,
}

impl Default for Eject {
    fn default() -> Self {
        Self {
            way: Way::Action,
            answer: 204,
            body: EjectBody::Any,
            empty: 204,
            keeps_image: false,
            still_inserted_ms: 0,
            busy_ms: 0,
            needs_power_off: false,
        }
    }
}

/// The body of an eject request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EjectBody {
    Any,
    /// `{}`; status 400 without it.
    Object,
    /// `{}`; status 415 without it.
    Json,
    /// No body: the firmware refuses any.
    None,
}

/// How the firmware sets the boot override.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Boot {
    /// The path of the resource that takes the override, if it is not the System.
    pub(super) settings: Option<String>,
    /// How the firmware treats `BootSourceOverrideMode`.
    pub(super) mode: Mode,
    /// The members of `Boot` that a client must write together.
    pub(super) together: Vec<String>,
    /// The targets that boot from virtual media. All others boot from the disk.
    pub(super) starts: Vec<String>,
    /// Whether the firmware refuses this while the machine runs.
    pub(super) needs_power_off: bool,
    /// Whether the machine stays in POST while it runs. An iLO refuses this in POST.
    pub(super) in_post: bool,
    /// The path of Dell's attributes.
    pub(super) attributes: Option<String>,
    /// The members of `Boot` that the firmware accepts and does not keep.
    pub(super) ignores: Vec<String>,
    /// The members of `Boot` that the firmware accepts although the resource does not show them.
    pub(super) hides: Vec<String>,
    /// Whether the firmware refuses every override.
    pub(super) unsupported: bool,
    /// Whether the firmware refuses null as a member of `Boot`.
    pub(super) refuses_null: bool,
}

impl Default for Boot {
    fn default() -> Self {
        Self {
            settings: None,
            mode: Mode::Optional,
            together: Vec::new(),
            starts: vec!["Cd".into(), "Usb".into(), "UsbCd".into()],
            needs_power_off: false,
            in_post: false,
            attributes: None,
            ignores: Vec::new(),
            hides: Vec::new(),
            unsupported: false,
            refuses_null: false,
        }
    }
}

/// How the firmware treats `BootSourceOverrideMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    Optional,
    Required,
    ReadOnly,
}

/// How the firmware switches the machine on and off.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Power {
    /// How long a change takes, in milliseconds.
    pub(super) takes_ms: u64,
    /// Whether the system ignores the power button.
    pub(super) deaf: bool,
    /// The status if the machine is in the requested state already; 204 counts as success.
    pub(super) already: Option<u16>,
    /// The status of success. With 202, a task does the work.
    pub(super) answer: Option<u16>,
}

/// The settings of the firmware.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Bios {
    /// The path of the resource with the present settings. Empty if the firmware has none.
    pub(super) path: String,
    /// The path of the resource with the settings for the next start.
    pub(super) staged: String,
    /// The name of the setting with the URL for HTTP boot.
    pub(super) url: String,
    /// The path of HPE's order of boot sources. Its settings resource is below it.
    pub(super) order: Option<String>,
    /// The path of an iDRAC's jobs. A job changes the settings, and only one job can wait.
    pub(super) jobs: Option<String>,
    /// The settings that the firmware refuses as read-only.
    pub(super) read_only: Vec<String>,
    /// Whether the firmware refuses a request that has both a setting and others that depend on it.
    pub(super) parents_alone: bool,
    /// How long the firmware prepares a job, in milliseconds. A start of the machine before that does not run the job.
    pub(super) prepares_ms: u64,
    /// How long the firmware applies the settings before it boots, in milliseconds.
    pub(super) takes_ms: u64,
    /// The error with which the job ends, in place of success.
    pub(super) fails: Option<String>,
    /// The settings that the firmware accepts and does not keep.
    pub(super) ignores: Vec<String>,
}

/// How the firmware runs tasks, for answers with 202.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Task {
    pub(super) takes_ms: u64,
    /// The error with which the task ends, in place of success.
    pub(super) fails: Option<String>,
    /// Whether `Location` is the path of the task, and not of its monitor.
    pub(super) location_is_task: bool,
}

pub(super) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

//! What a firmware accepts, refuses and gets wrong: the object `behaviour` of a vendor's file. Without any of it, it
//! does what the DMTF's schemas say.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// The whole of it.
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
    /// PATCH needs `If-Match`: 428 without it, 412 with another value than the current one.
    pub(super) etag_required: bool,
}

/// Certificates that are added to a database of Secure Boot.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Certificates {
    /// Whether it knows `UefiSignatureOwner`, which the schema has since version 1.2.
    pub(super) owner: bool,
    /// Whether the database shows a certificate at once. Otherwise the next start of the machine does.
    pub(super) listed: bool,
}

impl Default for Certificates {
    fn default() -> Self {
        Self { owner: true, listed: true }
    }
}

/// How clients prove who they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Login {
    #[default]
    SessionOrBasic,
    Session,
    Basic,
}

/// Whether media are changed by the action, or by PATCH of the slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Way {
    #[default]
    Action,
    Patch,
}

/// `VirtualMedia.InsertMedia`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Insert {
    pub(super) way: Way,
    /// The status of success. 202: a task does it.
    pub(super) answer: u16,
    /// Members that must be there.
    pub(super) required: Vec<String>,
    /// Whether a missing member is told by `ActionParameterMissing`, or in a sentence of a general error.
    pub(super) missing: Missing,
    /// Members that must not be there.
    pub(super) forbidden: Vec<String>,
    /// The values that a member may have if it is there.
    pub(super) values: BTreeMap<String, Vec<Value>>,
    /// The schemes of images' URLs.
    pub(super) schemes: Vec<String>,
    /// Characters that the URL must not have.
    pub(super) refused_characters: String,
    /// The longest URL.
    pub(super) longest: usize,
    /// Slots that are listed and cannot be used, and the status that they answer.
    pub(super) unusable: BTreeMap<String, u16>,
    /// One slot of all can have a medium.
    pub(super) one_of_all: bool,
    /// The status that a slot with a medium answers.
    pub(super) occupied: u16,
    /// The image must be there before the answer.
    pub(super) looks: bool,
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
            refused_characters: String::new(),
            longest: 255,
            unusable: BTreeMap::new(),
            one_of_all: false,
            occupied: 400,
            looks: true,
        }
    }
}

/// How a member that is missing is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Missing {
    Parameter,
    Sentence,
}

/// `VirtualMedia.EjectMedia`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Eject {
    pub(super) way: Way,
    pub(super) answer: u16,
    pub(super) body: EjectBody,
    /// The status for a slot that is empty.
    pub(super) empty: u16,
    /// `Image` keeps its value; `ConnectedVia` says that nothing is connected.
    pub(super) keeps_image: bool,
    /// For so long the slot says that the medium is still in.
    pub(super) still_inserted_ms: u64,
    /// For so long all changes to the slot are answered with 503.
    pub(super) busy_ms: u64,
    /// Not while the machine runs.
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
    /// `{}`; without, 400.
    Object,
    /// `{}`; without, 415.
    Json,
    /// None: anything is refused.
    None,
}

/// Boot override.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Boot {
    /// Where the override is written, if that is not the system itself.
    pub(super) settings: Option<String>,
    /// `BootSourceOverrideMode` may be written.
    pub(super) mode: Mode,
    /// Members of `Boot` that must be written together.
    pub(super) together: Vec<String>,
    /// The targets that start virtual media; another one boots from disk.
    pub(super) starts: Vec<String>,
    /// Not while the machine runs.
    pub(super) needs_power_off: bool,
    /// Where Dell's attributes are.
    pub(super) attributes: Option<String>,
    /// Members of `Boot` that are accepted and not kept.
    pub(super) ignores: Vec<String>,
    /// Members of `Boot` that are accepted although the resource does not show them.
    pub(super) hides: Vec<String>,
    /// No override is accepted.
    pub(super) unsupported: bool,
    /// No member of `Boot` may be null.
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
            attributes: None,
            ignores: Vec::new(),
            hides: Vec::new(),
            unsupported: false,
            refuses_null: false,
        }
    }
}

/// What `BootSourceOverrideMode` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    Optional,
    Required,
    ReadOnly,
}

/// Power.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Power {
    /// How long a change takes.
    pub(super) takes_ms: u64,
    /// The system does not hear the power button.
    pub(super) deaf: bool,
    /// The status for what is the case already; 204 if it is taken as done.
    pub(super) already: Option<u16>,
    /// The status of success. 202: a task does it.
    pub(super) answer: Option<u16>,
}

/// The settings of the firmware.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Bios {
    /// The resource with the settings as they are. Without it, the firmware has none.
    pub(super) path: String,
    /// The resource with the settings for the next start.
    pub(super) staged: String,
    /// The setting with the URL that the firmware boots from by HTTP.
    pub(super) url: String,
    /// HPE's order of boot sources, whose settings are beneath it.
    pub(super) order: Option<String>,
    /// An iDRAC's jobs: settings are changed by one, and only one can wait.
    pub(super) jobs: Option<String>,
    /// Settings that are refused as read-only.
    pub(super) read_only: Vec<String>,
    /// Whether settings on which others depend are refused in one request with those.
    pub(super) parents_alone: bool,
    /// How long a job is made ready. A start of the machine before that does not carry it out.
    pub(super) prepares_ms: u64,
    /// How long the firmware takes for the settings, before it boots.
    pub(super) takes_ms: u64,
    /// What the job ends with in place of success.
    pub(super) fails: Option<String>,
    /// Settings that are accepted and not kept.
    pub(super) ignores: Vec<String>,
}

/// Tasks of 202.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Task {
    pub(super) takes_ms: u64,
    /// What the task ends with in place of success.
    pub(super) fails: Option<String>,
    /// `Location` is the task, not its monitor.
    pub(super) location_is_task: bool,
}

pub(super) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

//! The forms in which BMCs want to be told of an image, and which is tried after which.
//!
//! By the schema (`VirtualMedia` 1.6, `InsertMedia`), `Image` alone is enough: `Inserted` and `WriteProtected` are true
//! by default. What BMCs take differs; `docs/bmcs.md` says which want what.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::attempt::{self, Fault};
use super::survey::{Insert, Slot};
use super::vendor::Vendor;
use crate::RedfishError;

/// What may be said of an image beside its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Parameter {
    /// `Inserted: true`.
    Inserted,
    /// `WriteProtected: true`.
    WriteProtected,
    /// `TransferProtocolType`, as the URL has it.
    TransferProtocolType,
    /// `TransferMethod: Stream`.
    TransferMethod,
    /// A user name and a password, which mean nothing: some BMCs insist on them, and the media plane ignores them.
    Credentials,
}

impl Parameter {
    const ALL: [(&'static str, Self); 6] = [
        ("Inserted", Self::Inserted),
        ("WriteProtected", Self::WriteProtected),
        ("TransferProtocolType", Self::TransferProtocolType),
        ("TransferMethod", Self::TransferMethod),
        ("UserName", Self::Credentials),
        ("Password", Self::Credentials),
    ];

    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, parameter)| parameter)
    }
}

/// How it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// The action.
    Post,
    /// A change of the slot itself.
    Patch,
}

/// One form of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// How it is said.
    pub method: Method,
    /// What is said beside the URL.
    pub parameters: BTreeSet<Parameter>,
}

impl Form {
    fn new(method: Method, parameters: &[Parameter]) -> Self {
        Self { method, parameters: parameters.iter().copied().collect() }
    }

    /// The request's body. `insert` says which values the BMC takes, where it does.
    pub(super) fn body(&self, image_url: &str, insert: Option<&Insert>) -> Value {
        let mut body = Map::new();
        body.insert("Image".to_owned(), json!(image_url));
        for parameter in &self.parameters {
            match parameter {
                Parameter::Inserted => body.insert("Inserted".to_owned(), json!(true)),
                Parameter::WriteProtected => body.insert("WriteProtected".to_owned(), json!(true)),
                Parameter::TransferProtocolType => {
                    body.insert("TransferProtocolType".to_owned(), json!(protocol(image_url)))
                }
                Parameter::TransferMethod => {
                    let offered = insert.and_then(|insert| insert.transfer_methods.as_deref()).unwrap_or_default();
                    let method = match offered {
                        [first, ..] if !offered.iter().any(|method| method == "Stream") => first.as_str(),
                        _ => "Stream",
                    };
                    body.insert("TransferMethod".to_owned(), json!(method))
                }
                Parameter::Credentials => {
                    body.insert("UserName".to_owned(), json!("none"));
                    body.insert("Password".to_owned(), json!("none"))
                }
            };
        }
        Value::Object(body)
    }
}

/// Redfish's word for a URL's scheme.
pub(super) fn protocol(image_url: &str) -> &'static str {
    if image_url.starts_with("https:") { "HTTPS" } else { "HTTP" }
}

/// The forms for a slot, in the order in which they are tried where a refusal does not say what it is about.
pub(super) fn ladder(vendor: Vendor, slot: &Slot) -> Vec<Form> {
    use Parameter::{Credentials, Inserted, TransferMethod, TransferProtocolType, WriteProtected};
    // Supermicro refuses a request with either of them.
    let flags: &[Parameter] = if vendor == Vendor::Supermicro { &[] } else { &[Inserted, WriteProtected] };
    let with = |more: &[Parameter]| [more, flags].concat();
    let mut forms = Vec::new();
    if slot.insert.is_some() {
        let plain = match vendor {
            Vendor::Fujitsu | Vendor::Nokia => Form::new(Method::Post, &[TransferProtocolType]),
            _ => Form::new(Method::Post, &[]),
        };
        forms.extend([
            plain,
            Form::new(Method::Post, &[TransferProtocolType]),
            Form::new(Method::Post, &[TransferProtocolType, TransferMethod]),
            Form::new(Method::Post, &with(&[TransferProtocolType, TransferMethod])),
            Form::new(Method::Post, &with(&[TransferProtocolType, TransferMethod, Credentials])),
        ]);
    }
    // iLO 4 takes nothing but the image.
    forms.extend([Form::new(Method::Patch, &with(&[])), Form::new(Method::Patch, &[])]);
    let mut distinct: Vec<Form> = Vec::new();
    for form in forms {
        if !distinct.contains(&form) {
            distinct.push(form);
        }
    }
    distinct
}

/// The ladder on its way.
#[derive(Debug)]
pub(super) struct Climb {
    forms: Vec<Form>,
    tried: Vec<Form>,
}

/// The most requests that are tried for one slot. What refusals name can lead to forms beside the ladder.
const MOST_TRIES: usize = 10;

impl Climb {
    pub(super) fn new(forms: &[Form]) -> Self {
        Self { forms: forms.to_vec(), tried: Vec::new() }
    }

    /// The first form, with what the BMC says that it requires.
    pub(super) fn first(&mut self) -> Option<Form> {
        self.take(self.forms.first().cloned())
    }

    /// The form after a refusal: the same with what it says is missing and without what it says is too much, otherwise
    /// the next of the ladder.
    pub(super) fn next(&mut self, error: &RedfishError, required: &BTreeSet<Parameter>) -> Option<Form> {
        let names = Parameter::ALL.map(|(name, _)| name);
        let mut better = self.tried.last()?.clone();
        for (name, fault) in attempt::named(error, &names) {
            if let Some(parameter) = Parameter::by_name(name) {
                match fault {
                    Fault::Missing => better.parameters.insert(parameter),
                    Fault::TooMuch => better.parameters.remove(&parameter),
                };
            }
        }
        if better.method == Method::Post {
            better.parameters.extend(required);
        }
        let next = if self.tried.contains(&better) { self.untried(|_| true) } else { Some(better) };
        self.take(next)
    }

    /// The next form after one of which the BMC does not know the action.
    pub(super) fn without_action(&mut self) -> Option<Form> {
        let next = self.untried(|form| form.method == Method::Patch);
        self.take(next)
    }

    fn untried(&self, suits: impl Fn(&Form) -> bool) -> Option<Form> {
        self.forms.iter().find(|form| suits(form) && !self.tried.contains(form)).cloned()
    }

    fn take(&mut self, form: Option<Form>) -> Option<Form> {
        let form = form.filter(|_| self.tried.len() < MOST_TRIES)?;
        self.tried.push(form.clone());
        Some(form)
    }
}

//! The forms of the insert request, and the order in which they are tried.
//!
//! By the schema (`InsertMedia` of `VirtualMedia` 1.6), `Image` alone is enough: `Inserted` and `WriteProtected` are
//! true by default. BMCs demand or refuse other parameters; `docs/bmcs.md` lists them with their sources.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::attempt::{self, Fault};
use super::survey::{Insert, Slot};
use super::vendor::Vendor;
use crate::RedfishError;

/// A parameter that may be sent beside the image's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Parameter {
    /// `Inserted: true`.
    Inserted,
    /// `WriteProtected: true`.
    WriteProtected,
    /// `TransferProtocolType`: `HTTP` or `HTTPS`, as in the URL.
    TransferProtocolType,
    /// `TransferMethod: Stream`, or the first method that the BMC lists if `Stream` is not among them.
    TransferMethod,
    /// `UserName` and `Password`, both `none`. Some BMCs demand them even if the server that has the image asks for
    /// none.
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

/// The method of an insert request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// POST to the slot's action `InsertMedia`.
    Post,
    /// PATCH of the slot.
    Patch,
}

/// One form of the insert request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// The method.
    pub method: Method,
    /// The parameters beside the image's URL.
    pub parameters: BTreeSet<Parameter>,
}

impl Form {
    fn new(method: Method, parameters: &[Parameter]) -> Self {
        Self { method, parameters: parameters.iter().copied().collect() }
    }

    /// The request's body. `insert` has the values that the BMC accepts, if it lists them.
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

/// The value of `TransferProtocolType` for a URL.
pub(super) fn protocol(image_url: &str) -> &'static str {
    if image_url.starts_with("https:") { "HTTPS" } else { "HTTP" }
}

/// The forms for a slot, in the order in which they are tried if the BMC does not say which property it refuses.
pub(super) fn forms(vendor: Vendor, slot: &Slot) -> Vec<Form> {
    use Parameter::{Credentials, Inserted, TransferMethod, TransferProtocolType, WriteProtected};
    // Supermicro refuses a request with either flag.
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
    // iLO 4 accepts nothing but the image.
    forms.extend([Form::new(Method::Patch, &with(&[])), Form::new(Method::Patch, &[])]);
    let mut distinct: Vec<Form> = Vec::new();
    for form in forms {
        if !distinct.contains(&form) {
            distinct.push(form);
        }
    }
    distinct
}

/// Chooses one form after the other, by what the BMC refuses.
#[derive(Debug)]
pub(super) struct FormSequence {
    forms: Vec<Form>,
    tried: Vec<Form>,
}

/// Maximum number of requests for one slot. Refusals can lead to forms that are not in the list.
const MAX_ATTEMPTS: usize = 10;

impl FormSequence {
    pub(super) fn new(forms: &[Form]) -> Self {
        Self { forms: forms.to_vec(), tried: Vec::new() }
    }

    /// The first form.
    pub(super) fn first(&mut self) -> Option<Form> {
        self.take(self.forms.first().cloned())
    }

    /// The form after a refusal. Adds the parameters that the BMC says are missing and leaves out those that it does
    /// not support. If that gives a form that was refused already, returns the next one in the list.
    pub(super) fn next(&mut self, error: &RedfishError, required: &BTreeSet<Parameter>) -> Option<Form> {
        let names = Parameter::ALL.map(|(name, _)| name);
        let mut better = self.tried.last()?.clone();
        for (name, fault) in attempt::named_properties(error, &names) {
            if let Some(parameter) = Parameter::by_name(name) {
                match fault {
                    Fault::Missing => better.parameters.insert(parameter),
                    Fault::Unsupported => better.parameters.remove(&parameter),
                };
            }
        }
        if better.method == Method::Post {
            better.parameters.extend(required);
        }
        let next = if self.tried.contains(&better) { self.untried(|_| true) } else { Some(better) };
        self.take(next)
    }

    /// The next form that does not need the action.
    pub(super) fn next_patch(&mut self) -> Option<Form> {
        let next = self.untried(|form| form.method == Method::Patch);
        self.take(next)
    }

    fn untried(&self, suits: impl Fn(&Form) -> bool) -> Option<Form> {
        self.forms.iter().find(|form| suits(form) && !self.tried.contains(form)).cloned()
    }

    fn take(&mut self, form: Option<Form>) -> Option<Form> {
        let form = form.filter(|_| self.tried.len() < MAX_ATTEMPTS)?;
        self.tried.push(form.clone());
        Some(form)
    }
}

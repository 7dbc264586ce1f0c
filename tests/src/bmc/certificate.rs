//! Adds certificates to a collection (schema `Certificate`).

use serde_json::{Value, json};

use super::Shared;
use super::answer::Answer;

/// Answers a request to add a certificate. `None` if the path is not a collection of certificates.
pub(super) fn add(shared: &Shared, path: &str, body: Option<&Value>) -> Option<Answer> {
    let body = body.cloned().unwrap_or_default();
    let certificate = json!({
        "@odata.type": "#Certificate.v1_9_0.Certificate",
        "CertificateString": body["CertificateString"],
        "CertificateType": body["CertificateType"],
        "UefiSignatureOwner": body["UefiSignatureOwner"],
    });
    let is_pem = body["CertificateType"] == "PEM";
    let mut state = shared.state();
    let is_collection = state.tree.get(path)?["@odata.type"].as_str()?.starts_with("#CertificateCollection.");
    if !is_collection {
        return None;
    }
    if !is_pem {
        return Some(Answer::error(400, "PropertyValueNotInList", "Only PEM is supported.", &["CertificateType"]));
    }
    let behaviour = &shared.behaviour.certificates;
    if !behaviour.owner && !body["UefiSignatureOwner"].is_null() {
        return Some(Answer::error(400, "PropertyUnknown", "The property is not known.", &["UefiSignatureOwner"]));
    }
    if !behaviour.listed {
        return Some(Answer::status(202));
    }
    state.tree.add_certificate(path, certificate)?;
    Some(Answer::status(201))
}

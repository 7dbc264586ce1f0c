//! Kubernetes Secrets (`v1`). Their content never appears in a finding.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_yaml::Value;

use super::document::Object;
use super::encoding;
use super::listing::{keys, listed};
use super::yaml::invalid::wrong_type;
use super::yaml::{Budget, Limits, Problem};
use vocabulary::report::{DocumentPath, Report, Reported};

pub(super) const KIND: &str = "Secret";
pub(super) const API_VERSIONS: &[&str] = &["v1"];

/// All Secrets of an input.
#[derive(Default)]
pub(super) struct Secrets {
    by_name: BTreeMap<String, Vec<Secret>>,
}

/// One Secret.
pub(super) struct Secret {
    object: Object,
    used: AtomicBool,
}

impl Secrets {
    /// Adds a Secret. The same Secret may come several times, because hosts that share it may each have it in their files. It is
    /// an error if the copies differ.
    pub(super) fn add(&mut self, object: Object, report: &mut Report) {
        let same = self.by_name.entry(object.name.clone()).or_default();
        if let Some(first) = same.iter().find(|secret| secret.object.namespace == object.namespace) {
            if !first.has_content_of(&object) {
                let message = "appears twice, with different content; dayone cannot know which one counts";
                report.error("duplicate-object", object.path(), message);
            }
            return;
        }
        same.push(Secret { object, used: AtomicBool::new(false) });
    }

    /// Notes that a host uses the Secret.
    pub(super) fn mark_used(&self, name: &str, namespace: Option<&str>) {
        let same_name = self.by_name.get(name).into_iter().flatten();
        for secret in same_name.filter(|secret| secret.object.is_reachable_from(namespace)) {
            secret.used.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the Secret that an object in `namespace` calls `name`. The error is a sentence whose subject is the member with
    /// the name.
    pub(super) fn find(&self, name: &str, namespace: Option<&str>) -> Result<&Secret, String> {
        let same_name = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let mut reachable: Vec<&Secret> =
            same_name.iter().filter(|secret| secret.object.is_reachable_from(namespace)).collect();
        if reachable.len() > 1 {
            reachable.retain(|secret| secret.object.namespace.as_deref() == namespace);
        }
        match (reachable.as_slice(), same_name) {
            ([secret], _) => Ok(secret),
            ([], []) => Err(format!(
                "names the Secret {name}, which is not here; Secrets here: {}",
                listed(self.by_name.keys().map(String::as_str))
            )),
            ([], others) => {
                let namespaces = listed(others.iter().filter_map(|secret| secret.object.namespace.as_deref()));
                Err(match namespace {
                    Some(own) => format!(
                        "names the Secret {name}, which is not in the host's namespace {own}; it is in: {namespaces}"
                    ),
                    None => format!(
                        "names the Secret {name}, which is in several namespaces ({namespaces}); give the host one"
                    ),
                })
            }
            _ => Err(format!("names the Secret {name}, of which there are several")),
        }
    }

    /// Warns of Secrets that no host uses. Secrets with a type of Kubernetes, such as pull secrets, are for other programs.
    pub(super) fn report_unused(&self, report: &mut Report) {
        let ours = |secret: &&Secret| {
            let kind = secret.object.fields().mapping.get("type").and_then(Value::as_str);
            !kind.is_some_and(|kind| kind.starts_with("kubernetes.io/"))
        };
        for secret in self.by_name.values().flatten().filter(|secret| secret.is_unused()).filter(ours) {
            let namespace = secret.object.namespace.as_deref().unwrap_or("not given");
            let message = format!("is not used: no host here names it (namespace: {namespace})");
            report.warning("secret-unused", secret.object.path(), message);
        }
    }
}

impl Secret {
    fn has_content_of(&self, other: &Object) -> bool {
        let (mine, theirs) = (self.object.fields().mapping, other.fields().mapping);
        ["type", "data", "stringData"].into_iter().all(|key| mine.get(key) == theirs.get(key))
    }

    fn is_unused(&self) -> bool {
        !self.used.load(Ordering::Relaxed)
    }

    /// Returns the keys of the Secret, each once.
    pub(super) fn keys(&self, report: &mut Report) -> Result<Vec<&str>, Reported> {
        let top = self.object.fields();
        let mut keys = Vec::new();
        for fields in [top.mapping("stringData", report)?, top.mapping("data", report)?].into_iter().flatten() {
            keys.extend(fields.mapping.keys().filter_map(Value::as_str));
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// Returns the content of `key` with its path. As in Kubernetes, `stringData` overrides `data`.
    pub(super) fn get(
        &self,
        key: &str,
        budget: &mut Budget,
        report: &mut Report,
    ) -> Result<(Cow<'_, [u8]>, DocumentPath), Reported> {
        let top = self.object.fields();
        let (plain, encoded) = (top.mapping("stringData", report)?, top.mapping("data", report)?);
        for (fields, is_base64) in [(&plain, false), (&encoded, true)] {
            let Some(fields) = fields else { continue };
            let path = fields.path.key(key);
            match fields.mapping.get(key) {
                None => {}
                Some(Value::String(text)) if is_base64 => return decode(text, path, budget, report),
                Some(Value::String(text)) => return Ok((Cow::Borrowed(text.as_bytes()), path)),
                Some(Value::Null) => return Ok((Cow::Borrowed(&[]), path)),
                Some(other) => {
                    // The most likely mistake is NMState as YAML instead of text.
                    let wanted = if is_base64 { "its text in base64" } else { "its text, as in `nmstate: |`," };
                    let (code, message) = wrong_type(other, wanted);
                    return Err(fields.wrong(key, code, message, report));
                }
            }
        }
        let holder = if plain.is_some() && encoded.is_none() { "stringData" } else { "data" };
        let found = keys([&plain, &encoded].into_iter().flatten().map(|fields| fields.mapping));
        let path = top.path.key(holder).key(key);
        Err(report.refuse("secret-key-missing", &path, format!("is missing; keys found: {found}")))
    }
}

/// Decodes a value of `data`: base64, and gzip inside it.
fn decode(
    text: &str,
    path: DocumentPath,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<(Cow<'static, [u8]>, DocumentPath), Reported> {
    match decoded(text, budget) {
        Ok(bytes) => Ok((bytes, path)),
        Err(problem) => Err(report.refuse(problem.code, &path, problem.to_string())),
    }
}

fn decoded(text: &str, budget: &mut Budget) -> Result<Cow<'static, [u8]>, Problem> {
    budget.take_bytes(text.len())?;
    // The decoder's own error would show a byte of the content.
    // The decoder's own error would show a byte of the content.
    let not_base64 = |_| Problem::new("secret-not-base64", "is not base64; write plain text under stringData");
    let bytes = encoding::base64_decoded(text).map_err(not_base64)?;
    encoding::decompressed(Cow::Owned(bytes), Limits::EMBEDDED_TEXT, budget)
}

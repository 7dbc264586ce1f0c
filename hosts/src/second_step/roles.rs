//! The roles of hosts in their cluster: the machine config pools.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::{FirstStep, SecondStepDocument, ShortName, Target};
use vocabulary::checked_text;
use vocabulary::report::Report;

/// The name of a pool of machines: `master`, `worker`, or one of the user's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Role(String);

/// Why a text is not the name of a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a role (a-z, 0-9 and inner hyphens, 50 characters at most, such as worker)")]
pub struct RoleError(String);

checked_text!(Role, RoleError);

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        // The role becomes a part of a name and the value of a label, which has at most 63 characters.
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let good = (1..=50).contains(&text.len()) && !text.starts_with('-') && !text.ends_with('-');
        if good && text.bytes().all(inner) { Ok(Self(text.to_owned())) } else { Err(RoleError(text.to_owned())) }
    }
}

/// Groups documents by the roles of their hosts. `default` is the role of hosts whose documents have none. Without it, that is
/// an error. A document for all hosts gets the role `default` in any case, because the user may have further hosts of that role.
pub(super) fn by_role<'a>(
    documents: &'a [SecondStepDocument],
    first_step: &FirstStep,
    default: Option<&Role>,
    report: &mut Report,
) -> BTreeMap<Role, Vec<&'a SecondStepDocument>> {
    let with_network = first_step.hosts.iter().filter_map(|host| Some((ShortName::of(host)?, host.role.as_deref()?)));
    let without_network = first_step
        .without_network
        .iter()
        .filter_map(|host| Some((ShortName::of_host_without_network(host)?, host.role.as_deref()?)));
    let known: BTreeMap<ShortName, &str> = without_network.chain(with_network).collect();
    let mut roles: BTreeMap<Role, Vec<&SecondStepDocument>> = BTreeMap::new();
    let mut read = |role: &str, document: &SecondStepDocument| match role.parse::<Role>() {
        Ok(role) => Some(role),
        Err(error) => {
            report.error("second-step-role", &document.network.path, format!("is for a host whose role {error}"));
            None
        }
    };
    let mut without = Vec::new();
    for document in documents {
        let Target::Host(name) = &document.target else { continue };
        match document.role.as_deref().or_else(|| known.get(name).copied()) {
            Some(role) => {
                if let Some(role) = read(role, document) {
                    roles.entry(role).or_default().push(document);
                }
            }
            None => match default {
                Some(role) => roles.entry(role.clone()).or_default().push(document),
                None => without.push(document),
            },
        }
    }
    for document in documents.iter().filter(|document| document.target == Target::Cluster) {
        for role in known.values() {
            if let Some(role) = read(role, document) {
                roles.entry(role).or_default();
            }
        }
        if let Some(role) = default {
            roles.entry(role.clone()).or_default();
        }
        if roles.is_empty() {
            without.push(document);
        }
        for documents in roles.values_mut() {
            documents.push(document);
        }
    }
    for document in without {
        let message = format!(
            "is for {}, whose role is unknown, and the role selects the hosts of a MachineConfig: add --role worker, \
             or the install-config or agent-config of the first step",
            document.target
        );
        report.error("second-step-role", &document.network.path, message);
    }
    for documents in roles.values_mut() {
        documents.sort_by(|a, b| a.target.cmp(&b.target));
    }
    roles
}

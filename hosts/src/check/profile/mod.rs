//! What NetworkManager makes of a profile: which values it cannot read and ignores, and what it refuses the profile for.
//!
//! The rules are those of libnm, which the daemon is made with: how it reads keyfiles and what it verifies of a
//! connection. Which values a property can have is data ([`properties`]); what properties must be together is code.
//! What the daemon does only when it activates a profile stands apart ([`activation_problems`]).
//! Tests ask libnm of three releases about arbitrary profiles. What a release does not know yet is said elsewhere
//! ([`super::release`]); here a profile is one for the newest release.

mod bond;
mod bridge;
mod connection;
mod dcb;
mod devices;
mod ethernet;
mod ethtool;
pub(crate) mod groups;
mod ieee8021x;
mod ip;
mod properties;
pub(crate) mod resolver;
mod routes;
mod sriov;
mod texts;
mod values;

use std::borrow::Cow;

pub(crate) use bond::is_bond_option_of_mode;
pub(crate) use ip::{is_profile_address, methods};
use properties::{Kind, property};

use self::groups::canonical;
use crate::keyfile_format::{Entry, Group, GroupedKeys};
use crate::nmstate_document::quoted;

/// The code of findings about profiles that NetworkManager cannot activate.
pub(crate) const SECRET_MISSING: &str = "authentication-secret-missing";

/// What NetworkManager does because of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It refuses the whole profile.
    Refused,
    /// It loads the profile, and cannot activate it, because a secret is missing.
    NotActivated,
    /// The same, but not in the oldest releases that dayone knows.
    NotActivatedByLater,
    /// It ignores the value, with a line in its log or without.
    Ignored,
    /// It leaves out the value when it activates the profile, or the value has no effect with the others.
    Dropped,
}

/// Something that NetworkManager does not take as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The group, as the file calls it.
    pub(crate) group: String,
    /// The key, where it is about one.
    pub(crate) key: Option<String>,
    pub(crate) effect: Effect,
    /// A sentence without its subject, which is the place.
    pub(crate) message: String,
}

/// Everything in a profile that NetworkManager does not take, in no particular order.
pub(crate) fn problems(keys: &GroupedKeys<'_>) -> Vec<Problem> {
    let mut profile = Profile::of(keys);
    profile.check_values();
    texts::check(&mut profile);
    connection::check(&mut profile);
    ethernet::check(&mut profile);
    bond::check(&mut profile);
    bridge::check(&mut profile);
    devices::check(&mut profile);
    dcb::check(&mut profile);
    ethtool::check(&mut profile);
    ieee8021x::check(&mut profile);
    sriov::check(&mut profile);
    ip::check(&mut profile);
    routes::check(&mut profile);
    profile.problems
}

/// What the daemon leaves out, or cannot do, when it activates a profile that libnm takes without a word.
pub(crate) fn activation_problems(keys: &GroupedKeys<'_>) -> Vec<Problem> {
    let mut profile = Profile::of(keys);
    ieee8021x::check_activation(&mut profile);
    ethtool::check_activation(&mut profile);
    resolver::check(&mut profile);
    profile.problems
}

/// Whether NetworkManager reads a key of this name in a group of this name.
pub(crate) fn is_known_key(group: &str, key: &str) -> bool {
    let group = canonical(group);
    match group {
        "bond" => key == "interface-name" || bond::is_option(key),
        // Of the last three, no release here knows the keys.
        "user" | "vpn" | "vpn-secrets" | "ovs-external-ids" | "ovs-other-config" | "geneve" | "prefix-delegation"
        | "wimax" => true,
        name if name.starts_with("wireguard-peer.") || name.starts_with('.') => true,
        "tc" => key.starts_with("qdisc.") || key.starts_with("tfilter."),
        "sriov" if key.starts_with("vf.") => true,
        "ethernet" | "802-3-ethernet" | "802-11-wireless" if key == "s390-options" => true,
        "ipv4" | "ipv6" if ip::is_numbered_key(key) => true,
        // Keys of an older form, which are read and not kept.
        "connection" if key == "id" => true,
        "vlan" | "bridge" | "team" | "infiniband" | "vxlan" if key == "interface-name" => true,
        _ => property(group, key).is_some(),
    }
}

/// A profile that is looked at, and what was found.
struct Profile<'k, 'a> {
    /// The groups, by NetworkManager's own names for them.
    groups: Vec<(&'a str, &'k Group<'a>)>,
    problems: Vec<Problem>,
}

impl<'k, 'a> Profile<'k, 'a> {
    fn of(keys: &'k GroupedKeys<'a>) -> Self {
        let groups = keys.groups().iter().map(|group| (canonical(group.name), group)).collect();
        Self { groups, problems: Vec::new() }
    }

    /// The group by NetworkManager's own name for it; of two, the one that the file opens last.
    fn group(&self, name: &str) -> Option<&'k Group<'a>> {
        self.groups.iter().rev().find(|(canonical, _)| *canonical == name).map(|(_, group)| *group)
    }

    fn has(&self, group: &str) -> bool {
        self.group(group).is_some()
    }

    fn entry(&self, group: &str, key: &str) -> Option<Entry<'a>> {
        self.group(group)?.get(key)
    }

    /// The value of a key as text; none where it is missing or cannot be read.
    fn text(&self, group: &str, key: &str) -> Option<Cow<'a, str>> {
        self.entry(group, key)?.text().ok()
    }

    /// The value of a key as a list; none where it is missing or cannot be read.
    fn list(&self, group: &str, key: &str) -> Vec<String> {
        self.entry(group, key).and_then(|entry| entry.list().ok()).unwrap_or_default()
    }

    /// The value of a number that NetworkManager reads.
    fn number(&self, group: &str, key: &str) -> Option<i128> {
        let value = values::integer(self.entry(group, key)?.raw())?;
        property(group, key).is_some_and(|property| property.kind.takes(value)).then_some(value)
    }

    fn flag(&self, group: &str, key: &str) -> Option<bool> {
        values::flag(self.entry(group, key)?.raw())
    }

    /// The type of the connection: said, or seen from the groups.
    fn kind(&self) -> Cow<'a, str> {
        if let Some(kind) = self.text("connection", "type") {
            return match kind {
                Cow::Borrowed(kind) => Cow::Borrowed(canonical(kind)),
                Cow::Owned(kind) => Cow::Owned(canonical(&kind).to_owned()),
            };
        }
        let mut bases = self.groups.iter().map(|(name, _)| *name).filter(|name| groups::is_type(name));
        Cow::Borrowed(bases.next().unwrap_or_default())
    }

    /// The controller and the kind of port, by the old or the new names of the keys.
    fn port(&self) -> (Option<Cow<'a, str>>, Option<Cow<'a, str>>) {
        let first = |keys: [&str; 2]| {
            let found = keys.into_iter().find_map(|key| self.text("connection", key));
            found.filter(|value| !value.is_empty())
        };
        (first(["master", "controller"]), first(["slave-type", "port-type"]))
    }

    fn problem(&mut self, group: &str, key: Option<&str>, effect: Effect, message: String) {
        let name = self.group(group).map_or(group, |group| group.name).to_owned();
        let problem = Problem { group: name, key: key.map(str::to_owned), effect, message };
        let same = |other: &Problem| other.group == problem.group && other.key == problem.key;
        if !self.problems.iter().any(|other| same(other) && other.effect != Effect::Dropped) {
            self.problems.push(problem);
        }
    }

    /// NetworkManager refuses the profile: `what` is wrong, and `fix` is what to do.
    fn refuse(&mut self, group: &str, key: &str, what: &str, fix: &str) {
        let message = format!("{what}: NetworkManager refuses the whole profile; {fix}");
        self.problem(group, Some(key), Effect::Refused, message);
    }

    /// The value of a key has no effect: `why` it has none.
    fn dropped(&mut self, group: &str, key: &str, why: &str) {
        self.problem(group, Some(key), Effect::Dropped, format!("has no effect: {why}"));
    }

    /// NetworkManager refuses the profile, because the value of a key is not what it must be.
    fn must_be(&mut self, group: &str, key: &str, expected: &str) {
        self.wrong_value(group, key, Effect::Refused, expected);
    }

    /// NetworkManager ignores the value of a key, because it is not what it must be.
    fn reads_only(&mut self, group: &str, key: &str, expected: &str) {
        self.wrong_value(group, key, Effect::Ignored, expected);
    }

    fn wrong_value(&mut self, group: &str, key: &str, effect: Effect, expected: &str) {
        let value = self.entry(group, key).map(|entry| entry.raw()).unwrap_or_default();
        // A private key may stand in the profile itself.
        let is_secret = property(group, key).is_some_and(|property| property.is_secret) || key.ends_with("private-key");
        let value = if is_secret { String::new() } else { format!("is {}, and ", quoted(value)) };
        let consequence = match effect {
            Effect::Refused => "NetworkManager refuses the whole profile",
            _ => "NetworkManager ignores it",
        };
        self.problem(group, Some(key), effect, format!("{value}must be {expected}: {consequence}"));
    }

    /// Checks every value of a property that has a kind by itself.
    fn check_values(&mut self) {
        for (name, group) in self.groups.clone() {
            for entry in group.entries() {
                // The last entry with a key counts.
                let counts = group.get(entry.key).is_some_and(|last| last.line == entry.line);
                let Some(property) = property(name, entry.key).filter(|_| counts) else { continue };
                if (name, entry.key) == ("connection", "read-only") {
                    continue; // NetworkManager does not read it.
                }
                let is_read = match &property.kind {
                    Kind::Flag => values::flag(entry.raw()).is_some(),
                    kind @ (Kind::Integer { .. } | Kind::OneOf(_) | Kind::Bits(_)) => {
                        values::integer(entry.raw()).is_some_and(|value| kind.takes(value))
                    }
                    Kind::Text => entry.text().is_ok(),
                    Kind::List => entry.list().is_ok(),
                    Kind::Other => true,
                };
                // Some have words for their numbers as well.
                if !is_read && !texts::has_words(name, entry.key) {
                    self.reads_only(name, entry.key, &property.kind.expected());
                }
            }
        }
    }
}

impl Kind {
    fn takes(&self, value: i128) -> bool {
        match self {
            Self::Integer { least, greatest } => (*least..=*greatest).contains(&value),
            Self::OneOf(values) => values.contains(&value),
            Self::Bits(mask) => (0..=i128::from(u32::MAX)).contains(&value) && value & !mask == 0,
            Self::Flag | Self::Text | Self::List | Self::Other => false,
        }
    }
}

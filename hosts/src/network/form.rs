//! Forms of network files that can express less than NMState.
//!
//! A form lists the keys of a document that it can express, and dayone refuses every other key at its place. So no setting
//! gets lost that the model or the form lacks. The writers take the values from the model. The document follows NMState's
//! schema: the nmstate crate has read it already.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_yaml::{Mapping, Value};

use crate::model::{Bond, Topology};
use crate::nmstate_document::interfaces::Interface;
use crate::nmstate_document::{is_true, number, quoted, text};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::{DocumentPath, Report};

/// A form of network files.
#[derive(Debug)]
pub(super) struct Form {
    /// The code of findings about what it cannot express.
    pub(super) code: &'static str,
    /// Its name in findings.
    pub(super) name: &'static str,
    /// What the host gets, for checks of what its reader does. One form may be for several readers.
    pub(super) files: NetworkFiles,
    /// The keys that it can express, by the mappings that hold them, in lists that several forms share. A mapping that is not here
    /// may hold any.
    pub(super) sections: &'static [&'static [Section]],
    /// Settings that need a reason of their own: the key, and why the form cannot express it.
    pub(super) reasons: &'static [(&'static str, &'static str)],
    /// Refuses an interface as such. Only where it is true, the keys of the interface need findings of their own.
    pub(super) takes: fn(&Mapping, &DocumentPath, &mut Findings<'_>) -> bool,
}

/// Mappings of a document, and the keys in them that a form can express.
#[derive(Debug)]
pub(super) struct Section {
    /// The keys that lead there, `*` for each element of a list.
    pub(super) at: &'static str,
    /// The keys that it can express with any value, or whose values the writers check. Blanks stand between them.
    pub(super) all: &'static str,
    /// The keys that it can express with some values.
    pub(super) some: &'static [(&'static str, Values)],
    /// Why the form cannot express other keys.
    pub(super) why: &'static str,
}

/// The values of a setting that a form can express.
#[derive(Debug)]
pub(super) enum Values {
    /// These words.
    Words(&'static [&'static str]),
    /// The numbers from the first to the second.
    Within(u64, u64),
    /// These, and -1, by which NMState means the usual.
    WithinOrUsual(u64, u64),
}

/// The report, and the settings that earlier steps have reported as without effect.
pub(super) struct Findings<'r> {
    report: &'r mut Report,
    form: &'static Form,
    reported: BTreeSet<DocumentPath>,
}

impl Section {
    pub(super) const fn new(at: &'static str, all: &'static str, some: &'static [(&'static str, Values)]) -> Self {
        Self { at, all, some, why: "they have no such setting" }
    }
}

impl Values {
    /// Why the form cannot express a value.
    fn problem(&self, value: &Value) -> Option<String> {
        let (least, greatest) = match self {
            Self::Words(words) => {
                let word = match value {
                    Value::String(word) => word.clone(),
                    Value::Number(number) => number.to_string(),
                    Value::Bool(value) => value.to_string(),
                    _ => String::new(),
                };
                return (!words.contains(&word.as_str()))
                    .then(|| format!("they have no equivalent of {}", quoted(&word)));
            }
            Self::WithinOrUsual(..) if value.as_i64() == Some(-1) || value.as_str() == Some("-1") => return None,
            Self::Within(least, greatest) | Self::WithinOrUsual(least, greatest) => (least, greatest),
        };
        let is_within = number(Some(value)).is_some_and(|number| (least..=greatest).contains(&&number));
        (!is_within).then(|| format!("the number must be between {least} and {greatest}"))
    }
}

impl<'r> Findings<'r> {
    pub(super) fn new(report: &'r mut Report, form: &'static Form) -> Self {
        let effectless = |code| matches!(code, "reported-only" | "not-in-keyfiles");
        let reported = report.findings().iter().filter(|f| effectless(f.code)).map(|f| f.path.clone()).collect();
        Self { report, form, reported }
    }

    /// What the host gets.
    pub(super) fn files(&self) -> NetworkFiles {
        self.form.files
    }

    /// Reports that the form cannot express what is at `path`.
    pub(super) fn refuse(&mut self, path: &DocumentPath, reason: &str) {
        let message = format!("cannot be expressed exactly in {}: {reason}", self.form.name);
        self.report.error(self.form.code, path, message);
    }

    pub(super) fn has_errors(&self) -> bool {
        self.report.has_errors()
    }

    pub(super) fn warn(&mut self, code: &'static str, path: &DocumentPath, message: &str) {
        self.report.warning(code, path, message);
    }

    /// Refuses every key and every value of the document that the form cannot express.
    pub(super) fn refuse_unsupported(&mut self, document: &Mapping, path: &DocumentPath) {
        self.mapping("", document, path);
    }

    fn mapping(&mut self, at: &str, map: &Mapping, path: &DocumentPath) {
        let Some(section) = self.form.sections.iter().copied().flatten().find(|section| section.at == at) else {
            return;
        };
        // What is not there, or off, has no settings in keyfiles either.
        let is_absent = matches!(text(map, "state"), Some("absent" | "ignore"));
        let is_off = matches!(at, "interfaces.*.ipv4" | "interfaces.*.ipv6") && !is_true(map.get("enabled"));
        if is_absent || is_off || (at == "interfaces.*" && !(self.form.takes)(map, path, self)) {
            return;
        }
        for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            let Some(key) = key.as_str() else { continue };
            let path = path.key(key);
            let some = section.some.iter().find(|(name, _)| *name == key);
            if some.is_none() && !section.all.split_whitespace().any(|name| name == key) {
                self.refuse_key(key, &path, section.why);
                continue;
            }
            if let Some(problem) =
                some.and_then(|(_, values)| values.problem(value)).filter(|_| !self.is_reported(&path))
            {
                self.refuse(&path, &problem);
            }
            let at = if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
            self.value(at, value, &path);
        }
    }

    fn value(&mut self, at: String, value: &Value, path: &DocumentPath) {
        match value {
            Value::Mapping(map) => self.mapping(&at, map, path),
            Value::Sequence(list) => {
                let at = at + ".*";
                for (index, map) in
                    list.iter().enumerate().filter_map(|(index, value)| Some((index, value.as_mapping()?)))
                {
                    self.mapping(&at, map, &path.index(index));
                }
            }
            _ => {}
        }
    }

    /// Refuses targets of the bond at `path` that the kernel does not monitor by ARP: anything but IPv4 addresses, and too many targets.
    pub(super) fn check_arp_targets(&mut self, targets: &[&str], path: &DocumentPath) {
        if targets.len() > Bond::MOST_TARGETS || targets.iter().any(|target| target.parse::<Ipv4Addr>().is_err()) {
            let at = path.key("link-aggregation").key("options").key("arp_ip_target");
            self.refuse(&at, "it is not a list of IPv4 addresses, 16 at most");
        }
    }

    /// Refuses an interval between learning packets for the bond at `path`: systemd-networkd does not send it in the modes that have such
    /// packets (`netdev_bond_fill_message_create`), and the kernel then uses its default, 1.
    pub(super) fn check_learning_interval(&mut self, bond: &Bond, path: &DocumentPath) {
        let has_packets = matches!(bond.mode.as_str(), "balance-tlb" | "balance-alb");
        if has_packets && bond.number("lp_interval").is_some_and(|interval| interval != 1) {
            let at = path.key("link-aggregation").key("options").key("lp_interval");
            self.refuse(&at, "systemd-networkd sends it only with arp_interval, which this mode cannot have");
        }
    }

    /// Refuses what gives an interface two MAC addresses: its own and that of another one.
    pub(super) fn refuse_two_macs(&mut self, entries: &[Interface<'_>], topology: &Topology) {
        for entry in entries {
            let (Some(source), Some(own)) = (text(entry.map, "copy-mac-from"), text(entry.map, "mac-address")) else {
                continue;
            };
            let interface = topology.interfaces.iter().find(|interface| interface.path == entry.path);
            let copied = interface.and_then(|interface| interface.mac);
            if copied.is_none() || copied != own.parse().ok() {
                let reason = format!("the MAC address of {} is ambiguous or not known", quoted(source));
                self.refuse(&entry.path.key("copy-mac-from"), &reason);
            }
        }
    }

    /// Whether an earlier step has reported that a setting has no effect.
    fn is_reported(&self, path: &DocumentPath) -> bool {
        self.reported.contains(path)
    }

    /// Refuses a key, unless it has no effect anyway.
    pub(super) fn refuse_key(&mut self, key: &str, path: &DocumentPath, why: &str) {
        if !self.is_reported(path) {
            let reason = self.form.reasons.iter().find(|(name, _)| *name == key).map_or(why, |(_, reason)| reason);
            self.refuse(path, reason);
        }
    }
}

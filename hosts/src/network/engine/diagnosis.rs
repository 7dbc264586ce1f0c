//! Shows a document to nmstate part by part, so that findings name all mistakes and not only the first.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::{Mapping, Value};

use super::attempt::Refusal;
use super::locate::{Attempts, locate, without};
use super::refusal::{refused, report_one};
use crate::network::parts::{Bad, port_names, reduced, stub};
use crate::nmstate_document::{Step, descend, elements, text};
use vocabulary::report::{DocumentPath, Finding, Report, Severity};

const CONFIG_OF_ROUTES: &[&str] = &["routes", "config"];
const CONFIG_OF_RULES: &[&str] = &["route-rules", "config"];
/// Members without which an interface is another one.
const IDENTITY: [&str; 5] = ["name", "type", "state", "identifier", "mac-address"];
/// How many mistakes of one part are said.
const MISTAKES: usize = 16;
/// What keeps the interface of a rule, or of name servers, that is looked at by itself.
const HOLDER: &str = "eth0";

/// A document, and its interfaces by name.
pub(super) struct Diagnosis<'a, 'n> {
    document: &'a Value,
    path: &'n DocumentPath,
    attempts: &'n mut Attempts,
    interfaces: &'a [Value],
    by_name: BTreeMap<&'a str, usize>,
    in_controller: BTreeSet<&'a str>,
}

impl<'a, 'n> Diagnosis<'a, 'n> {
    pub(super) fn of(document: &'a Value, path: &'n DocumentPath, attempts: &'n mut Attempts) -> Self {
        let map = document.as_mapping();
        let interfaces = map.map_or(&[][..], |map| elements(map, &["interfaces"]));
        let names = interfaces.iter().enumerate();
        let by_name = names.filter_map(|(index, entry)| Some((text(entry.as_mapping()?, "name")?, index))).collect();
        let in_controller = map.map(|map| port_names(map, |_, _| true)).unwrap_or_default();
        Self { document, path, attempts, interfaces, by_name, in_controller }
    }

    /// Reports what is wrong with each part that is not known to be `bad`, and what is wrong between those that are right.
    pub(super) fn report_all(mut self, mut bad: Bad, report: &mut Report) {
        let Some(map) = self.document.as_mapping() else { return };
        self.others(map, report);
        for (index, entry) in self.interfaces.iter().enumerate() {
            let Some(entry) = entry.as_mapping() else { continue };
            let known = bad.members.get(&index).cloned().unwrap_or_default();
            if known.iter().any(|member| member.is_empty() || IDENTITY.contains(&member.as_str())) {
                continue;
            }
            let left = entry.iter().filter(|(key, _)| key.as_str().is_none_or(|key| !known.contains(key)));
            let left: Mapping = left.map(|(key, value)| (key.clone(), value.clone())).collect();
            if self.part(&["interfaces"], index, &left.into(), (&bad, known), report) {
                bad.interfaces.insert(index);
            }
        }
        for (index, route) in elements(map, &["routes", "config"]).iter().enumerate() {
            if !bad.routes.contains(&index)
                && self.part(CONFIG_OF_ROUTES, index, route, (&bad, BTreeSet::new()), report)
            {
                bad.routes.insert(index);
            }
        }
        for (index, rule) in elements(map, &["route-rules", "config"]).iter().enumerate() {
            if !bad.rules.contains(&index) && self.part(CONFIG_OF_RULES, index, rule, (&bad, BTreeSet::new()), report) {
                bad.rules.insert(index);
            }
        }
        bad.dns |= bad.dns || self.resolver(map, &bad, report);
        if !bad.is_empty() && !bad.elsewhere {
            self.between(map, &bad, report);
        }
    }

    /// The names of bad interfaces.
    fn lost<'b>(&'b self, bad: &'b Bad) -> impl Iterator<Item = &'b str> {
        bad.interfaces.iter().filter_map(|index| self.interfaces.get(*index)?.get("name")?.as_str())
    }

    /// Whether a part refers to a bad interface: what nmstate says of it may be said of that.
    fn is_by_lost(&self, part: &Value, bad: &Bad) -> bool {
        let by = |key: &str| part.get(key).and_then(Value::as_str);
        self.lost(bad).any(|name| by("next-hop-interface") == Some(name) || by("iif") == Some(name))
    }

    /// What is wrong between parts that are right by themselves, once the others are replaced.
    fn between(&mut self, map: &Mapping, bad: &Bad, report: &mut Report) {
        let (rest, origins) = reduced(map, bad, self.path);
        let rest = Value::Mapping(rest);
        let Some(Err(refusal)) = self.attempts.generate(&rest) else { return };
        let said = match &refusal {
            Refusal::Generation(message) if !self.lost(bad).any(|name| message.contains(name)) => message,
            // The rest has the same schema as its parts. What names an interface that was replaced may be of that.
            _ => return,
        };
        if !report.findings().iter().any(|finding| finding.message.contains(said.as_str())) {
            let mut found = Report::new();
            report_one(&rest, &refusal, self.path, self.attempts, &mut found);
            report.append(found.at_origins(&origins));
        }
    }

    /// Members of the document that have no parts: unknown keys, the host name, what stands beside `config`.
    fn others(&mut self, map: &Mapping, report: &mut Report) {
        // What this reports of one key says nothing of the others.
        let before = report.findings().len();
        for (key, value) in map {
            let Some(key) = key.as_str().filter(|key| *key != "interfaces" || !value.is_sequence()) else { continue };
            let at = self.path.key(key);
            let is_known = |finding: &Finding| finding.severity == Severity::Error && finding.path.is_inside(&at);
            if !matches!(key, "routes" | "route-rules" | "dns-resolver")
                && report.findings().iter().take(before).any(is_known)
            {
                continue;
            }
            let alone = match (key, value) {
                ("routes" | "route-rules", Value::Mapping(members)) if members.contains_key("config") => {
                    without(value, &[Step::Key("config")])
                }
                _ => value.clone(),
            };
            let alone = object([(key, alone)]);
            // What can be made of it is seen with interfaces.
            if let Some(Err(refusal @ Refusal::Schema(_))) = self.attempts.generate(&alone) {
                let steps = locate(&alone, &refusal, self.attempts);
                refused(&alone, &steps, &refusal, &descend(self.path, &steps), report);
            }
        }
    }

    /// Whether nmstate refuses the name servers beside the interfaces that they name. Then that is reported.
    fn resolver(&mut self, map: &Mapping, bad: &Bad, report: &mut Report) -> bool {
        let Some(resolver) = map.get("dns-resolver") else { return false };
        let named = self.named_by(resolver, bad);
        let alone = Self::with_interface(named, &["dns-resolver"], resolver.clone());
        let Some(Err(refusal @ Refusal::Generation(_))) = self.attempts.generate(&alone) else { return false };
        let steps = locate(&alone, &refusal, self.attempts);
        if !matches!(steps.first(), Some(Step::Key("dns-resolver"))) {
            return false;
        }
        refused(&alone, &steps, &refusal, &descend(self.path, &steps), report);
        true
    }

    /// Whether nmstate refuses a part of a list, beside interfaces that are right. Then that is reported. The members of the
    /// part in `found` have been left out of it, since they have errors.
    fn part(
        &mut self,
        list: &[&'static str],
        index: usize,
        part: &Value,
        (bad, mut found): (&Bad, BTreeSet<String>),
        report: &mut Report,
    ) -> bool {
        let is_interface = list == ["interfaces"];
        let others = if is_interface {
            let others = self.interfaces_named_in(part).filter(|(other, _)| *other != index);
            others.map(|(_, entry)| stub(entry, &self.in_controller).into()).collect()
        } else {
            self.named_by(part, bad)
        };
        let mut steps: Vec<Step<'_>> = list.iter().map(|key| Step::Key(key)).collect();
        steps.push(Step::Index(0));
        let mut document = if is_interface {
            let entries: Vec<Value> = [part.clone()].into_iter().chain(others).collect();
            object([("interfaces", entries.into())])
        } else {
            Self::with_interface(others, list, Value::Sequence(vec![part.clone()]))
        };
        let path = list.iter().fold(self.path.clone(), |path, key| path.key(key)).index(index);
        let (mut reported, by_lost) = (0, !is_interface && self.is_by_lost(part, bad));
        while let (Some(Err(refusal)), true) = (self.attempts.generate(&document), reported < MISTAKES) {
            if by_lost && !matches!(refusal, Refusal::Schema(_)) {
                break;
            }
            let way = locate(&document, &refusal, self.attempts);
            let inside = way.strip_prefix(steps.as_slice());
            // What is not in the part may be for want of the others, and is seen with these.
            let Some(inside) = inside.or(if is_interface { Some(&[][..]) } else { None }) else { break };
            let member = match inside.first() {
                Some(Step::Key(key)) => *key,
                _ => "",
            };
            if !found.is_empty() && is_consequence(&refusal, member, &found) {
                break;
            }
            found.insert(member.to_owned());
            reported += 1;
            let place: Vec<Step<'_>> = steps.iter().chain(inside).copied().collect();
            match &refusal {
                Refusal::Panic => report_one(&document, &refusal, &path, self.attempts, report),
                _ => refused(&document, &place, &refusal, &descend(&path, inside), report),
            }
            if inside.is_empty() {
                break;
            }
            // Without a member that has to be there, nmstate misses that, and says nothing else.
            let to_element = place.iter().rposition(|step| matches!(step, Step::Index(_)));
            let ends = [place.len(), to_element.map_or(0, |at| at + 1), steps.len() + 1];
            let left = ends.into_iter().filter(|end| *end > steps.len()).find_map(|end| {
                let left = without(&document, place.get(..end)?);
                match self.attempts.generate(&left)? {
                    Err(Refusal::Schema(message)) if message.starts_with("missing field") => None,
                    _ => Some(left),
                }
            });
            let Some(left) = left else { break };
            document = left;
        }
        reported > 0
    }

    /// The interfaces that `part` names, with their numbers.
    fn interfaces_named_in<'s>(&'s self, part: &Value) -> impl Iterator<Item = (usize, &'s Mapping)> + use<'a, 's, 'n> {
        let mut named = BTreeSet::new();
        names_in(part, &mut named);
        let numbers: Vec<usize> = named.iter().filter_map(|name| self.by_name.get(name).copied()).collect();
        numbers.into_iter().filter_map(|number| Some((number, self.interfaces.get(number)?.as_mapping()?)))
    }

    /// The interfaces that a route, a rule or name servers name. A bad interface is replaced by a valid one of the same name.
    fn named_by(&self, part: &Value, bad: &Bad) -> Vec<Value> {
        let named = self.interfaces_named_in(part);
        let named =
            named.map(
                |(number, entry)| {
                    if bad.interfaces.contains(&number) { stub(entry, &self.in_controller) } else { entry.clone() }
                },
            );
        named.map(Value::Mapping).collect()
    }

    /// A document with `value` at `way`, and interfaces that take whatever refers to one.
    fn with_interface(mut interfaces: Vec<Value>, way: &[&str], value: Value) -> Value {
        if interfaces.is_empty() {
            let holder = Mapping::from_iter([("name".into(), HOLDER.into())]);
            interfaces.push(stub(&holder, &BTreeSet::new()).into());
        }
        let inside = way.iter().skip(1).rev().fold(value, |value, key| object([(key, value)]));
        let first = way.first().copied().unwrap_or_default();
        object([(first, inside), ("interfaces", interfaces.into())])
    }
}

/// A mapping of these members, null or not.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Mapping(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// Whether a refusal may come from having left out what was refused before.
fn is_consequence(refusal: &Refusal, member: &str, found: &BTreeSet<String>) -> bool {
    match refusal {
        Refusal::Schema(message) => message.starts_with("missing field"),
        Refusal::Generation(_) => member.is_empty() || found.contains(member),
        Refusal::Panic => true,
    }
}

/// All texts in a value: whichever of them is an interface's name may mean that.
fn names_in<'v>(value: &'v Value, names: &mut BTreeSet<&'v str>) {
    match value {
        Value::String(text) => {
            names.insert(text);
            // An address that is valid on one interface names it.
            names.extend(text.split_once('%').map(|(_, zone)| zone));
        }
        Value::Sequence(list) => list.iter().for_each(|value| names_in(value, names)),
        Value::Mapping(map) => map.values().for_each(|value| names_in(value, names)),
        _ => {}
    }
}

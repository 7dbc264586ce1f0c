//! Ansible inventories: hosts in groups, with variables of both.
//!
//! Source: Ansible's user guide, "How to build your inventory" and "Variable precedence"; compared with
//! `ansible-inventory --list` in the tests. dayone reads the inventory with the files in `group_vars` and `host_vars` beside it, and
//! reports Jinja expressions. It also reads the listings that Ansible prints, which have all variables.

mod files;
mod ini;
mod pattern;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::table::{Cell, MAX_ROWS, Row, Table};
use crate::input::listing::{listed, quoted};
use crate::input::text::VAULT;
use crate::input::yaml::{self as yaml_input, Budget};
use vocabulary::report::{DocumentPath, Report, Reported};

pub(super) use self::files::VariableFiles;
pub(super) use self::ini::read as read_ini;
pub(in crate::input) use self::yaml::host_variables;
pub(super) use self::yaml::read as read_yaml;

/// How many groups an inventory may have.
const MAX_GROUPS: usize = 2000;
/// How many variables all hosts together may get. A range or a group gives them to thousands of hosts in a few bytes.
const MAX_VALUES: usize = 1_000_000;
/// How many hosts the ranges of an inventory may stand for, without the first of each: a range of a few bytes stands for thousands.
const MAX_MEMBERS: usize = 1_000_000;
/// How many groups, hosts and variables dayone looks at to find out which variables each host gets.
const MAX_STEPS: usize = 10_000_000;
/// How many of these count as one value of the budget, because any number of fleets may read one inventory: a value takes as long.
const STEPS_OF_A_VALUE: usize = 64;
/// After how many errors the readers stop.
const MAX_ERRORS: usize = 20;
const ALL: &str = "all";
/// The group of hosts that are in no other group.
const UNGROUPED: &str = "ungrouped";
/// The setting of a group in the inventory that moves it behind others of its level. It is not a variable of the group's hosts.
const PRIORITY: &str = "ansible_group_priority";

/// Variables by name. A variable without a value hides an inherited one.
type Variables = BTreeMap<Arc<str>, Option<Cell>>;

/// An inventory.
#[derive(Debug, Default)]
pub(in crate::input::shapes::fleet) struct Inventory {
    /// In the order of their first mention.
    hosts: Vec<(String, Variables)>,
    by_name: BTreeMap<String, usize>,
    groups: BTreeMap<String, Group>,
    /// The variables of hosts in files.
    host_files: BTreeMap<String, Variables>,
    /// Whether Ansible has printed the inventory, with all variables.
    is_listing: bool,
    /// How many hosts its ranges stand for, without the first of each.
    members: usize,
    /// How many copies of variables these hosts get.
    values: usize,
}

#[derive(Debug, Default)]
struct Group {
    variables: Variables,
    /// Its variables in files.
    in_files: Variables,
    hosts: BTreeSet<usize>,
    children: BTreeSet<String>,
}

/// An error in an inventory: a sentence whose subject is the path.
type Problem = String;

impl Inventory {
    fn group(&mut self, name: &str) -> Result<&mut Group, Problem> {
        if self.groups.len() >= MAX_GROUPS && !self.groups.contains_key(name) {
            return Err(format!("has more than {MAX_GROUPS} groups"));
        }
        Ok(self.groups.entry(name.to_owned()).or_default())
    }

    /// Whether it has a group or a host with this name.
    fn has(&self, is_group: bool, name: &str) -> bool {
        if is_group {
            [ALL, UNGROUPED].contains(&name) || self.groups.contains_key(name)
        } else {
            self.by_name.contains_key(name)
        }
    }

    /// Adds the hosts that a pattern names to a group. For each host, later values win.
    fn add_hosts(&mut self, group: &str, pattern: &str, variables: &Variables) -> Result<(), Problem> {
        // Expanding one more range takes time, too.
        self.count(0, 0)?;
        let (names, port) = pattern::expand(pattern, MAX_ROWS)?;
        let mut all = variables.clone();
        if let Some(port) = port {
            all.entry("ansible_port".into()).or_insert(Some(Cell::Text(port.into())));
        }
        // The text itself limits hosts that it names one by one.
        self.count(names.len().saturating_sub(1), all.len())?;
        for name in names {
            let index = self.add_host(&name, &all)?;
            self.group(group)?.hosts.insert(index);
        }
        Ok(())
    }

    /// Counts the hosts that a range stands for, and the copies of variables that each of them gets.
    fn count(&mut self, hosts: usize, variables: usize) -> Result<(), Problem> {
        self.members = self.members.saturating_add(hosts);
        self.values = self.values.saturating_add(hosts.saturating_mul(variables));
        if self.members > MAX_MEMBERS {
            return Err(format!("has ranges for more than {MAX_MEMBERS} hosts; split it"));
        }
        if self.values > MAX_VALUES { Err(too_much()) } else { Ok(()) }
    }

    /// Adds a host, or adds variables to a known host, and returns its index.
    fn add_host(&mut self, name: &str, variables: &Variables) -> Result<usize, Problem> {
        let index = match self.by_name.get(name) {
            Some(index) => *index,
            None if self.hosts.len() == MAX_ROWS => return Err(format!("has more than {MAX_ROWS} hosts; split it")),
            None => {
                self.by_name.insert(name.to_owned(), self.hosts.len());
                self.hosts.push((name.to_owned(), Variables::new()));
                self.hosts.len() - 1
            }
        };
        if let Some((_, own)) = self.hosts.get_mut(index) {
            own.extend(variables.iter().map(|(name, cell)| (name.clone(), cell.clone())));
        }
        Ok(index)
    }

    /// Returns how far each group is from `all` on the longest path. It is an error if a group contains itself.
    fn depths(&self) -> Result<BTreeMap<&str, usize>, Problem> {
        let mut parents: BTreeMap<&str, usize> = self.groups.keys().map(|name| (name.as_str(), 0)).collect();
        for child in self.groups.values().flat_map(|group| &group.children) {
            *parents.entry(child).or_default() += 1;
        }
        let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
        let mut ready: Vec<&str> = parents.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
        while let Some(name) = ready.pop() {
            let depth = *depths.entry(name).or_insert(usize::from(name != ALL));
            for child in self.groups.get(name).into_iter().flat_map(|group| &group.children) {
                let below = depths.entry(child).or_default();
                *below = (*below).max(depth + 1);
                if let Some(count) = parents.get_mut(child.as_str()) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(child);
                    }
                }
            }
        }
        match parents.iter().find(|(_, count)| **count > 0) {
            Some((name, _)) => Err(format!("has the group {} inside itself", quoted(name))),
            None => Ok(depths),
        }
    }

    /// Returns all groups in `top`, including itself.
    fn inside<'a>(&'a self, top: &'a str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![top];
        while let Some(name) = waiting.pop() {
            if found.insert(name) {
                waiting.extend(self.groups.get(name).into_iter().flat_map(|group| &group.children).map(String::as_str));
            }
        }
        found
    }

    /// Returns the hosts of a group and of all groups in it. Adds how much it looked at to `steps`.
    fn hosts_in(&self, group: &str, steps: &mut usize) -> BTreeSet<usize> {
        let groups = self.inside(group).into_iter().filter_map(|name| self.groups.get(name).map(|group| (name, group)));
        let groups: Vec<(&str, &Group)> = groups.collect();
        *steps += groups.iter().map(|(_, group)| 1 + group.children.len() + group.hosts.len()).sum::<usize>();
        let groups = groups.into_iter().filter(|(name, _)| *name != UNGROUPED);
        let mut hosts: BTreeSet<usize> = groups.flat_map(|(_, group)| &group.hosts).copied().collect();
        if group == UNGROUPED {
            let others = self.groups.iter().filter(|(name, _)| ![ALL, UNGROUPED].contains(&name.as_str()));
            let grouped: BTreeSet<usize> = others.flat_map(|(_, group)| &group.hosts).copied().collect();
            hosts.extend((0..self.hosts.len()).filter(|host| !grouped.contains(host)));
        }
        hosts
    }

    /// Returns the hosts of a group with their variables. A host's own variables win over those of its groups, and those of an
    /// inner group over those of an outer one. Variables of any group in files win over those of any group in the inventory.
    pub(super) fn rows(
        &self,
        group: Option<&str>,
        path: &DocumentPath,
        budget: &mut Budget,
        report: &mut Report,
    ) -> Result<Table, Reported> {
        let (mut steps, mut counted) = (0, 0);
        let mut refuse = |code: &'static str, message: Problem| report.refuse(code, path, message);
        let depths = self.depths().map_err(|message| refuse("fleet-inventory", message))?;
        let wanted: Option<BTreeSet<usize>> = match group.filter(|group| *group != ALL) {
            None => None,
            Some(group) if self.groups.contains_key(group) => Some(self.hosts_in(group, &mut steps)),
            Some(group) => {
                let there = listed(self.groups.keys().map(String::as_str).filter(|name| *name != ALL));
                let message = format!("has no group {}; there are: {there}", quoted(group));
                return Err(refuse("fleet-inventory", message));
            }
        };
        // The group that is applied last wins.
        let mut order: Vec<(usize, i64, &str)> = depths
            .iter()
            .map(|(name, depth)| (*depth, self.groups.get(*name).map_or(1, Group::priority), *name))
            .collect();
        order.sort_unstable();
        let mut of_host: Vec<Vec<usize>> = vec![Vec::new(); self.hosts.len()];
        let mut pairs = 0;
        for (rank, (.., name)) in order.iter().enumerate() {
            if *name == ALL || self.groups.get(*name).is_none_or(Group::has_no_variables) {
                continue;
            }
            for host in self.hosts_in(name, &mut steps) {
                of_host.get_mut(host).into_iter().for_each(|ranks| ranks.push(rank));
                pairs += 1;
            }
            if pairs > MAX_VALUES || steps > MAX_STEPS {
                return Err(refuse("fleet-inventory", too_much()));
            }
            let left = count_steps(steps, &mut counted, budget);
            left.map_err(|problem| refuse("fleet-too-large", problem.message))?;
        }
        let all = self.groups.get(ALL);
        let of_all = |of: fn(&Group) -> &Variables| all.into_iter().map(of);
        let (own_name, inventory_name): (Arc<str>, Arc<str>) = ("name".into(), "inventory_hostname".into());
        let mut table = Table::default();
        let mut values = 0;
        for (index, (name, own)) in self.hosts.iter().enumerate() {
            if wanted.as_ref().is_some_and(|wanted| !wanted.contains(&index)) {
                continue;
            }
            let groups = of_host.get(index).into_iter().flatten().filter_map(|rank| order.get(*rank));
            let groups: Vec<&Group> = groups.filter_map(|(.., name)| self.groups.get(*name)).collect();
            let inherited = |of: fn(&Group) -> &Variables| of_all(of).chain(groups.iter().map(move |group| of(group)));
            let mut merged: BTreeMap<&Arc<str>, &Option<Cell>> = BTreeMap::new();
            for variables in inherited(|group| &group.variables) {
                steps += variables.len();
                merged.extend(variables.iter().filter(|(name, _)| &***name != PRIORITY));
            }
            for variables in inherited(|group| &group.in_files).chain([own]).chain(self.host_files.get(name)) {
                steps += variables.len();
                merged.extend(variables);
            }
            let given = merged.into_iter().filter_map(|(name, cell)| Some((Arc::clone(name), cell.clone()?)));
            let mut cells: BTreeMap<Arc<str>, Cell> = given.collect();
            let host = Cell::Text(name.as_str().into());
            cells.entry(Arc::clone(&own_name)).or_insert_with(|| host.clone());
            cells.insert(Arc::clone(&inventory_name), host);
            values += cells.len();
            if values > MAX_VALUES || steps > MAX_STEPS {
                return Err(refuse("fleet-inventory", too_much()));
            }
            let left = count_steps(steps, &mut counted, budget).and_then(|()| budget.take_copies((cells.len(), 0)));
            left.map_err(|problem| refuse("fleet-too-large", problem.message))?;
            table.rows.push(Row { cells, place: String::new() });
        }
        table.collect_columns();
        Ok(table)
    }
}

impl Group {
    fn has_no_variables(&self) -> bool {
        self.variables.is_empty() && self.in_files.is_empty()
    }

    fn priority(&self) -> i64 {
        match self.variables.get(PRIORITY) {
            Some(Some(Cell::Text(text))) => text.parse().unwrap_or(1),
            _ => 1,
        }
    }
}

/// Counts the steps that are not in `counted` yet.
fn count_steps(steps: usize, counted: &mut usize, budget: &mut Budget) -> Result<(), yaml_input::Problem> {
    let new = (steps / STEPS_OF_A_VALUE).saturating_sub(*counted);
    *counted += new;
    budget.take_copies((new, 0))
}

fn too_much() -> Problem {
    format!("gives all hosts together more than {MAX_VALUES} variables, or has too many groups in groups; split it")
}

/// Returns the value of a variable that is not an expression.
fn cell(text: &str) -> Option<Cell> {
    if ["{{", "{%", "{#"].iter().any(|open| text.contains(open)) {
        return Some(Cell::Unusable("is a Jinja expression, which only Ansible can evaluate; write the value".into()));
    }
    if text.as_bytes().starts_with(VAULT) {
        return Some(Cell::Unusable(ENCRYPTED_VALUE.into()));
    }
    Cell::of_text(text)
}

/// The message about a file that is encrypted as a whole.
const ENCRYPTED_FILE: &str = "is encrypted with Ansible Vault; decrypt it first, or hand over what `ansible-inventory --list \
                              --ask-vault-pass` prints";
/// The message about an encrypted value. `ansible-inventory` decrypts files only, also if it has the password.
const ENCRYPTED_VALUE: &str = "is encrypted with Ansible Vault, and `ansible-inventory --list` does not decrypt it; write the value, \
                               which `ansible -i INVENTORY HOST -m debug -a var=NAME --ask-vault-pass` prints";

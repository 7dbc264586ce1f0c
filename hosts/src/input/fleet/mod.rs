//! `HostFleet`: one template, and a table with a row for each host.
//!
//! The document is dayone's own, for those whose hosts are rows of a spreadsheet or an Ansible inventory. It has the shape
//! of a Kubernetes object and the members of the documents that it stands for: `spec.template` reads like a BareMetalHost
//! with its NMState in place.

mod csv;
mod inventory;
mod source;
mod table;
mod template;

use serde_yaml::{Mapping, Value};

use self::source::Tables;
use self::table::{Row, Table};
use self::template::{Template, Variables};
use super::bmc::bmc;
use super::flaw::{Reported, kind_of};
use super::listing::listed;
use super::nics::nics;
use super::object::{Fields, Object};
use super::part::{HostPart, Members};
use super::secret::Secrets;
use super::yaml::Budget;
use vocabulary::host::{HostBmc, HostName, MacAddress, NmstateDocument};
use vocabulary::report::{DocumentPath, Repeated, Report};

pub(super) use self::inventory::host_variables as inventory_host_variables;
pub(super) use self::source::NamedTables;

pub(super) const KIND: &str = "HostFleet";
pub(super) const API_VERSIONS: [&str; 1] = ["dayone.metal3.io/v1alpha1"];

/// The members of `spec.template`.
const MEMBERS: [&str; 9] =
    ["name", "hostname", "bootMACAddress", "architecture", "bootMode", "role", "bmc", "interfaces", "network"];
/// Those that a column of the same name stands for where the template says nothing of them.
const COLUMNS: [&str; 6] = ["name", "hostname", "bootMACAddress", "architecture", "bootMode", "role"];
/// After how many hosts with errors of their own nobody reads on.
const MAX_FAULTY: usize = 20;
/// How many values all hosts of a fleet may have together, and how many bytes of text: 10 000 hosts have 200 values each.
const MAX_VALUES: usize = 2_000_000;
const MAX_TEXT: usize = 256 << 20;

/// What a fleet says of its hosts. What keeps some from being read is reported.
pub(super) fn parts(
    object: &Object,
    tables: &NamedTables<'_>,
    secrets: &Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Vec<HostPart>, Reported> {
    let fleet = Fleet::read(object, tables, report)?;
    let mut parts = Vec::with_capacity(fleet.table.rows.len());
    fleet.each(report, &mut |filled, report| {
        let part = part(filled, object, secrets, budget, report);
        let read = if part.is_flawed { Err(Reported) } else { Ok(()) };
        parts.push(part);
        read
    });
    Ok(parts)
}

/// The BMCs of its hosts; nothing else of them is looked at.
pub(super) fn bmcs(
    object: &Object,
    tables: &NamedTables<'_>,
    secrets: &Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Vec<(HostBmc, DocumentPath)>, Reported> {
    let fleet = Fleet::read(object, tables, report)?;
    let mut bmcs = Vec::new();
    fleet.each(report, &mut |filled, report| {
        let fields = Fields::new(&filled.members, filled.path.clone());
        let name = name(&fields, report)?.to_string();
        let boot_mode = fields.parsed("bootMode", report)?;
        let bmc = bmc(&fields, object.namespace.as_deref(), secrets, budget, report)?;
        bmcs.extend(bmc.map(|bmc| (HostBmc { name, boot_mode, bmc }, fields.path.key("bmc"))));
        Ok(())
    });
    Ok(bmcs)
}

struct Fleet {
    object: String,
    template: Template,
    /// The members that columns stand for.
    columns: Vec<&'static str>,
    table: Table,
}

/// The template with the values of one host.
struct Filled {
    members: Mapping,
    path: DocumentPath,
}

impl Fleet {
    fn read(object: &Object, tables: &NamedTables<'_>, report: &mut Report) -> Result<Self, Reported> {
        let top = object.fields();
        let Some(spec) = top.mapping("spec", report)? else {
            return Err(top.wrong("spec", "spec-missing", "is missing", report));
        };
        let unknown = source::unknown_keys(&spec, &["hosts", "template"], report);
        let table = match spec.mapping("hosts", report)? {
            Some(hosts) => source::table(&hosts, tables, report),
            None => Err(spec.wrong("hosts", "fleet-hosts-missing", source::WANTED, report)),
        };
        let Some(template) = spec.whole_mapping("template", report)? else {
            let message = "is missing; write what all hosts have in common there: name, network, …";
            return Err(spec.wrong("template", "fleet-template-missing", message, report));
        };
        let unknown = unknown | source::unknown_keys(&template, &MEMBERS, report);
        let Tables { table, path, every_column_counts } = table?;
        if unknown {
            return Err(Reported);
        }
        let mut wrong = Report::new();
        let mut variables = Variables::new(&table.columns);
        let columns: Vec<&str> = COLUMNS.into_iter().filter(|column| !template.mapping.contains_key(*column)).collect();
        let columns: Vec<&str> = columns.into_iter().filter(|column| variables.take(column)).collect();
        let members = Value::Mapping(template.mapping.clone());
        let filled = Template::read(&members, &template.path, &mut variables, &mut wrong);
        let (values, text) = size(&members);
        let text = text + variables.uses * table.longest();
        let hosts = table.rows.len();
        if values.saturating_mul(hosts) > MAX_VALUES || text.saturating_mul(hosts) > MAX_TEXT {
            wrong.error("fleet-too-large", &template.path, format!("is too large for {hosts} hosts; split the fleet"));
        }
        let unused = variables.known.iter().zip(&variables.used).filter(|(_, used)| !**used);
        let unused: Vec<&str> = unused.map(|(name, _)| name.as_str()).collect();
        if every_column_counts && !unused.is_empty() && !wrong.has_errors() {
            let message = format!("has columns that the template does not use: {}", listed(unused.into_iter()));
            wrong.warning("fleet-column-unused", &path, message);
        }
        let refused = wrong.has_errors();
        report.append(wrong);
        if refused { Err(Reported) } else { Ok(Self { object: object.name.clone(), template: filled, columns, table }) }
    }

    /// Hands the template to `read` with the values of each host, as long as not too many have errors.
    fn each(&self, report: &mut Report, read: &mut dyn FnMut(Filled, &mut Report) -> Result<(), Reported>) {
        // A mistake of the template is one, however many hosts have it.
        let (mut faulty, mut repeated) = (0, Repeated::default());
        for (index, row) in self.table.rows.iter().enumerate() {
            let mut own = Report::new();
            let done = self.filled(row, &mut own).and_then(|filled| read(filled, &mut own));
            let is_new = repeated.add(report, own);
            faulty += usize::from(done.is_err() && is_new);
            let more = self.table.rows.len() - index - 1;
            if faulty == MAX_FAULTY && more > 0 {
                let message = format!("has {MAX_FAULTY} hosts with errors; dayone did not check {more} more");
                report.error("fleet-not-read-on", &DocumentPath::document(&format!("{KIND}/{}", self.object)), message);
                break;
            }
        }
        repeated.count(report);
    }

    fn filled(&self, row: &Row, report: &mut Report) -> Result<Filled, Reported> {
        let filled = self.template.fill(row).and_then(|filled| {
            let mut members = match filled {
                Value::Mapping(members) => members,
                _ => Mapping::new(),
            };
            for column in self.columns.iter().filter(|column| row.cells.contains_key(**column)) {
                let value = template::value_of(column, row).map_err(|fault| fault.inside_key(column))?;
                members.insert((*column).into(), value.into());
            }
            Ok(members)
        });
        // Host and row are part of the document's name, so that every finding about the host says them.
        let name = match &filled {
            Ok(members) => members.get("name").and_then(Value::as_str),
            Err(_) => row.name(),
        };
        let host = name.map(|name| listed([name].into_iter()));
        let label: Vec<&str> =
            host.as_deref().into_iter().chain([row.place.as_str()]).filter(|part| !part.is_empty()).collect();
        let object = format!("{KIND}/{}", self.object);
        let document = DocumentPath::row(&object, &label);
        report.name_place(&document, &DocumentPath::document(&object));
        let path = document.key("spec").key("template");
        filled.map(|members| Filled { members, path: path.clone() }).map_err(|fault| {
            report.error("fleet-value-missing", &fault.path(&path), fault.message);
            Reported
        })
    }
}

fn part(mut filled: Filled, object: &Object, secrets: &Secrets, budget: &mut Budget, report: &mut Report) -> HostPart {
    let network = filled.members.shift_remove("network");
    let fields = Fields::new(&filled.members, filled.path);
    let at = |key| fields.path.key(key);
    let mut members = Members::default();
    let name = members.take(name(&fields, report).map(Some));
    let hostname = members.take(fields.parsed::<HostName>("hostname", report));
    let boot_mac = members.take(fields.parsed::<MacAddress>("bootMACAddress", report));
    let architecture = members.take(fields.parsed("architecture", report));
    let boot_mode = members.take(fields.parsed("bootMode", report));
    let role = members.take(fields.text("role", report));
    let bmc = members.take(bmc(&fields, object.namespace.as_deref(), secrets, budget, report));
    let has_nics = fields.mapping.contains_key("interfaces");
    let nics = if has_nics { members.take(nics(&fields, report)) } else { Vec::new() };
    let network = members.take(match network {
        Some(network @ Value::Mapping(_)) => Ok(Some(network)),
        None | Some(Value::Null) => {
            let message = "is missing; write the NMState of every host there";
            Err(fields.wrong("network", "fleet-network-missing", message, report))
        }
        Some(other) => {
            let message = format!("is {}; NMState is a mapping (interfaces, routes, …)", kind_of(&other));
            Err(fields.wrong("network", "nmstate-not-mapping", message, report))
        }
    });
    HostPart {
        name: name.as_ref().map(|name| (name.to_string(), at("name"))),
        namespace: object.namespace.clone(),
        hostname: hostname.or(name),
        boot_mac: boot_mac.map(|mac| (mac, at("bootMACAddress"))),
        architecture: architecture.map(|architecture| (architecture, at("architecture"))),
        boot_mode: boot_mode.map(|mode| (mode, at("bootMode"))),
        bmc: bmc.map(|bmc| (bmc, at("bmc"))),
        role: role.map(|role| (role.to_owned(), at("role"))),
        nics,
        network: network.map(|network| NmstateDocument::new(network, at("network")).into()),
        is_flawed: members.any_wrong(),
        ..HostPart::new(KIND, fields.path.clone())
    }
}

/// The host's name, which is a host name, so that it can be a directory's, too.
fn name(fields: &Fields<'_>, report: &mut Report) -> Result<HostName, Reported> {
    let message = "is missing; write ${name}, or whichever column holds the hosts' names";
    fields.parsed("name", report)?.ok_or_else(|| fields.wrong("name", "fleet-name-missing", message, report))
}

/// How many values a template has, and how much text.
fn size(value: &Value) -> (usize, usize) {
    let sum = |sizes: (usize, usize), size: (usize, usize)| (sizes.0 + size.0, sizes.1 + size.1);
    match value {
        Value::String(text) => (1, text.len()),
        Value::Sequence(values) => values.iter().map(size).fold((1, 0), sum),
        Value::Mapping(map) => {
            map.iter().map(|(key, value)| sum((0, key.as_str().map_or(0, str::len)), size(value))).fold((1, 0), sum)
        }
        _ => (1, 0),
    }
}

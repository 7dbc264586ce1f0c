//! `HostFleet`: one template, and a table with a row for each host.
//!
//! dayone defines this document for users whose hosts are rows of a spreadsheet or an Ansible inventory. It has the form of a
//! Kubernetes object. `spec.template` reads like the `spec` of a BareMetalHost with its NMState inside.

mod csv;
mod inventory;
mod own_document;
mod source;
mod table;
mod template;
mod xlsx;

use serde_yaml::{Mapping, Value};

use self::source::Rows;
use self::table::{Row, Table};
use self::template::{Template, Variables};
use super::host_reader::{HostReader, Reading};
use super::nics::nics;
use super::{Found, bmc};
use crate::input::document::Object;
use crate::input::fields::Fields;
use crate::input::host_part::HostPart;
use crate::input::listing::{listed, quoted};
use crate::input::yaml::invalid::kind_of;
use vocabulary::host::{HostName, NmstateDocument};
use vocabulary::report::{DocumentPath, Repeated, Report, Reported};

pub(super) use self::inventory::host_variables as inventory_host_variables;
pub(in crate::input) use self::own_document::OwnDocument;
pub(in crate::input) use self::source::NamedTables;

pub(in crate::input) const KIND: &str = "HostFleet";
pub(super) const API_VERSIONS: &[&str] = &["dayone.metal3.io/v1alpha1"];

/// The members of `spec.template`.
const MEMBERS: [&str; 9] =
    ["name", "hostname", "bootMACAddress", "architecture", "bootMode", "role", "bmc", "interfaces", "network"];
/// The members whose values come from a column of the same name, if the template lacks them.
const COLUMNS: [&str; 6] = ["name", "hostname", "bootMACAddress", "architecture", "bootMode", "role"];
/// After how many hosts with errors of their own dayone stops.
const MAX_FAULTY: usize = 20;

/// Reads the hosts of a fleet.
pub(super) fn read(object: &Object, reading: &mut Reading<'_>) -> Result<Found, Reported> {
    let fleet = Fleet::read(object, reading)?;
    let mut found = Found { parts: Vec::with_capacity(fleet.table.rows.len()), ..Found::default() };
    fleet.each(reading, &mut |filled, reading| {
        let part = filled.map_or_else(|part| *part, |filled| host(filled, object, reading));
        let read = if part.is_flawed { Err(Reported) } else { Ok(()) };
        found.parts.push(part);
        read
    });
    Ok(found)
}

struct Fleet {
    object: DocumentPath,
    template: Template,
    /// The members whose values come from columns.
    columns: Vec<&'static str>,
    table: Table,
}

/// The template with the values of one host.
struct Filled {
    members: Mapping,
    path: DocumentPath,
}

/// Reads the filled template of a host.
type Read<'f> = dyn FnMut(Result<Filled, Box<HostPart>>, &mut Reading<'_>) -> Result<(), Reported> + 'f;

impl Fleet {
    fn read(object: &Object, reading: &mut Reading<'_>) -> Result<Self, Reported> {
        let Reading { tables, budget, report, .. } = reading;
        let spec = object.spec(report)?;
        let unknown = source::unknown_keys(&spec, &["hosts", "template"], report);
        let table = match spec.mapping("hosts", report)? {
            Some(hosts) => source::rows(&hosts, tables, budget, report),
            None => Err(spec.wrong("hosts", "fleet-hosts-missing", source::WANTED, report)),
        };
        let Some(template) = spec.whole_mapping("template", report)? else {
            let message = "is missing; write what all hosts have in common there: name, network, …";
            return Err(spec.wrong("template", "fleet-template-missing", message, report));
        };
        let unknown = unknown | source::unknown_keys(&template, &MEMBERS, report);
        let Rows { table, path, every_column_counts } = table?;
        if unknown {
            return Err(Reported);
        }
        let mut wrong = Report::new();
        let mut variables = Variables::new(&table.columns, table.in_sheet());
        let columns: Vec<&str> = COLUMNS.into_iter().filter(|column| !template.mapping.contains_key(*column)).collect();
        let columns: Vec<&str> = columns.into_iter().filter(|column| variables.take(column)).collect();
        let members = Value::Mapping(template.mapping.clone());
        let filled = Template::read(&members, &template.path, &mut variables, &mut wrong);
        let unused = variables.unused();
        if every_column_counts && !unused.is_empty() && !wrong.has_errors() {
            let message = format!("has columns that the template does not use: {}", listed(unused.into_iter()));
            wrong.warning("fleet-column-unused", &path, message);
        }
        let refused = wrong.has_errors();
        report.append(wrong);
        if refused {
            Err(Reported)
        } else {
            Ok(Self { object: object.path().clone(), template: filled, columns, table })
        }
    }

    /// Calls `read` with the template filled in for each host, or with the part of a host that cannot fill it, until too many
    /// hosts have errors.
    fn each(&self, reading: &mut Reading<'_>, read: &mut Read<'_>) {
        // A mistake in the template is one mistake, no matter how many hosts have it.
        let (mut faulty, mut repeated) = (0, Repeated::default());
        for (index, row) in self.table.rows.iter().enumerate() {
            if reading.budget.take_copies(self.template.size(row)).is_err() {
                let limits = reading.budget.limits();
                let message = format!(
                    "is too large for {} hosts: all fleets together may have {} values, with those that hosts get from inventories, and \
                     {} MiB of text; hand over fewer hosts",
                    self.table.rows.len(),
                    limits.copied_values,
                    limits.copied_bytes >> 20
                );
                let template = self.object.key("spec").key("template");
                reading.report.error("fleet-too-large", &template, message);
                break;
            }
            let mut own = Report::new();
            let filled = self.filled(row, &mut own);
            let done = read(filled, &mut reading.with_report(&mut own));
            let is_new = repeated.add(reading.report, own);
            faulty += usize::from(done.is_err() && is_new);
            let more = self.table.rows.len() - index - 1;
            if faulty == MAX_FAULTY && more > 0 {
                let message = format!("has {MAX_FAULTY} hosts with errors; dayone did not check {more} more");
                reading.report.error("fleet-not-read-on", &self.object, message);
                break;
            }
        }
        repeated.count(reading.report);
    }

    fn filled(&self, row: &Row, report: &mut Report) -> Result<Filled, Box<HostPart>> {
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
        // The document's name contains the host and the row, so that every finding about the host shows them.
        let name = match &filled {
            Ok(members) => members.get("name").and_then(Value::as_str),
            Err(_) => row.name(),
        };
        let host = name.map(quoted);
        let label: Vec<&str> =
            host.as_deref().into_iter().chain([row.place.as_str()]).filter(|part| !part.is_empty()).collect();
        let document = DocumentPath::row(&self.object.to_string(), &label);
        report.name_document(&document, &self.object);
        let path = document.key("spec").key("template");
        match filled {
            Ok(members) => Ok(Filled { members, path }),
            Err(fault) => {
                report.error("fleet-value-missing", &fault.path(&path), fault.message);
                let name = row.name().map(|name| (name.to_owned(), path.key("name")));
                Err(Box::new(HostPart { name, is_flawed: true, ..HostPart::new(KIND, path) }))
            }
        }
    }
}

fn host(mut filled: Filled, object: &Object, reading: &mut Reading<'_>) -> HostPart {
    let network = filled.members.shift_remove("network");
    let fields = Fields::new(&filled.members, filled.path);
    let mut host = HostReader::new(KIND, &fields, reading);
    host.part.namespace.clone_from(&object.namespace);
    // The host's name is also a host name, so that it can be the name of a directory.
    let name: Option<HostName> = host.take(|fields, reading| {
        let message = "is missing; write ${name}, or whichever column holds the hosts' names";
        let name = fields.parsed("name", reading.report)?;
        name.ok_or_else(|| fields.wrong("name", "fleet-name-missing", message, reading.report)).map(Some)
    });
    host.part.name = fields.placed("name", name.as_ref().map(ToString::to_string));
    host.part.hostname = host.parsed("hostname").map(|(hostname, _)| hostname).or(name);
    host.part.boot_mac = host.parsed("bootMACAddress");
    host.part.architecture = host.parsed("architecture");
    host.part.boot_mode = host.boot_mode();
    host.part.role = host.role();
    host.part.bmc = host.take(|fields, reading| bmc::with_secret(fields, object.namespace.as_deref(), reading));
    if fields.mapping.contains_key("interfaces") {
        host.part.nics = host.take_other(|fields, reading| nics(fields, reading.report));
    }
    host.part.network = host.take_other(|fields, reading| match network {
        Some(network @ Value::Mapping(_)) => Ok(Some(NmstateDocument::new(network, fields.path.key("network")).into())),
        None | Some(Value::Null) => {
            let message = "is missing; write the NMState of every host there";
            Err(fields.wrong("network", "fleet-network-missing", message, reading.report))
        }
        Some(other) => {
            let message = format!("is {}; NMState is a mapping (interfaces, routes, …)", kind_of(&other));
            Err(fields.wrong("network", "nmstate-not-mapping", message, reading.report))
        }
    });
    host.part
}

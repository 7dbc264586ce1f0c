//! Reads what one document says about one host, member by member.

use std::str::FromStr;

use serde_yaml::Mapping;

use super::fleet::NamedTables;
use crate::input::fields::{Fields, Placed};
use crate::input::host_part::{HostPart, MissingNetwork};
use crate::input::secret::Secrets;
use crate::input::yaml::Budget;
use vocabulary::host::{BootMode, HostError, NetworkDocument};
use vocabulary::report::{Report, Reported};

/// How much of the documents to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::input) enum Scope {
    /// Everything about the hosts.
    Hosts,
    /// Only the BMCs of the hosts. Mistakes elsewhere do not matter then, and are not reported.
    Bmcs,
}

/// What the readers of documents need besides the document.
pub(in crate::input) struct Reading<'r> {
    pub(in crate::input) scope: Scope,
    pub(in crate::input) secrets: &'r Secrets,
    pub(in crate::input) tables: &'r NamedTables<'r>,
    pub(in crate::input) budget: &'r mut Budget,
    pub(in crate::input) report: &'r mut Report,
}

impl Reading<'_> {
    /// The same with another report.
    pub(super) fn with_report<'s>(&'s mut self, report: &'s mut Report) -> Reading<'s> {
        Reading { scope: self.scope, secrets: self.secrets, tables: self.tables, budget: self.budget, report }
    }
}

/// Reads members of a mapping into the part of a host. A member that cannot be read is reported and left out, and the others
/// are read, so that the user sees all errors at once.
pub(super) struct HostReader<'h, 'r> {
    fields: &'h Fields<'h>,
    reading: &'h mut Reading<'r>,
    pub(super) part: HostPart,
}

impl<'h, 'r> HostReader<'h, 'r> {
    /// Begins to read `fields`, which describe a host in a document of this shape.
    pub(super) fn new(shape: &'static str, fields: &'h Fields<'h>, reading: &'h mut Reading<'r>) -> Self {
        Self { fields, reading, part: HostPart::new(shape, fields.path.clone()) }
    }

    /// Returns what `read` returns, or nothing if that fails.
    pub(super) fn take<T: Default>(
        &mut self,
        read: impl FnOnce(&Fields<'h>, &mut Reading<'r>) -> Result<T, Reported>,
    ) -> T {
        read(self.fields, self.reading).unwrap_or_else(|Reported| {
            self.part.is_flawed = true;
            T::default()
        })
    }

    /// [`Self::take`] for members that have nothing to do with the BMC.
    pub(super) fn take_other<T: Default>(
        &mut self,
        read: impl FnOnce(&Fields<'h>, &mut Reading<'r>) -> Result<T, Reported>,
    ) -> T {
        if self.reading.scope == Scope::Hosts { self.take(read) } else { T::default() }
    }

    /// Reads the host's name.
    pub(super) fn name(&mut self, key: &str) {
        self.part.name = self.take(|fields, reading| {
            let name = fields.text(key, reading.report)?;
            Ok(fields.placed(key, name.map(str::to_owned)))
        });
    }

    /// Reads the host's name, which must be there unless only its BMC matters.
    pub(super) fn required_name(&mut self, key: &str) {
        self.name(key);
        if self.part.name.is_none() && !self.part.is_flawed {
            self.take_other(|fields, reading| {
                fields.required_text(key, "write the name of the host", reading.report).map(drop)
            });
        }
    }

    /// Sets the host name, for documents in which it is also the host's name.
    pub(super) fn host_name_is_name(&mut self) {
        let name = self.part.name.clone();
        self.part.hostname = self.take_other(|_, reading| match name {
            Some((name, path)) => name
                .parse()
                .map(Some)
                .map_err(|error: HostError| reading.report.refuse("invalid-value", &path, error.to_string())),
            None => Ok(None),
        });
        if self.part.hostname.is_none() && self.reading.scope == Scope::Hosts {
            self.part.name = None;
        }
    }

    /// Parses the text at `key`.
    pub(super) fn parsed<T: FromStr<Err = HostError>>(&mut self, key: &str) -> Placed<T> {
        self.take_other(|fields, reading| Ok(fields.placed(key, fields.parsed(key, reading.report)?)))
    }

    pub(super) fn boot_mode(&mut self) -> Placed<BootMode> {
        self.take(|fields, reading| Ok(fields.placed("bootMode", fields.parsed("bootMode", reading.report)?)))
    }

    pub(super) fn role(&mut self) -> Placed<String> {
        self.take_other(|fields, reading| {
            let role = fields.text("role", reading.report)?;
            Ok(fields.placed("role", role.map(str::to_owned)))
        })
    }

    pub(super) fn root_device_hints(&mut self) -> Placed<Mapping> {
        self.take_other(|fields, reading| {
            let hints = fields.whole_mapping("rootDeviceHints", reading.report)?;
            Ok(hints.map(|hints| (hints.mapping.clone(), hints.path)))
        })
    }

    /// Reads the network. If no document has one for this host, the user gets the finding `missing`.
    pub(super) fn network<N: Into<NetworkDocument>>(
        &mut self,
        missing: MissingNetwork,
        read: impl FnOnce(&Fields<'h>, &mut Reading<'r>) -> Result<Option<N>, Reported>,
    ) {
        if let Some(network) = self.take_other(|fields, reading| read(fields, reading).map(Some)) {
            self.part.network = network.map(Into::into);
            self.part.missing_network = Some(missing);
        }
    }
}

//! The document of a fleet in the same workbook as its table.

use serde_yaml::{Mapping, Value};

use super::source::{SOURCES, XLSX_FILE};
use super::{KIND, xlsx};
use crate::input::text::{Text, TextKind};
use crate::input::yaml::{Budget, Problem};

/// The text of a sheet `HostFleet`.
pub(in crate::input) struct OwnDocument {
    /// The name of the sheet, behind that of the workbook: `fleet.xlsx!HostFleet`.
    name: String,
    /// The text. Line N of it is row N of the sheet, unless one cell has several lines.
    text: String,
    workbook: String,
}

impl OwnDocument {
    /// Returns the document in a text, if the text is a workbook that has one. A workbook that cannot be read is a problem.
    pub(in crate::input) fn of(text: &Text<'_>, budget: &mut Budget) -> Result<Option<Self>, Problem> {
        if text.kind() != TextKind::Workbook {
            return Ok(None);
        }
        let content = text.content(budget)?;
        let document = xlsx::document(&content, budget).map_err(|message| Problem::new("fleet-workbook", message))?;
        let workbook = text.name_of_file();
        let name = format!("{workbook}!{}", xlsx::DOCUMENT);
        Ok(document.map(|text| Self { name, text, workbook: workbook.to_owned() }))
    }

    /// Returns the document as a text of its own.
    pub(in crate::input) fn text(&self) -> Text<'_> {
        Text { name: Some(&self.name), text: self.text.as_bytes() }
    }

    /// Names the workbook as the source of the hosts, if `document` is a fleet without another source.
    pub(in crate::input) fn name_table(&self, document: &mut Mapping) {
        if document.get("kind").and_then(Value::as_str) != Some(KIND) {
            return;
        }
        let Some(spec) = document.get_mut("spec").and_then(Value::as_mapping_mut) else { return };
        let hosts = spec.entry("hosts".into()).or_insert(Value::Null);
        if hosts.is_null() {
            *hosts = Value::Mapping(Mapping::new());
        }
        if let Some(hosts) = hosts.as_mapping_mut()
            && !SOURCES.iter().any(|source| hosts.contains_key(*source))
        {
            hosts.insert(XLSX_FILE.into(), self.workbook.as_str().into());
        }
    }
}

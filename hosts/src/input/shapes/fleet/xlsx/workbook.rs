//! The sheets of a workbook.

use super::cell::Context;
use super::package::{Package, Relationships};
use super::problem::Problem;
use super::sheet::{self, Row};
use super::strings;
use super::styles::Styles;
use super::xml::Events;
use crate::input::listing::{listed, quoted};
use crate::input::yaml::Budget;

/// The name of the sheet that may contain the document of the fleet.
pub(super) const DOCUMENT: &str = "HostFleet";
/// How many sheets a workbook may have.
const MAX_SHEETS: usize = 1000;

/// A workbook whose parts are read when they are needed.
pub(super) struct Workbook<'a, 'b> {
    package: Package<'a, 'b>,
    relationships: Relationships,
    sheets: Vec<Sheet>,
    is_stale: bool,
}

/// A sheet with cells.
#[derive(Clone)]
pub(super) struct Sheet {
    pub(super) name: String,
    is_hidden: bool,
    part: String,
}

impl<'a, 'b> Workbook<'a, 'b> {
    pub(super) fn open(bytes: &'a [u8], budget: &'b mut Budget) -> Result<Self, Problem> {
        let missing = || "is not an Excel workbook: it has no sheet".to_owned();
        let mut package = Package::open(bytes, budget)?;
        let part = package.relationships("")?.one_of_type("/officeDocument").ok_or_else(missing)?;
        let relationships = package.relationships(&part)?;
        let parts = relationships.of_type("/worksheet");
        let text = package.part(&part)?.ok_or_else(missing)?;
        let mut events = Events::of(&text, &part);
        let (mut sheets, mut is_stale) = (Vec::new(), false);
        while let Some(event) = events.next()? {
            if let Some(sheet) = event.opens("sheet") {
                // Sheets of other types, such as a single chart, have no cells.
                let Some(part) = sheet.attribute("id").and_then(|id| parts.get(id.as_str()).copied()) else { continue };
                let is_hidden = sheet.attribute("state").is_some_and(|state| state != "visible");
                let name = sheet.attribute("name").unwrap_or_default();
                sheets.push(Sheet { name, is_hidden, part: part.to_owned() });
                if sheets.len() > MAX_SHEETS {
                    return Err(format!("has more than {MAX_SHEETS} sheets"));
                }
            } else if let Some(calculation) = event.opens("calcPr") {
                is_stale |=
                    calculation.attribute("fullCalcOnLoad").is_some_and(|value| value == "1" || value == "true");
            }
        }
        Ok(Self { package, relationships, sheets, is_stale })
    }

    /// Returns the sheet with the document of the fleet.
    pub(super) fn document(&self) -> Option<Sheet> {
        self.sheets.iter().find(|sheet| sheet.is_named(DOCUMENT)).cloned()
    }

    /// Returns the sheet with this name, or the first one that users see.
    pub(super) fn table(&self, name: Option<&str>) -> Result<Sheet, Problem> {
        let is_table = |sheet: &&Sheet| match name {
            Some(name) => sheet.is_named(name),
            None => !sheet.is_hidden && !sheet.is_named(DOCUMENT),
        };
        let found = self.sheets.iter().find(is_table).cloned();
        found.ok_or_else(|| match name {
            Some(name) => {
                let there = listed(self.sheets.iter().map(|sheet| sheet.name.as_str()));
                format!("has no sheet {}; there are: {there}", quoted(name))
            }
            None => format!("has no sheet that shows, besides {DOCUMENT}; add a sheet with the table"),
        })
    }

    /// Returns the rows of a sheet that have values.
    pub(super) fn rows(&mut self, sheet: &Sheet) -> Result<Vec<Row>, Problem> {
        let texts = self.relationships.one_of_type("/sharedStrings");
        let styles = self.relationships.one_of_type("/styles");
        let context = Context {
            texts: strings::shared(&mut self.package, texts.as_deref())?,
            styles: Styles::read(&mut self.package, styles.as_deref())?,
            is_stale: self.is_stale,
        };
        let text = self.package.part(&sheet.part)?;
        let text = text.ok_or_else(|| format!("is damaged: its part {} is missing", sheet.part))?;
        sheet::rows(&text, (&sheet.name, &sheet.part), &context, &mut self.package)
    }
}

impl Sheet {
    /// Like Excel, ignores case.
    fn is_named(&self, name: &str) -> bool {
        self.name.to_lowercase() == name.to_lowercase()
    }
}

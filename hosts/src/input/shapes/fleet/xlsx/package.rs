//! The parts of a workbook: XML files in a ZIP archive, connected by relationships (ISO/IEC 29500-2).

use std::collections::BTreeMap;
use std::io::{self, Read};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

use super::problem::Problem;
use super::xml::Events;
use crate::input::text::COMPOUND_FILE;
use crate::input::yaml::Budget;

/// How large all parts that dayone reads may be together, decompressed. 10,000 hosts with 50 values each take a quarter.
const MAX_BYTES: usize = 64 << 20;
/// How many parts a workbook may have. One of a hundred sheets has a few hundred.
const MAX_PARTS: usize = 10_000;

/// A workbook, and what is left to read it with.
pub(super) struct Package<'a, 'b> {
    archive: ZipSliceArchive<&'a [u8]>,
    /// The places of the parts by the keys of their names.
    parts: BTreeMap<Vec<u8>, (CompressionMethod, ZipArchiveEntryWayfinder)>,
    budget: &'b mut Budget,
    /// How many bytes of parts dayone may still read.
    left: usize,
}

/// The relationships of a part.
pub(super) struct Relationships(Vec<Relationship>);

struct Relationship {
    id: String,
    kind: String,
    /// The name of the part to which it leads.
    target: String,
}

impl<'a, 'b> Package<'a, 'b> {
    pub(super) fn open(bytes: &'a [u8], budget: &'b mut Budget) -> Result<Self, Problem> {
        if bytes.starts_with(COMPOUND_FILE) {
            let message = "is a workbook with a password, or of an old kind (.xls)";
            return Err(format!("{message}; save it as an Excel workbook (.xlsx) without a password"));
        }
        let damaged = |_| "is not an Excel workbook (.xlsx), or damaged; save the table as one, or as CSV".to_owned();
        let archive = ZipArchive::from_slice(bytes).map_err(damaged)?;
        let mut parts = BTreeMap::new();
        let mut entries = archive.entries();
        while let Some(entry) = entries.next_entry().map_err(damaged)? {
            let name = key(entry.file_path().as_ref());
            if parts.insert(name, (entry.compression_method(), entry.wayfinder())).is_some() {
                return Err("is damaged: it has two parts with one name".to_owned());
            }
            if parts.len() > MAX_PARTS {
                return Err(format!("has more than {MAX_PARTS} parts"));
            }
        }
        let left = MAX_BYTES.min(budget.limits().bytes);
        Ok(Self { archive, parts, budget, left })
    }

    /// Takes a value with this number of bytes out of the budget.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        self.budget.take_value(bytes).map_err(|problem| problem.message)
    }

    /// Returns the text of a part, if it exists.
    pub(super) fn part(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let Some((method, place)) = self.parts.get(&key(name.as_bytes())) else { return Ok(None) };
        let damaged = || format!("is damaged: dayone cannot read its part {name}");
        let entry = self.archive.get_entry(*place).map_err(|_| damaged())?;
        let packed = entry.data();
        let unpacked: Box<dyn Read> = match *method {
            CompressionMethod::STORE => Box::new(packed),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(packed)),
            _ => Box::new(io::empty()),
        };
        let mut bytes = Vec::new();
        // The size in the archive may be wrong.
        let mut part = entry.verifying_reader(unpacked).take(self.left as u64 + 1);
        part.read_to_end(&mut bytes).map_err(|_| damaged())?;
        let too_much =
            || format!("has more than {} MiB of XML; split the table", MAX_BYTES.min(self.budget.limits().bytes) >> 20);
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(too_much)?;
        self.budget.take_bytes(bytes.len()).map_err(|problem| problem.message)?;
        String::from_utf8(bytes).map(Some).map_err(|_| format!("has a part that is not UTF-8: {name}"))
    }

    /// Returns the relationships of a part, or those of the package if `part` is empty.
    pub(super) fn relationships(&mut self, part: &str) -> Result<Relationships, Problem> {
        let (directory, file) = part.rsplit_once('/').map_or(("", part), |(directory, file)| (directory, file));
        let name = resolve(directory, &format!("_rels/{file}.rels"));
        let mut found = Vec::new();
        let Some(text) = self.part(&name)? else { return Ok(Relationships(found)) };
        let mut events = Events::of(&text, &name);
        while let Some(event) = events.next()? {
            let Some(element) = event.opens("Relationship") else { continue };
            let attribute = |name| element.attribute(name).unwrap_or_default();
            let (id, kind, target) = (attribute("Id"), attribute("Type"), attribute("Target"));
            self.take(id.len() + kind.len() + target.len())?;
            found.push(Relationship { id, kind, target: resolve(directory, &target) });
        }
        Ok(Relationships(found))
    }
}

impl Relationships {
    /// Returns the parts of one type by the identifiers of their relationships.
    pub(super) fn of_type(&self, end: &str) -> BTreeMap<&str, &str> {
        let of_type = self.0.iter().filter(|relationship| relationship.kind.ends_with(end));
        of_type.map(|relationship| (relationship.id.as_str(), relationship.target.as_str())).collect()
    }

    /// Returns the only part of a type.
    pub(super) fn one_of_type(&self, end: &str) -> Option<String> {
        self.0.iter().find(|relationship| relationship.kind.ends_with(end)).map(|found| found.target.clone())
    }
}

/// Returns the key of a part's name. Two names are equivalent if they differ in the case of ASCII letters only (ISO/IEC 29500-2, 6.2.2.3). Some
/// programs write the names with backslashes into the archive.
fn key(name: &[u8]) -> Vec<u8> {
    name.iter().map(|byte| if *byte == b'\\' { b'/' } else { byte.to_ascii_lowercase() }).collect()
}

/// Returns the name of the part `target`, as seen from a directory.
fn resolve(directory: &str, target: &str) -> String {
    let (directory, target) = target.strip_prefix('/').map_or((directory, target), |absolute| ("", absolute));
    let mut steps: Vec<&str> = Vec::new();
    for step in directory.split('/').chain(target.split('/')) {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    steps.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_relative_or_absolute() {
        for (directory, target, expected) in [
            ("", "xl/workbook.xml", "xl/workbook.xml"),
            ("", "/xl/workbook.xml", "xl/workbook.xml"),
            ("xl", "worksheets/sheet1.xml", "xl/worksheets/sheet1.xml"),
            ("xl", "/xl/styles.xml", "xl/styles.xml"),
            ("xl", "../a/./b.xml", "a/b.xml"),
            ("xl", "../../../b.xml", "b.xml"),
        ] {
            assert_eq!(resolve(directory, target), expected, "{directory} {target}");
        }
    }
}

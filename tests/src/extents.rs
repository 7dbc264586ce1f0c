//! Where the files of an ISO lie, as others see it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use crate::peers::run_text;

const BLOCK: u64 = 2048;

/// Byte ranges of files by path.
pub type Extents = BTreeMap<String, Vec<Range<u64>>>;

/// What xorriso says. Empty files lie nowhere.
pub fn by_xorriso(iso: &Path) -> Extents {
    let mut command = Command::new("xorriso");
    command.args(["-report_about", "WARNING", "-indev"]).arg(iso).args(["-find", "/", "-type", "f"]);
    let mut extents = Extents::new();
    for line in run_text(command.args(["-exec", "report_lba", "--"])).lines() {
        let Some(fields) = line.strip_prefix("File data lba:") else { continue };
        // Extent, first block, blocks, length of the file, path in quotes.
        let fields: Vec<&str> = fields.splitn(5, ',').map(str::trim).collect();
        let [_, start, blocks, size, path] = fields.as_slice() else { panic!("{line}") };
        let [start, blocks, size] = [start, blocks, size].map(|field| field.parse::<u64>().expect("a number"));
        let file = extents.entry(path.trim_matches('\'').to_owned()).or_default();
        let before: u64 = file.iter().map(|range| range.end - range.start).sum();
        let length = (blocks * BLOCK).min(size - before);
        if length > 0 {
            file.push(start * BLOCK..start * BLOCK + length);
        }
    }
    extents
}

/// What isoinfo says, by Rock Ridge's names.
pub fn by_isoinfo(iso: &Path) -> Extents {
    let listing = run_text(Command::new("isoinfo").args(["-R", "-l", "-i"]).arg(iso));
    let (mut extents, mut directory) = (Extents::new(), String::new());
    for line in listing.lines() {
        if let Some(path) = line.strip_prefix("Directory listing of ") {
            path.trim().clone_into(&mut directory);
        }
        let Some((attributes, name)) = line.split_once("]  ").filter(|_| line.starts_with('-')) else { continue };
        let (attributes, place) = attributes.split_once('[').expect("a place");
        let number = |field: Option<&str>| field.expect("a field").parse::<u64>().expect("a number");
        // Mode, links, owner, group, length.
        let size = number(attributes.split_whitespace().nth(4));
        let start = number(place.split_whitespace().next()) * BLOCK;
        if size > 0 {
            let path = format!("{directory}{}", name.strip_suffix(' ').unwrap_or(name));
            extents.entry(path).or_default().push(start..start + size);
        }
    }
    extents
}

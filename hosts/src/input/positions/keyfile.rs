//! Finds the lines of sections and keys in keyfiles.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use vocabulary::report::{LineColumn, Step};

/// The lines of the sections and the keys of a keyfile. Reads the text once: there may be a finding for each of its lines.
pub(super) struct Lines<'t>(BTreeMap<&'t str, Section<'t>>);

/// Where a section begins for the first time, and the last line of each key from there to the next section.
struct Section<'t> {
    start: usize,
    keys: BTreeMap<&'t str, usize>,
}

impl<'t> Lines<'t> {
    /// Reads a keyfile. None if it is not UTF-8.
    pub(super) fn of(content: &'t [u8]) -> Option<Self> {
        let text = std::str::from_utf8(content).ok()?;
        let mut sections: BTreeMap<&str, Section<'_>> = BTreeMap::new();
        let mut current = None;
        for (number, line) in text.lines().enumerate() {
            if let Some(line) = line.trim().strip_prefix('[') {
                current = line.strip_suffix(']').filter(|name| match sections.entry(*name) {
                    Entry::Vacant(new) => {
                        new.insert(Section { start: number, keys: BTreeMap::new() });
                        true
                    }
                    Entry::Occupied(_) => false,
                });
            } else if let Some((key, _)) = line.split_once('=')
                && let Some(section) = current.and_then(|name| sections.get_mut(name))
            {
                section.keys.insert(key.trim(), number);
            }
        }
        Some(Self(sections))
    }

    /// Returns the line that `steps` lead to (`ipv4`, `address1`): the key's, else the section's, else the first.
    pub(super) fn find(&self, steps: &[Step]) -> LineColumn {
        let at = |line: usize| LineColumn { line: line + 1, column: 1 };
        let mut keys = steps.iter().map_while(Step::as_key);
        let Some(section) = keys.next().and_then(|name| self.0.get(name)) else { return at(0) };
        let key = keys.next().and_then(|name| section.keys.get(name));
        at(key.copied().unwrap_or(section.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocabulary::report::DocumentPath;

    #[test]
    fn a_key_is_found_in_its_section() {
        let content = b"# ours\n[connection]\nid=eth0\n\n[ipv4]\nmethod=manual\nid = x\n";
        let lines = Lines::of(content).unwrap();
        let line = |keys: &str| {
            let path = keys.split_terminator('.').fold(DocumentPath::root(), |path, key| path.key(key));
            let steps: Vec<Step> = path.steps_from(&DocumentPath::root()).unwrap().into_iter().cloned().collect();
            lines.find(&steps).line
        };
        assert_eq!(
            [line("ipv4.id"), line("connection.id"), line("ipv4.dns"), line("ipv6.dns"), line("")],
            [7, 3, 5, 1, 1]
        );
    }

    #[test]
    fn the_first_of_several_sections_counts_and_the_last_of_several_keys() {
        let content = b"x=0\n [a] \nx=1\nx=2\n[open\nx=3\n[b]\nx=4\n[a]\nx=5\ny=6\n";
        let lines = Lines::of(content).unwrap();
        let line = |section: &str, key: &str| {
            let path = DocumentPath::root().key(section).key(key);
            let steps: Vec<Step> = path.steps_from(&DocumentPath::root()).unwrap().into_iter().cloned().collect();
            lines.find(&steps).line
        };
        assert_eq!(
            [line("a", "x"), line("a", "y"), line("b", "x"), line("open", "x"), line("c", "x")],
            [4, 2, 8, 1, 1]
        );
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the library has no clock; this test has one")]
    fn each_of_many_sections_is_found_at_once() {
        let text = (0..100_000).map(|number| format!("[s{number}]\na=b\n")).collect::<Vec<_>>().concat();
        let begun = std::time::Instant::now();
        let lines = Lines::of(text.as_bytes()).unwrap();
        for number in 0..100_000 {
            let path = DocumentPath::root().key(&format!("s{number}")).key("a");
            let steps: Vec<Step> = path.steps_from(&DocumentPath::root()).unwrap().into_iter().cloned().collect();
            assert_eq!(lines.find(&steps).line, 2 * number + 2);
        }
        assert!(begun.elapsed() < std::time::Duration::from_mins(1), "{:?}", begun.elapsed());
    }
}

//! Finds the lines of sections and keys in keyfiles.

use vocabulary::report::{LineColumn, Step};

/// Returns the line that `steps` lead to (`ipv4`, `address1`): the key's, else the section's, else the first.
pub(super) fn find(content: &[u8], steps: &[Step]) -> Option<LineColumn> {
    let text = std::str::from_utf8(content).ok()?;
    let at = |line: usize| LineColumn { line: line + 1, column: 1 };
    let mut keys = steps.iter().map_while(Step::as_key);
    let Some(section) = keys.next() else { return Some(at(0)) };
    let is_section =
        |line: &str| line.trim().strip_prefix('[').and_then(|line| line.strip_suffix(']')) == Some(section);
    let Some(start) = text.lines().position(is_section) else { return Some(at(0)) };
    let Some(key) = keys.next() else { return Some(at(start)) };
    let inside = text.lines().enumerate().skip(start + 1).take_while(|(_, line)| !line.trim_start().starts_with('['));
    let is_key = |line: &str| line.split_once('=').is_some_and(|(name, _)| name.trim() == key);
    let found = inside.filter(|(_, line)| is_key(line)).map(|(number, _)| number).last();
    Some(at(found.unwrap_or(start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocabulary::report::DocumentPath;

    #[test]
    fn a_key_is_found_in_its_section() {
        let content = b"# ours\n[connection]\nid=eth0\n\n[ipv4]\nmethod=manual\nid = x\n";
        let line = |keys: &str| {
            let path = keys.split_terminator('.').fold(DocumentPath::root(), |path, key| path.key(key));
            let steps: Vec<Step> = path.steps_from(&DocumentPath::root()).unwrap().into_iter().cloned().collect();
            find(content, &steps).unwrap().line
        };
        assert_eq!(
            [line("ipv4.id"), line("connection.id"), line("ipv4.dns"), line("ipv6.dns"), line("")],
            [7, 3, 5, 1, 1]
        );
    }
}

//! Takes the member `autoinstall` away from around everything else.

use super::WRAPPER;

/// Returns the lines inside the member, with less indentation. Whether they mean the same, the caller must check.
pub(super) fn unwrapped(text: &str) -> String {
    let is_wrapper = |line: &str| {
        let key = line.split_once(':').map(|(key, _)| key.trim_end().trim_matches(['"', '\'']));
        key == Some(WRAPPER)
    };
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let begins = |line: &&str| !line.trim_start().is_empty() && !line.trim_start().starts_with('#');
    let inside = || text.split_inclusive('\n').skip_while(|line| !is_wrapper(line)).skip(1);
    let width = inside().find(begins).map_or(0, indent);
    let before = text.split_inclusive('\n').take_while(|line| !is_wrapper(line));
    // Comments and blank lines may have less indentation than everything else.
    let dedented = inside().map(|line| line.get(width.min(indent(line))..).unwrap_or_default());
    before.chain(dedented).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_the_indentation_of_the_first() {
        let text = "#cloud-config\nautoinstall:\n  # first\n  version: 1\n\n  a:\n    - |\n      x\n# last\n  b: c";
        assert_eq!(unwrapped(text), "#cloud-config\n# first\nversion: 1\n\na:\n  - |\n    x\n# last\nb: c");
    }
}

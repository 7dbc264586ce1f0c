//! Names in the forms of the trees.

use crate::iso::directory::Names;

/// The form of the names that a tree of ISO 9660 or Joliet has, learnt from those in it.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is seen or not")]
pub(super) struct NameForm {
    /// Longer than eight characters and an extension of three (interchange levels 2 and up, ECMA-119 §10).
    long: bool,
    lower_case: bool,
    /// File names without a version (`;1`).
    no_version: bool,
    /// File names with one.
    version: bool,
    /// File names without an extension have no dot, either.
    no_dot: bool,
}

impl NameForm {
    pub(super) fn learn(&mut self, names: Names, raw: &[u8], directory: bool) {
        let wide = names == Names::Joliet;
        let bytes: Vec<u8> = if wide { raw.iter().skip(1).step_by(2).copied().collect() } else { raw.to_vec() };
        let mut parts = bytes.splitn(2, |byte| *byte == b';');
        let name = parts.next().unwrap_or_default();
        let versioned = parts.next().is_some();
        let dot = name.iter().position(|byte| *byte == b'.');
        let extension = dot.map_or(0, |dot| name.len() - dot - 1);
        self.long |= dot.unwrap_or(name.len()) > 8 || extension > 3;
        self.lower_case |= name.iter().any(u8::is_ascii_lowercase);
        if !directory {
            self.version |= versioned;
            self.no_version |= !versioned;
            self.no_dot |= dot.is_none();
        }
    }
}

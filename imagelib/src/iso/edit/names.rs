//! Names in the conventions of each tree.

use std::cmp::Ordering;

use crate::iso::record::Naming;

/// Characters that a Joliet name cannot have (Joliet specification, "Allowed Character Set").
const NOT_JOLIET: &str = "*/:;?\\";
/// The maximum length of a Joliet name, in UTF-16 units.
const MAX_JOLIET_UNITS: usize = 64;

/// The form of the names that a tree of ISO 9660 or Joliet has, learnt from those in it.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is seen or not")]
pub(super) struct NameStyle {
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

impl NameStyle {
    pub(super) fn learn(&mut self, names: Naming, raw: &[u8], directory: bool) {
        let name: Vec<u16> = units(names, raw).collect();
        let mut parts = name.splitn(2, |unit| *unit == u16::from(b';'));
        let name = parts.next().unwrap_or_default();
        let versioned = parts.next().is_some();
        let dot = name.iter().position(|unit| *unit == u16::from(b'.'));
        let extension = dot.map_or(0, |dot| name.len() - dot - 1);
        self.long |= dot.unwrap_or(name.len()) > 8 || extension > 3;
        self.lower_case |= name.iter().any(|unit| (u16::from(b'a')..=u16::from(b'z')).contains(unit));
        if !directory {
            self.version |= versioned;
            self.no_version |= !versioned;
            self.no_dot |= dot.is_none();
        }
    }

    /// A name of ISO 9660 that is not taken: d-characters (ECMA-119 §7.4.1), as many as the others have.
    pub(super) fn iso(&self, name: &str, directory: bool, taken: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) if !directory && !stem.is_empty() => (stem, extension),
            _ => (name, ""),
        };
        let mut extension = self.clean(extension);
        extension.truncate(if self.long { 15 } else { 3 });
        let longest = match (self.long, directory) {
            (true, true) => 31,
            (true, false) => 30 - extension.len(),
            (false, _) => 8,
        };
        let clean = self.clean(stem);
        (0..1000).find_map(|number| {
            let suffix = if number > 0 { format!("{number:03}") } else { String::new() };
            let mut name = clean.clone();
            name.truncate(longest - suffix.len());
            name += &suffix;
            if !directory {
                if !extension.is_empty() || !self.no_dot {
                    name.push('.');
                }
                name += &extension;
                if self.version || !self.no_version {
                    name += ";1";
                }
            }
            Some(name.into_bytes()).filter(|name| !taken(name))
        })
    }

    fn clean(&self, text: &str) -> String {
        let clean = |c: char| match c {
            'a'..='z' if !self.lower_case => c.to_ascii_uppercase(),
            _ if c.is_ascii_alphanumeric() => c,
            _ => '_',
        };
        text.chars().map(clean).collect()
    }

    /// A name of Joliet, or what is wrong with it.
    pub(super) fn joliet(&self, name: &str, directory: bool) -> Result<Vec<u8>, &'static str> {
        if name.chars().any(|c| NOT_JOLIET.contains(c) || c.is_control() || c.len_utf16() > 1) {
            return Err("it has a character that Joliet does not allow");
        }
        let mut units: Vec<u16> = name.encode_utf16().collect();
        if units.len() > MAX_JOLIET_UNITS {
            return Err("it is longer than 64 characters");
        }
        if self.version && !directory {
            units.extend(";1".encode_utf16());
        }
        Ok(units.into_iter().flat_map(u16::to_be_bytes).collect())
    }
}

fn units(names: Naming, raw: &[u8]) -> impl Iterator<Item = u16> {
    let width = if names == Naming::Joliet { 2 } else { 1 };
    raw.chunks(width).map(|unit| unit.iter().fold(0, |sum, byte| sum << 8 | u16::from(*byte)))
}

/// The order of records in a directory (ECMA-119 §9.3): by name, then by extension, each as if filled with spaces.
pub(super) fn compare(names: Naming, one: &[u8], other: &[u8]) -> Ordering {
    let [one, other] = [one, other].map(|raw| {
        let name: Vec<u16> = units(names, raw).take_while(|unit| *unit != u16::from(b';')).collect();
        let dot = name.iter().position(|unit| *unit == u16::from(b'.')).unwrap_or(name.len());
        let extension = name.get(dot + 1..).map(<[u16]>::to_vec).unwrap_or_default();
        (name.get(..dot).map(<[u16]>::to_vec).unwrap_or_default(), extension)
    });
    filled(&one.0, &other.0).then_with(|| filled(&one.1, &other.1))
}

fn filled(one: &[u16], other: &[u16]) -> Ordering {
    let space = u16::from(b' ');
    let unit = |units: &[u16], at: usize| units.get(at).copied().unwrap_or(space);
    let pairs = (0..one.len().max(other.len())).map(|at| unit(one, at).cmp(&unit(other, at)));
    pairs.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(names: &[&str]) -> NameStyle {
        let mut form = NameStyle::default();
        for name in names {
            form.learn(Naming::Iso, name.as_bytes(), false);
        }
        form
    }

    fn iso(form: &NameStyle, name: &str, taken: &[&str]) -> String {
        let taken = |name: &[u8]| taken.iter().any(|other| other.as_bytes() == name);
        String::from_utf8(form.iso(name, false, taken).unwrap()).unwrap()
    }

    #[test]
    fn new_names_have_the_form_of_those_that_are_there() {
        let short = form(&["BOOT.CAT;1"]);
        assert_eq!(iso(&short, "zz-network.nmconnection", &[]), "ZZ_NETWO.NMC;1");
        assert_eq!(iso(&short, "zz-network.nmconnection", &["ZZ_NETWO.NMC;1"]), "ZZ_NE001.NMC;1");
        assert_eq!(iso(&short, "README", &[]), "README.;1");
        assert_eq!(iso(&short, ".treeinfo", &[]), "_TREEINF.;1");
        assert_eq!(short.iso("a.d-directory", true, |_| false).unwrap(), b"A_D_DIRE");
        let long = form(&["a-name-that-is-long.conf", "noext"]);
        assert_eq!(iso(&long, "zz-Network.nmconnection", &[]), "zz_Network.nmconnection");
        assert_eq!(iso(&long, "README", &[]), "README");
    }

    #[test]
    fn joliet_has_no_name_for_some_names() {
        let form = form(&["a;1"]);
        assert_eq!(form.joliet("ä", false).unwrap(), b"\0\xe4\0;\x001");
        assert_eq!(form.joliet("ä", true).unwrap(), b"\0\xe4");
        for bad in ["a:b", "a\u{1f600}", "a\n", &"n".repeat(65)] {
            assert!(form.joliet(bad, false).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_come_before_extensions() {
        let mut names = [&b"AB.;1"[..], b"A.ZZ;1", b"A.;1", b"A_B.A;1", b"A"];
        names.sort_by(|one, other| compare(Naming::Iso, one, other));
        assert_eq!(names, [&b"A.;1"[..], b"A", b"A.ZZ;1", b"AB.;1", b"A_B.A;1"]);
        assert_eq!(compare(Naming::Joliet, b"\x01a\0.", b"\0z"), Ordering::Greater);
    }
}

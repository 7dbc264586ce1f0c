//! The profiles that nmstate makes: what dayone corrects in them, it corrects in these structures.
//!
//! The format is that of `GLib` (`GKeyFile`, "Key-value file parser"): a backslash begins an escape, and blanks between
//! `=` and the value are not part of it. nmstate 2.2.62 escapes nothing at all. No text of a checked document holds a
//! control character, so nmstate's output is still unambiguous line by line. [`Profile::render`] escapes the values.

/// A profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    /// The name that nmstate gives to its file.
    pub(super) name: String,
    pub(super) groups: Vec<Group>,
}

/// A group of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) name: String,
    /// Keys and values, in nmstate's order.
    pub(super) entries: Vec<(String, String)>,
}

impl Group {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find_map(|(name, value)| (name == key).then_some(value.as_str()))
    }
}

impl Profile {
    /// Reads what nmstate has written.
    pub(super) fn read((name, content): (String, String)) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for line in content.split('\n') {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                groups.push(Group { name: name.to_owned(), entries: Vec::new() });
            } else if let (Some(group), Some((key, value))) = (groups.last_mut(), line.split_once('=')) {
                group.entries.push((key.to_owned(), value.to_owned()));
            }
        }
        Self { name, groups }
    }

    /// The value of a key in a group.
    pub(super) fn get(&self, group: &str, key: &str) -> Option<&str> {
        self.groups.iter().find(|found| found.name == group)?.get(key)
    }

    /// The text of the keyfile.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        for Group { name, entries } in &self.groups {
            let separator = if text.is_empty() { "" } else { "\n" };
            text.extend([separator, "[", name, "]\n"]);
            for (key, value) in entries {
                let value = group_address(key, value).unwrap_or_else(|| escaped(value));
                text.extend([key, "=", &value, "\n"]);
            }
        }
        // It is part of a recipe, of which a server keeps thousands.
        text.shrink_to_fit();
        text
    }
}

fn escaped(value: &str) -> String {
    let text = value.trim_start_matches(' ');
    "\\s".repeat(value.len() - text.len()) + &text.replace('\\', "\\\\")
}

/// A bridge's group address, which nmstate writes as the list of its bytes in decimal.
fn group_address(key: &str, value: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = value.split(';').map(|byte| byte.parse().ok()).collect();
    let bytes = bytes.filter(|bytes| key == "group-address" && bytes.len() == 6)?;
    Some(bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslashes_and_leading_blanks_are_escaped_and_nothing_else() {
        let render = |content: &str| Profile::read((String::new(), content.to_owned())).render();
        assert_eq!(
            render("[802-1x]\neap=peap;\nidentity=LAB\\user\npassword=  a = b; \\s\n\n[user]\nx=a b \n"),
            "[802-1x]\neap=peap;\nidentity=LAB\\\\user\npassword=\\s\\sa = b; \\\\s\n\n[user]\nx=a b \n"
        );
        assert_eq!(render("[bridge]\ngroup-address=1;128;194;0;0;10\n"), "[bridge]\ngroup-address=01:80:C2:00:00:0A\n");
        assert_eq!(render("[a=b]\nk=[x]\n\n[empty]\n"), "[a=b]\nk=[x]\n\n[empty]\n");
    }
}

//! GRUB's variables, as far as a script alone says what they hold.

use std::collections::BTreeMap;

use super::lexer::ScriptWord;
use crate::boot_config::path::absolute;

/// The maximum length of a path, in bytes. No real path is longer.
const MAX_PATH_BYTES: usize = 4096;
/// How many variables are looked up for one path: they may be made of each other.
const MAX_LOOKUPS: usize = 64;
/// What a pattern has for any text.
const ANYTHING: &str = "*";

/// The variables that a script assigns. The value is `None` if the script assigns several values, or assigns one on a condition or by a
/// command.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Variables(BTreeMap<String, Option<String>>);

impl Variables {
    /// Notes what a command does to variables.
    pub(super) fn note(&mut self, words: &[ScriptWord], certain: bool) {
        let mut words = words.iter().map(|word| word.value.as_str());
        let Some(command) = words.next() else { return };
        // `set name=value`, or without `set`.
        let assignment = if command == "set" { words.clone().next() } else { Some(command) };
        if let Some((name, value)) = assignment.and_then(|assignment| assignment.split_once('=')) {
            self.assign(name, Some(value).filter(|_| certain));
            return;
        }
        match command {
            "for" | "read" | "unset" => self.assign(words.next().unwrap_or_default(), None),
            _ => {
                while let Some(option) = words.next() {
                    let name = match option {
                        "--set" | "-s" => words.next(),
                        _ => option.strip_prefix("--set="),
                    };
                    if let Some(name) = name {
                        // `regexp` numbers its results.
                        self.assign(name.rsplit(':').next().unwrap_or(name), None);
                    }
                }
            }
        }
    }

    fn assign(&mut self, name: &str, value: Option<&str>) {
        let before = self.0.get(name).map(Option::as_deref);
        let certain = value.filter(|value| before.is_none_or(|before| before == Some(*value))).map(str::to_owned);
        self.0.insert(name.to_owned(), certain);
    }

    /// What a variable is assigned, if it is; the empty text where that is not certain.
    pub(super) fn assigned(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name)?.as_deref();
        Some(value.filter(|value| !value.contains('$')).unwrap_or_default())
    }

    /// See [`crate::boot_config::BootConfig::resolve`].
    pub(in super::super) fn resolve(&self, written: &str, directory: &str) -> Option<String> {
        self.path(written, directory, None)
    }

    /// See [`crate::boot_config::BootConfig::resolve_pattern`].
    pub(in super::super) fn resolve_pattern(&self, written: &str, directory: &str) -> Option<String> {
        let pattern = self.path(written, directory, Some(ANYTHING))?;
        let (directory, name) = pattern.rsplit_once('/')?;
        // Of a name that nothing is known of, only what looks like a configuration.
        let is_likely = !name.contains(ANYTHING) || name.to_ascii_lowercase().ends_with(".cfg");
        (!directory.contains(ANYTHING) && is_likely).then_some(pattern)
    }

    /// By how many bytes a text grows when GRUB puts in its variables, `unknown` for those whose value is not certain.
    pub(in super::super) fn expansion(&self, text: &str, unknown: &str) -> usize {
        let expanded = self.expanded(text, unknown, Some(unknown));
        expanded.map_or(0, |expanded| expanded.len().saturating_sub(text.len()))
    }

    /// With `unknown` in place of variables whose value is not certain.
    fn path(&self, written: &str, directory: &str, unknown: Option<&str>) -> Option<String> {
        let path = self.expanded(without_device(written), directory, unknown)?;
        let path = without_device(&path);
        if path.starts_with('/') { absolute(path) } else { None }
    }

    fn expanded(&self, text: &str, directory: &str, unknown: Option<&str>) -> Option<String> {
        let mut text = text.to_owned();
        for _ in 0..MAX_LOOKUPS {
            let Some(start) = text.find('$') else { return Some(text) };
            let rest = text.get(start + 1..)?;
            let (name, end) = if let Some(inner) = rest.strip_prefix('{') {
                let (name, _) = inner.split_once('}')?;
                (name, start + name.len() + 3)
            } else {
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                (rest.get(..length)?, start + 1 + length)
            };
            let value = match self.0.get(name) {
                Some(value) => value.as_deref().or(unknown)?,
                // Where the loader found this script, which is where it stands unless someone says otherwise.
                None if matches!(name, "prefix" | "config_directory") => directory,
                None => unknown?,
            };
            // A device, which the variable may begin with, is not part of the path.
            let value = if start == 0 { without_device(value) } else { value };
            text = [text.get(..start)?, value, text.get(end..)?].concat();
            if text.len() > MAX_PATH_BYTES {
                return None;
            }
        }
        None
    }
}

fn without_device(path: &str) -> &str {
    path.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(path, |(_, path)| path)
}

//! Inventories in INI form: `[group]`, `[group:children]`, `[group:vars]`, and hosts followed by `key=value`.

use std::collections::BTreeSet;

use super::super::table::Cell;
use super::{ALL, Inventory, MAX_ERRORS, UNGROUPED, Variables, cell};
use crate::input::listing::quoted;
use vocabulary::report::{DocumentPath, LineColumn, Report, Reported};

enum Section {
    Hosts(String),
    Variables(String),
    Children(String),
}

/// Reads the inventory in `text`, which is at `path`.
pub(in crate::input::shapes::fleet) fn read(
    text: &[u8],
    path: &DocumentPath,
    report: &mut Report,
) -> Result<Inventory, Reported> {
    let Ok(text) = str::from_utf8(text) else {
        report.error("not-utf-8", path, "is not UTF-8 text");
        return Err(Reported);
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { inventory: Inventory::default(), declared: BTreeSet::new(), mentioned: Vec::new() };
    let mut section = Section::Hosts(UNGROUPED.to_owned());
    let mut errors = 0;
    let mut wrong = |message: String, line: usize| {
        errors += 1;
        let at = LineColumn { line, column: 1 };
        report.error_in_text("fleet-inventory", path, format!("{message} (line {line})"), Some(at));
        errors
    };
    // A line may also end in CR alone, which `str::lines` does not know.
    let text = text.replace("\r\n", "\n");
    for (number, line) in text.split(['\n', '\r']).enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Err(message) = reader.line(line, number + 1, &mut section)
            && wrong(message, number + 1) == MAX_ERRORS
        {
            break;
        }
    }
    for (group, line) in reader.mentioned {
        if !reader.declared.contains(&group) && group != ALL && group != UNGROUPED {
            let group = quoted(group.as_str());
            if wrong(format!("names the group {group}, which does not exist"), line) >= MAX_ERRORS {
                break;
            }
        }
    }
    if errors > 0 { Err(Reported) } else { Ok(reader.inventory) }
}

struct Reader {
    inventory: Inventory,
    /// Groups that have a section for hosts or children.
    declared: BTreeSet<String>,
    /// Groups that need such a section, with the line that mentions them.
    mentioned: Vec<(String, usize)>,
}

impl Reader {
    fn line(&mut self, line: &str, number: usize, section: &mut Section) -> Result<(), String> {
        if let Some(header) = line.strip_prefix('[') {
            *section = self.section(header, number)?;
            return Ok(());
        }
        match section {
            Section::Hosts(group) => {
                let mut words = words(line)?.into_iter();
                let Some(pattern) = words.next() else { return Ok(()) };
                let mut variables = Variables::new();
                for word in words {
                    let Some((key, value)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                        if line.contains("{{") {
                            return Err("has a Jinja expression, which only Ansible can evaluate".to_owned());
                        }
                        return Err("has text behind a host that is not key=value".to_owned());
                    };
                    variables.insert(key.into(), of_host(value));
                }
                self.inventory.add_hosts(group, &pattern, &variables)
            }
            Section::Variables(group) => {
                let Some((key, value)) = line.split_once('=') else {
                    return Err("has a line among a group's variables that is not key=value".to_owned());
                };
                let (key, value) = (key.trim(), value.trim());
                self.inventory.group(group)?.variables.insert(key.into(), of_group(value));
                Ok(())
            }
            Section::Children(group) => {
                let child = line.split('#').next().unwrap_or_default().trim();
                if child.is_empty() || child.contains(|c: char| c.is_whitespace() || matches!(c, ':' | ']')) {
                    return Err("has a line among a group's children that is not a group".to_owned());
                }
                self.mentioned.push((child.to_owned(), number));
                self.inventory.group(child)?;
                self.inventory.group(group)?.children.insert(child.to_owned());
                Ok(())
            }
        }
    }

    /// Parses the text behind the opening bracket of a section's line.
    fn section(&mut self, header: &str, number: usize) -> Result<Section, String> {
        let malformed = || "has a section that is not [group], [group:vars] or [group:children]".to_owned();
        let (name, behind) = header.split_once(']').ok_or_else(malformed)?;
        let behind = behind.trim_start();
        let (group, kind) = name.split_once(':').unwrap_or((name, "hosts"));
        if group.is_empty() || group.contains(char::is_whitespace) || !(behind.is_empty() || behind.starts_with('#')) {
            return Err(malformed());
        }
        self.inventory.group(group)?;
        let group = group.to_owned();
        Ok(match kind {
            "hosts" | "children" => {
                self.declared.insert(group.clone());
                if kind == "hosts" { Section::Hosts(group) } else { Section::Children(group) }
            }
            "vars" => {
                self.mentioned.push((group.clone(), number));
                Section::Variables(group)
            }
            _ => return Err(malformed()),
        })
    }
}

/// Splits a line into words as a POSIX shell does: with both kinds of quotes, backslashes and comments.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('"'), '\\') if letters.peek().is_some_and(|next| matches!(next, '"' | '\\')) => {
                word.get_or_insert_default().extend(letters.next());
            }
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '\\') => match letters.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err("ends in a backslash".to_owned()),
            },
            (None, '#') => break,
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("has a quotation mark that is never closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

/// Returns the value of a group's variable. Like Python, Ansible removes quotes around the whole value.
fn of_group(value: &str) -> Option<Cell> {
    if let Some(quoted) = Quoted::of(value) {
        return if quoted.is_whole() { cell(quoted.inside) } else { Some(Quoted::unusable()) };
    }
    if value.contains(" #") {
        return Some(Cell::Unusable(
            "has a # behind a blank, which Ansible may read as a comment; put quotes around the value".into(),
        ));
    }
    literal(value)
}

/// Returns the value of a host's variable, which is a word of the line. Ansible reads it as that of a group's, so quotes inside those of
/// the word disappear, too.
fn of_host(value: &str) -> Option<Cell> {
    match Quoted::of(value.trim_start()) {
        Some(quoted) if quoted.is_whole() => cell(quoted.inside),
        Some(quoted) if quoted.may_be_literal() => Some(Quoted::unusable()),
        _ => literal(value),
    }
}

/// A value that begins with quotes.
struct Quoted<'v> {
    inside: &'v str,
    behind: &'v str,
}

impl<'v> Quoted<'v> {
    fn of(value: &'v str) -> Option<Self> {
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (inside, behind) = value.get(1..)?.split_once(quote)?;
        Some(Self { inside, behind: behind.trim_start() })
    }

    /// Whether the quotes enclose the whole value, and mean what they seem to.
    fn is_whole(&self) -> bool {
        !self.inside.contains('\\') && (self.behind.is_empty() || self.behind.starts_with('#'))
    }

    /// Whether Python may read something else than the text: escapes, adjacent texts or a tuple.
    fn may_be_literal(&self) -> bool {
        self.inside.contains('\\') || self.behind.starts_with(['"', '\'', ','])
    }

    fn unusable() -> Cell {
        Cell::Unusable("has quotes that do not enclose the whole value".into())
    }
}

/// Returns a value without quotes. If it is a Python literal, Ansible reads it as one.
fn literal(value: &str) -> Option<Cell> {
    if value.starts_with(['[', '{', '(']) && !value.starts_with("{{") {
        return Some(Cell::Unusable("is a list or a mapping; a text belongs there".into()));
    }
    if value == "None" { None } else { cell(value) }
}

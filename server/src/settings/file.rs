//! A settings file: checks its names and values, each with its position.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use clap::Command;
use vocabulary::report::LineColumn;
use vocabulary::url_credentials;

use super::bases;
use super::definition::Setting;
use super::problem::{Place, Problem};
use super::similar::nearest;
use super::value::{fix, refused, without_environment};
use super::yaml::{self, Content, Key, Node};
use crate::arguments::Program;
use crate::store::BaseDefinition;

/// What a settings file says.
#[derive(Clone, Default)]
pub(crate) struct FileValues {
    /// The values as the command line takes them, by the setting's id.
    pub(super) values: BTreeMap<String, (String, LineColumn)>,
    /// The bases.
    pub(super) bases: Vec<(BaseDefinition, LineColumn)>,
}

impl fmt::Debug for FileValues {
    /// Without the values, which may be URLs with passwords, for example of a proxy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bases: Vec<&str> = self.bases.iter().map(|(base, _)| base.name.as_str()).collect();
        f.debug_struct("FileValues")
            .field("settings", &self.values.keys())
            .field("bases", &bases)
            .finish_non_exhaustive()
    }
}

/// Reads the text of a settings file. Returns all problems that it has.
pub(crate) fn read(program: Program, path: &Path, text: &str) -> Result<FileValues, Vec<Problem>> {
    let root = yaml::read(text).map_err(|error| {
        let place = Place::File { path: path.to_owned(), at: error.at };
        vec![Problem::error("not-yaml", place, error.message, "correct the text there")]
    })?;
    let mut reader = Reader {
        program,
        path,
        settings: program.settings(),
        command: without_environment(program),
        found: FileValues::default(),
        seen: BTreeMap::new(),
        problems: Vec::new(),
    };
    match root.content {
        Content::Null => {}
        Content::Mapping(members) => members.into_iter().for_each(|(key, node)| reader.member(&key, &node)),
        Content::Scalar(_) | Content::List(_) => reader.complain(
            "wrong-type",
            root.at,
            "a settings file is a mapping of names to values",
            "write NAME: VALUE, one setting a line",
        ),
    }
    if reader.problems.is_empty() { Ok(reader.found) } else { Err(reader.problems) }
}

struct Reader<'a> {
    program: Program,
    path: &'a Path,
    settings: Vec<Setting>,
    command: Command,
    found: FileValues,
    seen: BTreeMap<String, LineColumn>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn complain(&mut self, code: &'static str, at: LineColumn, message: impl Into<String>, fix: impl Into<String>) {
        let place = Place::File { path: self.path.to_owned(), at };
        self.problems.push(Problem::error(code, place, message, fix));
    }

    fn member(&mut self, key: &Key, node: &Node) {
        let Key { at, name } = key;
        if let Some(first) = self.seen.insert(name.clone(), *at) {
            let message = format!("{name:?} is set twice, first in line {}", first.line);
            return self.complain("set-twice", *at, message, "remove one of them");
        }
        let Some(setting) = self.settings.iter().find(|setting| setting.key == *name).cloned() else {
            let (message, fix) = self.unknown(name);
            return self.complain("unknown-setting", *at, message, fix);
        };
        if setting.is_bases() {
            return self.bases(node);
        }
        let mut texts = Vec::new();
        let delimiter = setting.delimiter.unwrap_or('\n');
        match (&node.content, setting.is_list) {
            (Content::Null, _) => return,
            (Content::Scalar(text), _) => texts.push((text.clone(), node.at)),
            (Content::List(items), true) => {
                if let (true, Some(default)) = (items.is_empty(), &setting.default) {
                    let message = format!("{name} is an empty list, and dayone would use its default: {default}");
                    return self.complain("wrong-value", node.at, message, "write a value, or remove the setting");
                }
                for item in items {
                    match &item.content {
                        // The command line would take it for several values.
                        Content::Scalar(text) if text.contains(delimiter) => {
                            let shown = url_credentials::hide_in_value(text);
                            let between = if delimiter == '\n' { "an end of a line" } else { "a comma" };
                            let message =
                                format!("{name}: {shown:?} is one item with {between}, which no value can have");
                            return self.complain("wrong-value", item.at, message, "write an item for each value");
                        }
                        Content::Scalar(text) => texts.push((text.clone(), item.at)),
                        _ => return self.wrong_type(&setting, item.at),
                    }
                }
            }
            _ => return self.wrong_type(&setting, node.at),
        }
        let before = self.problems.len();
        for (text, at) in &texts {
            if let Some(reason) = refused(&self.command, &setting, text) {
                let shown = url_credentials::hide_in_value(text);
                let message = format!("{name}: {shown:?} is not valid: {reason}");
                self.complain("wrong-value", *at, message, fix(&setting));
            }
        }
        if self.problems.len() == before && !texts.is_empty() {
            let joined = texts.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(&delimiter.to_string());
            self.found.values.insert(setting.id, (joined, *at));
        }
    }

    fn wrong_type(&mut self, setting: &Setting, at: LineColumn) {
        let form = if setting.is_list { "a list of values" } else { "one value" };
        let message = format!("{} needs {form}", setting.key);
        self.complain("wrong-type", at, message, format!("write {}: {}", setting.key, setting.value));
    }

    fn bases(&mut self, node: &Node) {
        let items = match &node.content {
            Content::Null => return,
            Content::List(items) => items,
            _ => {
                let fix = "write - name: NAME, and below it iso: PATH";
                return self.complain("wrong-type", node.at, "bases needs a list of bases", fix);
            }
        };
        for item in items {
            match bases::read(item) {
                Ok(base) if self.found.bases.iter().any(|(other, _)| other.name == base.name) => {
                    let message = format!("two bases are named '{}'", base.name);
                    self.complain("set-twice", item.at, message, "give each base its own name");
                }
                Ok(base) => self.found.bases.push((base, item.at)),
                Err(wrong) => self.complain(wrong.code, wrong.at, wrong.message, wrong.fix),
            }
        }
    }

    /// What to say about a name that is not that of a setting, and what to do.
    fn unknown(&self, name: &str) -> (String, String) {
        let plain = name.replace('_', "-").to_lowercase();
        let is_secret = |variable: &str| {
            let variable = variable.to_lowercase().replace('_', "-");
            variable == plain || variable.strip_prefix("dayone-") == Some(plain.as_str())
        };
        for program in Program::ALL {
            if let Some(secret) = program.secrets().iter().find(|secret| is_secret(secret.name)) {
                let message = format!("{name} would be {}, and this file holds no secrets", secret.meaning);
                return (message, secret.instead.to_owned());
            }
        }
        let others = Program::ALL.into_iter().filter(|program| *program != self.program);
        for program in others {
            if program.settings().iter().any(|setting| setting.key == name) {
                let message =
                    format!("{name} is a setting of dayone {}, not of dayone {}", program.name(), self.program.name());
                return (message, "remove it, or use a file for each program".to_owned());
            }
        }
        let near = nearest(&plain, self.settings.iter().map(|setting| setting.key.as_str()));
        let fix = match near {
            Some(near) => format!("did you mean {near}?"),
            None => format!("dayone {} --help lists all settings", self.program.name()),
        };
        (format!("unknown setting {name:?}"), fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_output_has_no_values() {
        let text = "https-proxy: http://user:hunter2@192.0.2.1\n";
        let values = read(Program::Controller, Path::new("a"), text).unwrap();
        assert_eq!(format!("{values:?}"), "FileValues { settings: [\"https_proxy\"], bases: [], .. }");
    }

    #[test]
    fn a_problem_is_one_line_whatever_it_quotes() {
        let text = "\"x\\ny\": 1\n\"x\\ny\": 2\nbases: [{name: a, iso: /a, profile: \"x\\ny\"}]\n";
        let problems = read(Program::Serve, Path::new("a"), text).unwrap_err();
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(shown.len() == 3 && shown[1].contains("is set twice") && shown[2].contains("x\\ny"), "{shown:?}");
        assert!(shown.iter().all(|problem| !problem.contains('\n')), "{shown:?}");
    }
}

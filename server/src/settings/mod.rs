//! The settings of the programs that serve: from a file, the environment and the command line, of which the later wins.
//!
//! The command line's definitions ([`definition`]) are the only list of settings. [`load`] reads the file ([`yaml`], [`file`]) and
//! hands its values to the command line's parser as defaults, so that one parser checks all values and decides which one counts.
//! [`check`] looks whether what the settings name is there, and [`reload`] says what a running server takes over.

mod bases;
pub mod check;
mod definition;
mod effective;
pub(crate) mod file;
mod problem;
pub mod reference;
mod reload;
mod similar;
mod value;
pub(crate) mod yaml;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};

pub use definition::{SecretVariable, Setting};
pub use effective::{Effective, Origin, Value};
pub use problem::{Place, Problem};
pub use reload::{Changes, Running};

use crate::arguments::{CommandLine, ControllerArguments, Program, ServeArguments, StaticServerArguments, refusal};
use crate::store::{BaseDefinition, BaseName};
use file::FileValues;

/// The file with the settings of `dayone serve`, unless another one is named.
pub const DEFAULT_FILE: &str = "/etc/dayone/dayone.yaml";

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The command line or a variable is wrong.
    #[error("{}", refusal::text(.0))]
    Arguments(#[from] clap::Error),
    /// dayone cannot read the file.
    #[error("cannot read the settings file {}: {}", .0.display(), .1)]
    Read(PathBuf, io::Error),
    /// The file has problems.
    #[error("{}", shown(.0))]
    Problems(Vec<Problem>),
}

fn shown(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The settings of a program.
#[derive(Clone)]
pub struct Loaded {
    /// The program.
    pub program: Program,
    /// The settings file, if there is one.
    pub path: Option<PathBuf>,
    matches: ArgMatches,
    file: FileValues,
}

impl fmt::Debug for Loaded {
    /// Without the values, which may be URLs with passwords, for example of a proxy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("program", &self.program)
            .field("path", &self.path)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// Reads the settings of a program.
pub fn load(line: &CommandLine) -> Result<Loaded, LoadError> {
    let CommandLine { program, words, overrides_itself } = line;
    let command = program.command().args_override_self(*overrides_itself);
    let matches = command.clone().try_get_matches_from(words).map_err(|error| {
        let problems = value::in_environment(*program);
        // Options that are wrong, or a request for help, are the command line's own.
        let is_about_values = command_line_alone(*program, words, *overrides_itself);
        if problems.is_empty() || !is_about_values {
            LoadError::Arguments(error)
        } else {
            LoadError::Problems(problems)
        }
    })?;
    let Some(path) = path(*program, &matches, *overrides_itself) else {
        return Ok(Loaded { program: *program, path: None, matches, file: FileValues::default() });
    };
    let text = std::fs::read_to_string(&path).map_err(|error| LoadError::Read(path.clone(), error))?;
    let file = file::read(*program, &path, &text).map_err(LoadError::Problems)?;
    let command = command.mut_args(|arg| match file.values.get(arg.get_id().as_str()) {
        Some((value, _)) => arg.default_value(value.clone()),
        None => arg,
    });
    let matches = command.try_get_matches_from(words)?;
    Ok(Loaded { program: *program, path: Some(path), matches, file })
}

/// Whether the words are valid without the environment.
fn command_line_alone(program: Program, words: &[OsString], overrides_itself: bool) -> bool {
    let command = value::without_environment(program).args_override_self(overrides_itself);
    command.try_get_matches_from(words).is_ok()
}

/// The settings file. An empty name means none.
fn path(program: Program, matches: &ArgMatches, is_drop_in: bool) -> Option<PathBuf> {
    match matches.get_one::<PathBuf>("config") {
        Some(path) if path.as_os_str().is_empty() => None,
        Some(path) => Some(path.clone()),
        None if program == Program::Serve && !is_drop_in => {
            Some(PathBuf::from(DEFAULT_FILE)).filter(|path| may_exist(path))
        }
        None => None,
    }
}

/// Whether a file is there, or dayone cannot tell. If a server took a file in a closed directory for missing, it would run without its tokens.
fn may_exist(path: &Path) -> bool {
    path.try_exists().unwrap_or(true)
}

impl Loaded {
    /// The arguments of `dayone serve`. Of two bases with the same name, the one of the command line or the environment counts.
    pub fn serve(&self) -> Result<ServeArguments, LoadError> {
        let mut arguments = ServeArguments::from_arg_matches(&self.matches)?;
        for (base, _) in &self.file.bases {
            if arguments.settings.base.iter().all(|ours| ours.name != base.name) {
                arguments.settings.base.push(base.clone());
            }
        }
        Ok(arguments)
    }

    /// The arguments of `dayone controller`.
    pub fn controller(&self) -> Result<ControllerArguments, LoadError> {
        Ok(ControllerArguments::from_arg_matches(&self.matches)?)
    }

    /// The arguments of `dayone static-server`.
    pub fn static_server(&self) -> Result<StaticServerArguments, LoadError> {
        Ok(StaticServerArguments::from_arg_matches(&self.matches)?)
    }

    /// All settings with their values, and the secret variables that are set.
    pub fn effective(&self) -> Vec<Effective> {
        let mut all: Vec<Effective> =
            self.program.settings().into_iter().map(|setting| self.effective_of(setting)).collect();
        for secret in self.program.secrets() {
            if std::env::var_os(secret.name).is_some_and(|value| !value.is_empty()) {
                all.push(Effective {
                    key: secret.name.to_owned(),
                    value: Value::Secret,
                    origin: Origin::Environment(secret.name.to_owned()),
                    is_reloaded: false,
                });
            }
        }
        all
    }

    /// The names of the bases, and where each comes from.
    fn base_origins(&self) -> Vec<(BaseName, Origin)> {
        let all = self.bases(&self.origin("bases"));
        all.into_iter().map(|(base, origin)| (base.name, origin)).collect()
    }

    /// Where the value of a setting comes from.
    pub fn origin(&self, key: &str) -> Origin {
        let setting = self.program.settings().into_iter().find(|setting| setting.key == key);
        setting.map_or(Origin::Default, |setting| self.origin_of(&setting))
    }

    fn origin_of(&self, setting: &Setting) -> Origin {
        match self.matches.value_source(&setting.id) {
            Some(ValueSource::CommandLine) => Origin::Flag(setting.flag.clone()),
            Some(ValueSource::EnvVariable) => Origin::Environment(setting.variable.clone()),
            _ => match (self.file.values.get(&setting.id), self.file.bases.first(), &self.path) {
                (Some((_, at)), _, Some(path)) => Origin::File { path: path.clone(), at: *at },
                (None, Some((_, at)), Some(path)) if setting.is_bases() => Origin::File { path: path.clone(), at: *at },
                _ => Origin::Default,
            },
        }
    }

    fn effective_of(&self, setting: Setting) -> Effective {
        let origin = self.origin_of(&setting);
        let raw = self.matches.get_raw(&setting.id).into_iter().flatten();
        let mut texts: Vec<String> = raw.map(|text| text.to_string_lossy().into_owned()).collect();
        let value = if setting.is_bases() {
            Value::Bases(self.bases(&origin))
        } else if texts.is_empty() {
            Value::Unset(setting.default)
        } else if setting.is_list {
            Value::List(texts)
        } else {
            Value::One(texts.swap_remove(0))
        };
        Effective { key: setting.key, value, origin, is_reloaded: setting.is_reloaded }
    }

    fn bases(&self, origin: &Origin) -> Vec<(BaseDefinition, Origin)> {
        let given = self.matches.get_many::<BaseDefinition>("base").into_iter().flatten();
        let mut bases: Vec<_> = given.map(|base| (base.clone(), origin.clone())).collect();
        let Some(path) = &self.path else { return bases };
        for (base, at) in &self.file.bases {
            if bases.iter().all(|(ours, _)| ours.name != base.name) {
                bases.push((base.clone(), Origin::File { path: path.clone(), at: *at }));
            }
        }
        bases
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_file_that_is_surely_not_there_counts_as_missing() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        assert!(!may_exist(&path("dayone.yaml")) && !may_exist(&path("missing/dayone.yaml")));
        // Root can look into closed directories, and follows no circle either.
        symlink(path("circle"), path("circle")).unwrap();
        assert!(may_exist(&path("circle")) && may_exist(&path("circle/dayone.yaml")));
        std::fs::write(path("dayone.yaml"), "").unwrap();
        assert!(may_exist(&path("dayone.yaml")));
    }
}

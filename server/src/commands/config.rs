//! `dayone config check`: finds mistakes in settings, and shows the values that a server would use.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use vocabulary::report::Severity;

use super::failure::Failure;
use super::findings::counted;
use super::service::{WRONG_USE, wrong_settings};
use super::table::columns;
use super::terminal::{self, ERROR, HEADING, WARNING, plain};
use crate::arguments::{CheckConfigArguments, CommandLine, ConfigFormat};
use crate::settings::check::check as check_settings;
use crate::settings::{self, Effective, LoadError, Loaded, Problem, Value};

/// The exit code if there are errors.
const ERRORS: u8 = 1;

pub(super) fn check(arguments: &CheckConfigArguments) -> ExitCode {
    let named = arguments.file.iter().flat_map(|file| [OsString::from("--config"), file.clone().into()]);
    let line = CommandLine::new(arguments.program, named.chain(arguments.options.iter().cloned()));
    let (loaded, problems) = match settings::load(&line) {
        Ok(loaded) => {
            let problems = check_settings(&loaded);
            (Some(loaded), problems)
        }
        Err(LoadError::Problems(problems)) => (None, problems),
        Err(error) => return wrong_settings(&error),
    };
    match print(arguments, loaded.as_ref(), &problems) {
        Ok(()) if problems.iter().any(Problem::is_error) => ExitCode::from(ERRORS),
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::report(&failure);
            ExitCode::from(WRONG_USE)
        }
    }
}

fn print(arguments: &CheckConfigArguments, loaded: Option<&Loaded>, problems: &[Problem]) -> Result<(), Failure> {
    let effective = loaded.map(Loaded::effective).unwrap_or_default();
    match arguments.format {
        Some(ConfigFormat::Json) => terminal::print_json(&Checked::new(arguments, loaded, &effective, problems)),
        Some(format) => {
            terminal::remark(&in_full(problems));
            match format {
                ConfigFormat::Yaml => terminal::print(&as_yaml(&effective)),
                _ => terminal::print(&as_table(&effective)),
            }
        }
        None => {
            let source = loaded.and_then(|loaded| loaded.path.as_ref()).map(|path| path.display().to_string());
            let source = source.or_else(|| arguments.file.as_ref().map(|path| path.display().to_string()));
            let source = source.unwrap_or_else(|| "no settings file".to_owned());
            let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
            let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
            let summary = format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"));
            terminal::print(&format!("{}{}: {summary}\n", in_full(problems), plain(&source)))
        }
    }
}

/// The problems as text: place, severity, message and code, and below it what to do.
fn in_full(problems: &[Problem]) -> String {
    let mut text = String::new();
    for problem in problems {
        let style = if problem.is_error() { ERROR } else { WARNING };
        let (place, message) = (plain(&problem.place.to_string()), plain(&problem.message));
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "{HEADING}{place}:{HEADING:#} {style}{}:{style:#} {message} [{}]",
            problem.severity, problem.code
        );
        if !problem.fix.is_empty() {
            let _ = writeln!(text, "    fix: {}", plain(&problem.fix));
        }
    }
    text
}

fn as_table(effective: &[Effective]) -> String {
    let rows: Vec<Vec<String>> = effective
        .iter()
        .map(|setting| vec![setting.key.clone(), setting.value.shown(), setting.origin.to_string()])
        .collect();
    columns(&["SETTING", "VALUE", "FROM"], &rows)
}

/// A settings file with the values that are not defaults of the program, each below a comment that says where it comes from.
pub(crate) fn as_yaml(effective: &[Effective]) -> String {
    let mut text = String::new();
    for setting in effective {
        let Some(value) = yaml_value(&setting.value) else { continue };
        // Writing to a String does not fail.
        let _ = writeln!(text, "# {}", plain(&setting.origin.to_string()));
        if hidden(&setting.value) != setting.value {
            let _ = writeln!(text, "# {}: (hidden, because it has a password)", setting.key);
            continue;
        }
        let mut mapping = serde_yaml::Mapping::new();
        mapping.insert(setting.key.clone().into(), value);
        // A mapping of texts always becomes a text.
        text.push_str(&serde_yaml::to_string(&mapping).unwrap_or_default());
    }
    text
}

/// A value as a settings file has it. `None` for what no file has.
fn yaml_value(value: &Value) -> Option<serde_yaml::Value> {
    // Only what dayone would write in the same way is a number: "007" may be the name of a file.
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| number.to_string() == text);
    let scalar = |text: &str| number(text).map_or_else(|| text.into(), Into::into);
    Some(match value {
        Value::Unset(_) | Value::Secret => return None,
        Value::One(text) => scalar(text),
        Value::List(texts) => texts.iter().map(|text| scalar(text)).collect::<Vec<_>>().into(),
        Value::Bases(bases) if bases.is_empty() => return None,
        Value::Bases(bases) => {
            let base = |base: &crate::store::BaseDefinition| {
                let mut fields = serde_yaml::Mapping::new();
                fields.insert("name".into(), base.name.as_str().into());
                for (role, path) in base.files.iter() {
                    fields.insert(role.word().into(), path.display().to_string().into());
                }
                if let Some(profile) = base.profile {
                    fields.insert("profile".into(), profile.to_string().into());
                }
                serde_yaml::Value::from(fields)
            };
            bases.iter().map(|(each, _)| base(each)).collect::<Vec<_>>().into()
        }
    })
}

#[derive(Serialize)]
struct Checked<'a> {
    program: &'static str,
    /// The settings file; null if there is none.
    file: Option<String>,
    settings: Vec<SettingBody>,
    problems: &'a [Problem],
}

#[derive(Serialize)]
struct SettingBody {
    name: String,
    /// Null if nobody has set it, or if it is a secret.
    value: Option<serde_yaml::Value>,
    /// What the server does without a value.
    default: Option<String>,
    /// Whether it is a secret that is set.
    secret: bool,
    from: String,
    /// Whether a running server takes a changed value over on SIGHUP.
    reload: bool,
}

impl<'a> Checked<'a> {
    fn new(
        arguments: &CheckConfigArguments,
        loaded: Option<&Loaded>,
        effective: &[Effective],
        problems: &'a [Problem],
    ) -> Self {
        let file = loaded.map_or(arguments.file.as_ref(), |loaded| loaded.path.as_ref());
        let settings = effective.iter().map(|setting| SettingBody {
            name: setting.key.clone(),
            value: match &setting.value {
                Value::One(_) | Value::List(_) => yaml_value(&hidden(&setting.value)),
                other => yaml_value(other),
            },
            default: match &setting.value {
                Value::Unset(default) => default.clone(),
                _ => None,
            },
            secret: setting.value == Value::Secret,
            from: setting.origin.to_string(),
            reload: setting.is_reloaded,
        });
        let file = file.map(|path| path.display().to_string());
        Self { program: arguments.program.name(), file, settings: settings.collect(), problems }
    }
}

/// The value without passwords in URLs.
fn hidden(value: &Value) -> Value {
    match value {
        Value::One(_) => Value::One(value.shown()),
        Value::List(texts) => Value::List(texts.iter().map(|text| Value::One(text.clone()).shown()).collect()),
        other => other.clone(),
    }
}

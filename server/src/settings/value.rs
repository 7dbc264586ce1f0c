//! Checks single values, as the command line's parser does.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseIntError};

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use vocabulary::url_credentials;

use super::definition::Setting;
use super::problem::{Place, Problem};
use crate::arguments::Program;
use crate::expected_value::expected_value;

/// The command line of a program that reads no variables, so that a value is checked alone.
pub(super) fn without_environment(program: Program) -> Command {
    program.command().mut_args(|arg| arg.env(None::<&'static str>))
}

/// Why a value is not valid. `command` is that of [`without_environment`].
pub(super) fn refused(command: &Command, setting: &Setting, text: &str) -> Option<String> {
    let words = [command.get_name().to_owned(), format!("{}={text}", setting.flag)];
    let error = command.clone().try_get_matches_from(words).err()?;
    if let Some(source) = error.source() {
        return Some(
            source.downcast_ref().map_or_else(|| source.to_string(), |error| not_a_number(command, setting, error)),
        );
    }
    Some(match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(words)) if !words.is_empty() => format!("it must be one of {}", words.join(", ")),
        _ => "the value is missing".to_owned(),
    })
}

fn not_a_number(command: &Command, setting: &Setting, error: &ParseIntError) -> String {
    if *error.kind() == IntErrorKind::PosOverflow {
        return "it is too large".to_owned();
    }
    let parser =
        command.get_arguments().find(|arg| *arg.get_id() == setting.id).map(|arg| arg.get_value_parser().type_id());
    let expected = parser.and_then(|parser| expected_value(|known| parser == known));
    expected.map_or_else(|| error.to_string(), |expected| format!("it must be {expected}"))
}

/// What to write in place of a wrong value.
pub(super) fn fix(setting: &Setting) -> String {
    match setting.value.as_str() {
        "ADDRESS" => "write an address with a port, such as 0.0.0.0:8081".to_owned(),
        "CIDR" => "write an address, or a network such as 192.0.2.0/24".to_owned(),
        "GIB" | "MIB" | "NUMBER" | "SECONDS" => "write a whole number, such as 20".to_owned(),
        value => format!("write {value} there"),
    }
}

/// The problems of values in the environment. The command line's parser says what is wrong with them, but not where they are.
pub(super) fn in_environment(program: Program) -> Vec<Problem> {
    let command = without_environment(program);
    let problem = |setting: Setting| {
        let text = std::env::var_os(&setting.variable)?.to_string_lossy().into_owned();
        let reason = refused(&command, &setting, &text)?;
        let shown = url_credentials::hide_in_value(&text);
        let message = format!("{}: {shown:?} is not valid: {reason}", setting.key);
        let fix = fix(&setting);
        Some(Problem::error("wrong-value", Place::Environment(setting.variable), message, fix))
    };
    program.settings().into_iter().filter_map(problem).collect()
}

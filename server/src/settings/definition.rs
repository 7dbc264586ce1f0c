//! What settings there are. The definitions of the command line are the only ones: the names in a file and in the environment, the
//! defaults, the checks of values and the reference all follow from them.

use clap::{Arg, ArgAction, Args as _, Command};

use super::reload;
use crate::arguments::{ControllerArguments, Program, ServeArguments, StaticServerArguments};

/// A variable that holds a secret. Settings files and command lines cannot hold it, because others may read these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretVariable {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub meaning: &'static str,
    /// How a file holds the same, as the end of a sentence.
    pub instead: &'static str,
}

const API_TOKEN: SecretVariable = SecretVariable {
    name: "DAYONE_API_TOKEN",
    meaning: "a bearer token of the API",
    instead: "write it into a file that only its owner may read, and set api-token-file",
};
const BMC_USERNAME: SecretVariable = SecretVariable {
    name: "DAYONE_BMC_USERNAME",
    meaning: "the user name for BMCs whose credentials are not named",
    instead: "write it into a file NAME/username, and set bmc-credentials",
};
const BMC_PASSWORD: SecretVariable = SecretVariable {
    name: "DAYONE_BMC_PASSWORD",
    meaning: "the password for these BMCs",
    instead: "write it into a file NAME/password, and set bmc-credentials",
};
const PULL_SECRET: SecretVariable = SecretVariable {
    name: "IRONIC_AGENT_PULL_SECRET",
    meaning: "the credentials for pulling the agent's image, in base64",
    instead: "write it into a file, and set ironic-agent-pull-secret-file",
};

impl Program {
    /// The definition of its command line.
    pub(super) fn command(self) -> Command {
        let command = Command::new(self.name());
        match self {
            Self::Serve => ServeArguments::augment_args(command),
            Self::Controller => ControllerArguments::augment_args(command),
            Self::StaticServer => StaticServerArguments::augment_args(command),
        }
    }

    /// All settings, in the order of the help text.
    pub fn settings(self) -> Vec<Setting> {
        let command = self.command();
        let settings = command.get_arguments().filter(|arg| arg.get_id() != "config").filter_map(Setting::of);
        settings.collect()
    }

    /// The variables that hold secrets.
    pub fn secrets(self) -> &'static [SecretVariable] {
        match self {
            Self::Serve => &[API_TOKEN, BMC_USERNAME, BMC_PASSWORD],
            Self::Controller | Self::StaticServer => &[PULL_SECRET],
        }
    }
}

/// A setting: an option of a program that a file and the environment can also hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The name in a settings file.
    pub key: String,
    /// The option, such as `--media-url`.
    pub flag: String,
    /// The variable.
    pub variable: String,
    /// What the value is, such as `URL`.
    pub value: String,
    /// The words that the value can be. Empty if there are others.
    pub words: Vec<String>,
    /// Whether it can have several values.
    pub is_list: bool,
    /// What the program does without it.
    pub default: Option<String>,
    /// What it does, as a sentence without a full stop.
    pub meaning: String,
    /// Whether a running server takes a changed value over on SIGHUP.
    pub is_reloaded: bool,
    /// The name in the command line's parser.
    pub(super) id: String,
    /// The character between several values in one text.
    pub(super) delimiter: Option<char>,
}

impl Setting {
    fn of(arg: &Arg) -> Option<Self> {
        let long = arg.get_long()?;
        let variable = arg.get_env()?.to_str()?;
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let (meaning, described) = split_default(&help);
        let defaults: Vec<_> = arg.get_default_values().iter().filter_map(|value| value.to_str()).collect();
        let words = arg.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
        Some(Self {
            // A file has a list of them.
            key: if long == "base" { "bases".to_owned() } else { long.to_owned() },
            flag: format!("--{long}"),
            variable: variable.to_owned(),
            value: arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default(),
            words,
            is_list: matches!(arg.get_action(), ArgAction::Append),
            default: if defaults.is_empty() { described } else { Some(defaults.join(", ")) },
            meaning,
            is_reloaded: reload::LIVE.contains(&long),
            id: arg.get_id().to_string(),
            delimiter: arg.get_value_delimiter(),
        })
    }

    /// Whether the setting is the list of bases, which a file writes in another form than the command line.
    pub(super) fn is_bases(&self) -> bool {
        self.key == "bases"
    }
}

/// Splits a help text into what the option does and the default at its end.
fn split_default(help: &str) -> (String, Option<String>) {
    let help = help.trim();
    match help.strip_suffix(']').and_then(|text| text.rsplit_once(" [default: ")) {
        Some((meaning, default)) => (meaning.to_owned(), Some(default.replace('`', ""))),
        None => (help.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A setting that one of the three places lacks would break the rule that all of them can hold every setting.
    #[test]
    fn every_option_of_a_server_has_a_variable_and_a_name_in_the_file() {
        for program in Program::ALL {
            let command = program.command();
            for arg in command.get_arguments() {
                assert!(arg.get_env().is_some(), "{program:?} {}", arg.get_id());
            }
            let settings = program.settings();
            assert_eq!(settings.len() + 1, command.get_arguments().count(), "{program:?}");
            let (keys, variables): (BTreeSet<_>, BTreeSet<_>) =
                settings.iter().map(|setting| (&setting.key, &setting.variable)).unzip();
            assert_eq!((keys.len(), variables.len()), (settings.len(), settings.len()), "{program:?}");
        }
    }

    #[test]
    fn defaults_are_split_from_what_an_option_does() {
        let split = |text| {
            let (meaning, default) = split_default(text);
            (meaning, default.unwrap_or_default())
        };
        assert_eq!(
            split("Port [default: [::]:8081, also IPv4]"),
            ("Port".to_owned(), "[::]:8081, also IPv4".to_owned())
        );
        assert_eq!(split("File (PEM)"), ("File (PEM)".to_owned(), String::new()));
    }
}

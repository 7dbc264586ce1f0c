//! Kernel command lines, and changes to them.
//!
//! White space outside double quotes separates arguments, as in the kernel's own parser (`lib/cmdline.c`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use vocabulary::checked_text;

/// Why a kernel command line, or a change to one, is invalid. Values may be secrets, so messages show only keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelArgumentError {
    /// The text is not one argument.
    #[error("the kernel argument {key:?} {reason}")]
    Argument {
        /// What stands before the first `=`.
        key: String,
        /// What is wrong, as the rest of a sentence.
        reason: &'static str,
    },
    /// The text is not a command line, for this reason.
    #[error("the kernel command line {0}")]
    CommandLine(&'static str),
    /// The text does not have the form `KEY=OLD=NEW`. With its key.
    #[error("the replacement of the kernel argument {0:?} is not of the form KEY=OLD=NEW")]
    Replacement(String),
    /// The command line lacks an argument to delete or replace.
    #[error("the command line has no kernel argument {key:?} with the given value; {available}")]
    Missing {
        /// What stands before the first `=`.
        key: String,
        /// The keys of all arguments, as a sentence.
        available: String,
    },
}

/// What stands before the first `=` of an argument. Unlike the value, it is no secret.
pub(crate) fn key_of(argument: &str) -> String {
    argument.split('=').next().unwrap_or_default().chars().take(64).collect()
}

/// An argument that reaches the kernel unchanged through every boot loader.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KernelArgument(String);

checked_text!(KernelArgument, KernelArgumentError);

impl FromStr for KernelArgument {
    type Err = KernelArgumentError;

    fn from_str(text: &str) -> Result<Self, KernelArgumentError> {
        let refuse = |reason| Err(KernelArgumentError::Argument { key: key_of(text), reason });
        let tokens = match tokens(text) {
            Ok(tokens) => tokens,
            Err(KernelArgumentError::CommandLine(reason)) => return refuse(reason),
            Err(other) => return Err(other),
        };
        if tokens.is_empty() {
            return refuse("is empty");
        }
        if tokens != [text] {
            return refuse("contains a space; give arguments one by one, or put the value into double quotes");
        }
        // GRUB and ISOLINUX read the argument from a configuration file, GRUB as a script.
        if text.starts_with('#') {
            return refuse("begins with '#', which begins a comment in the boot loaders' configuration");
        }
        if text.contains(['{', '}', '|', '&', '$', ';', '<', '>', '\\', '\'']) {
            return refuse("contains one of { } | & $ ; < > \\ ', which GRUB would change");
        }
        Ok(Self(text.to_owned()))
    }
}

impl KernelArgument {
    /// `key` with a value in base64, of which no character means anything to a boot loader.
    pub(crate) fn from_base64(key: &str, value: &str) -> Self {
        Self(format!("{key}={value}"))
    }
}

impl fmt::Debug for KernelArgument {
    /// The key only: URLs with tokens are passed this way.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelArgument({:?})", key_of(&self.0))
    }
}

/// A change of an argument's value, written `KEY=OLD=NEW`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Replacement(String);

checked_text!(Replacement, KernelArgumentError);

impl Replacement {
    /// The argument before and after the change: `KEY=OLD` and `KEY=NEW`.
    pub fn old_and_new(&self) -> (&str, String) {
        let (old, value) = self.0.rsplit_once('=').unwrap_or_default();
        let key = old.split('=').next().unwrap_or_default();
        (old, format!("{key}={value}"))
    }
}

impl FromStr for Replacement {
    type Err = KernelArgumentError;

    fn from_str(text: &str) -> Result<Self, KernelArgumentError> {
        let parts: Vec<&str> = text.split('=').collect();
        match parts.as_slice() {
            [key, old, new] if !key.is_empty() && !old.is_empty() && !new.is_empty() => {
                format!("{key}={new}").parse::<KernelArgument>()?;
                Ok(Self(text.to_owned()))
            }
            _ => Err(KernelArgumentError::Replacement(key_of(text))),
        }
    }
}

impl fmt::Debug for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Replacement({:?})", key_of(&self.0))
    }
}

/// A kernel command line: one line without control characters, with quotes in pairs.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KernelArguments(Vec<String>);

impl KernelArguments {
    /// The arguments in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends an argument, even if the line already has it: some arguments, such as `console`, count each time.
    pub fn append(&mut self, argument: &KernelArgument) {
        self.0.push(argument.0.clone());
    }

    /// Appends each of these arguments, unless the line has one of its key.
    pub(crate) fn append_missing(&mut self, arguments: &[KernelArgument]) {
        for argument in arguments {
            let key = key_of(&argument.0);
            if !self.iter().any(|own| key_of(own) == key) {
                self.append(argument);
            }
        }
    }

    /// These arguments without all arguments of a key.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        Self(self.0.iter().filter(|argument| key_of(argument) != key).cloned().collect())
    }

    /// Removes every copy of an argument, given with its value. An error if there is none.
    pub fn delete(&mut self, argument: &str) -> Result<(), KernelArgumentError> {
        let argument = argument.trim();
        self.must_have(argument)?;
        self.0.retain(|there| there != argument);
        Ok(())
    }

    /// Changes the value of every copy of an argument. An error if there is none.
    pub fn replace(&mut self, replacement: &Replacement) -> Result<(), KernelArgumentError> {
        let (old, new) = replacement.old_and_new();
        self.must_have(old)?;
        for argument in self.0.iter_mut().filter(|argument| *argument == old) {
            argument.clone_from(&new);
        }
        Ok(())
    }

    fn must_have(&self, argument: &str) -> Result<(), KernelArgumentError> {
        if self.0.iter().any(|there| there == argument) {
            return Ok(());
        }
        let keys: Vec<String> = self.iter().map(key_of).collect();
        let available =
            if keys.is_empty() { "it is empty".to_owned() } else { format!("its arguments are {}", keys.join(" ")) };
        Err(KernelArgumentError::Missing { key: key_of(argument), available })
    }
}

impl FromStr for KernelArguments {
    type Err = KernelArgumentError;

    fn from_str(line: &str) -> Result<Self, KernelArgumentError> {
        Ok(Self(tokens(line)?.into_iter().map(str::to_owned).collect()))
    }
}

impl fmt::Display for KernelArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

impl fmt::Debug for KernelArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(key_of)).finish()
    }
}

/// Changes to kernel arguments, in this order.
// It is the order in which `coreos-installer iso kargs modify` makes them.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = KernelArguments)]
pub struct KernelArgumentEdits {
    /// Arguments to remove, with their values.
    #[schema(example = json!(["mitigations=auto,nosmt"]))]
    pub delete: Vec<String>,
    /// Arguments to append.
    #[schema(value_type = Vec<String>, example = json!(["console=ttyS0,115200n8"]))]
    pub append: Vec<KernelArgument>,
    /// Values to change: `KEY=OLD=NEW`.
    #[schema(value_type = Vec<String>, example = json!(["ignition.platform.id=metal=qemu"]))]
    pub replace: Vec<Replacement>,
}

impl fmt::Debug for KernelArgumentEdits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deleted: Vec<String> = self.delete.iter().map(|argument| key_of(argument)).collect();
        f.debug_struct("KernelArgumentEdits")
            .field("delete", &deleted)
            .field("append", &self.append)
            .field("replace", &self.replace)
            .finish()
    }
}

impl KernelArgumentEdits {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.delete.is_empty() && self.append.is_empty() && self.replace.is_empty()
    }

    /// The changes from `old` to `new` as sets: deletes what only `old` has, and appends what only `new` has.
    pub fn between(old: &KernelArguments, new: &KernelArguments) -> Result<Self, KernelArgumentError> {
        let only_in = |one: &KernelArguments, other: &KernelArguments| -> Vec<String> {
            one.0.iter().filter(|argument| !other.0.contains(argument)).cloned().collect()
        };
        let append = only_in(new, old).iter().map(|argument| argument.parse()).collect::<Result<_, _>>()?;
        Ok(Self { delete: only_in(old, new), append, replace: Vec::new() })
    }

    /// Applies the changes to `arguments`. An error if an argument to delete or replace is missing.
    pub fn apply_to(&self, arguments: &KernelArguments) -> Result<KernelArguments, KernelArgumentError> {
        let mut edited = arguments.clone();
        self.delete.iter().try_for_each(|argument| edited.delete(argument))?;
        self.append.iter().for_each(|argument| edited.append(argument));
        self.replace.iter().try_for_each(|replacement| edited.replace(replacement))?;
        Ok(edited)
    }
}

fn tokens(line: &str) -> Result<Vec<&str>, KernelArgumentError> {
    if line.chars().any(char::is_control) {
        return Err(KernelArgumentError::CommandLine("contains a line break, a tab or another control character"));
    }
    let mut quoted = false;
    let parts = line.split(|c: char| {
        quoted ^= c == '"';
        c == ' ' && !quoted
    });
    let tokens = parts.filter(|part| !part.is_empty()).collect();
    if quoted {
        return Err(KernelArgumentError::CommandLine("contains a double quote that is not closed"));
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(text: &str) -> KernelArguments {
        text.parse().unwrap()
    }

    #[test]
    fn what_somebody_changed_is_found_again() {
        let (old, new) = (line("a=1 b quiet"), line("b a=2 console=ttyS0"));
        let edits = KernelArgumentEdits::between(&old, &new).unwrap();
        assert_eq!(edits.apply_to(&old).unwrap(), line("b a=2 console=ttyS0"));
        assert!(KernelArgumentEdits::between(&old, &old).unwrap().is_empty());
    }

    #[test]
    fn edits_are_applied_as_coreos_installer_does() {
        let edits: KernelArgumentEdits = serde_json::from_str(
            r#"{"delete": ["a=1"], "append": ["a=2", "console=ttyS0", "rd.x=\"p q\""], "replace": ["a=2=3"]}"#,
        )
        .unwrap();
        let edited = edits.apply_to(&line("  quiet a=1 b a=1 ")).unwrap();
        assert_eq!(edited.to_string(), "quiet b a=3 console=ttyS0 rd.x=\"p q\"");
        assert!(!edits.is_empty());
        assert_eq!(KernelArgumentEdits::default().apply_to(&edited).unwrap(), edited);
    }

    #[test]
    fn whole_arguments_are_deleted_and_never_parts() {
        let mut arguments = line("foobar foo=1 xfoo");
        let error = arguments.delete("foo").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the command line has no kernel argument \"foo\" with the given value; its arguments are foobar foo xfoo"
        );
        assert!(arguments.replace(&"foo=2=3".parse().unwrap()).is_err());
        assert_eq!(arguments, line("foobar foo=1 xfoo"));
        assert_eq!(line("").delete("a").unwrap_err().to_string().split("; ").last(), Some("it is empty"));
    }

    #[test]
    fn what_would_not_reach_the_kernel_is_refused() {
        for bad in [
            "",
            " ",
            "a b",
            " a",
            "a\nb",
            "a\tb",
            "a\0",
            "#a",
            "a;b",
            "a=$x",
            "a|b",
            "a=\"b",
            "a=x\\y",
            "a='b'",
            "url=http://x/?a&b",
        ] {
            assert!(bad.parse::<KernelArgument>().is_err(), "{bad:?}");
        }
        for bad in ["a", "a=b", "a=b=c=d", "=a=b", "a==b", "a=b=", "a=b=c;d"] {
            assert!(bad.parse::<Replacement>().is_err(), "{bad:?}");
        }
        for good in ["a", "a=b#c", "ip=[fd00::1]::[fd00::2]:64:h:eth0:none", "a=\"b c\"", "x=%20,~@^*?!`"] {
            assert_eq!(good.parse::<KernelArgument>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn values_are_not_shown() {
        let secret: KernelArgument = "ignition.config.url=https://u:pw@h/".parse().unwrap();
        let mut arguments = line("quiet");
        arguments.append(&secret);
        let replacement: Replacement = "k=pw=pw2".parse().unwrap();
        let missing = arguments.replace(&replacement).unwrap_err();
        let bad = "k=pw\n".parse::<KernelArgument>().unwrap_err();
        assert!(!format!("{secret:?} {arguments:?} {replacement:?} {missing} {missing:?} {bad}").contains("pw"));
    }

    proptest! {
        #[test]
        fn a_command_line_survives_printing(text in "[a-z=\" ,#]{0,40}") {
            if let Ok(arguments) = text.parse::<KernelArguments>() {
                prop_assert_eq!(arguments.to_string().parse::<KernelArguments>().unwrap(), arguments);
            }
        }

        #[test]
        fn any_text_is_an_argument_or_an_error(text in ".*") {
            if let Ok(argument) = text.parse::<KernelArgument>() {
                prop_assert_eq!(argument.to_string(), text);
            }
        }
    }
}

//! The options of a command `network`, as pykickstart reads them by Python's `argparse`.

use std::collections::BTreeMap;

/// What follows an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// A word of [`YES`] or [`NO`], in whatever case.
    Boolean,
    /// A word of [`PROTOCOLS`].
    Protocol,
    /// `mac`.
    Binding,
}

const YES: [&str; 4] = ["on", "yes", "true", "1"];
const NO: [&str; 4] = ["off", "no", "false", "0"];
/// The values of `--bootproto` of all releases.
const PROTOCOLS: [&str; 5] = ["dhcp", "bootp", "static", "query", "ibft"];

/// The options of all releases (`pykickstart/commands/network.py`, 3.78).
const OPTIONS: [(&str, Takes); 36] = [
    ("--activate", Takes::Nothing),
    ("--bindto", Takes::Binding),
    ("--bondopts", Takes::Value),
    ("--bondslaves", Takes::Value),
    ("--bootproto", Takes::Protocol),
    ("--bridgeopts", Takes::Value),
    ("--bridgeslaves", Takes::Value),
    ("--device", Takes::Value),
    ("--dhcpclass", Takes::Value),
    ("--essid", Takes::Value),
    ("--ethtool", Takes::Value),
    ("--gateway", Takes::Value),
    ("--hostname", Takes::Value),
    ("--interfacename", Takes::Value),
    ("--ip", Takes::Value),
    ("--ipv4-dns-search", Takes::Value),
    ("--ipv4-ignore-auto-dns", Takes::Nothing),
    ("--ipv6", Takes::Value),
    ("--ipv6-dns-search", Takes::Value),
    ("--ipv6-ignore-auto-dns", Takes::Nothing),
    ("--ipv6gateway", Takes::Value),
    ("--mtu", Takes::Value),
    ("--nameserver", Takes::Value),
    ("--netmask", Takes::Value),
    ("--no-activate", Takes::Nothing),
    ("--nodefroute", Takes::Nothing),
    ("--nodns", Takes::Nothing),
    ("--noipv4", Takes::Nothing),
    ("--noipv6", Takes::Nothing),
    ("--notksdevice", Takes::Nothing),
    ("--onboot", Takes::Boolean),
    ("--teamconfig", Takes::Value),
    ("--teamslaves", Takes::Value),
    ("--vlanid", Takes::Value),
    ("--wepkey", Takes::Value),
    ("--wpakey", Takes::Value),
];

/// Options that need another one.
const REQUIREMENTS: [(&str, &str); 5] = [
    ("--bridgeopts", "--bridgeslaves"),
    ("--ipv4-dns-search", "--device"),
    ("--ipv4-ignore-auto-dns", "--device"),
    ("--ipv6-dns-search", "--device"),
    ("--ipv6-ignore-auto-dns", "--device"),
];

/// A command `network`.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// The number of its line, from 1.
    pub(super) line: usize,
    /// Whether it is the file's first one.
    pub(super) is_first: bool,
    /// Its options; those without a value have an empty one.
    options: BTreeMap<&'static str, String>,
    /// An option that dayone does not know.
    pub(super) unknown: Option<String>,
}

/// Why the installer refuses a command.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CommandError {
    #[error("has the option {0} of network without its value")]
    NoValue(&'static str),
    #[error("has a value for the option {0} of network, which takes none")]
    NoneTaken(&'static str),
    #[error("gives the option {0} of network the value {1:?}, which it does not accept")]
    Value(&'static str, String),
    #[error("has the option {0} of network without {1}, which it requires")]
    Requires(&'static str, &'static str),
    #[error("has the option --bindto=mac of network for a VLAN, which the installer cannot bind")]
    BoundVlan,
    #[error("has the option {0:?} of network, which is short for several")]
    Ambiguous(String),
    #[error("has a word that belongs to no option of network")]
    Word,
}

impl Command {
    /// Reads the words behind the command's name.
    pub(super) fn parse(line: usize, words: &[String]) -> Result<Self, CommandError> {
        let mut command = Self { line, ..Self::default() };
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            if !is_option(word) {
                // It may be the value of the option that dayone does not know.
                if command.unknown.is_none() {
                    return Err(CommandError::Word);
                }
                continue;
            }
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_str(), None),
            };
            let Some((option, takes)) = option(name)? else {
                command.unknown = Some(name.to_owned());
                continue;
            };
            let value = match (takes, value) {
                (Takes::Nothing, None) => "",
                (Takes::Nothing, Some(_)) => return Err(CommandError::NoneTaken(option)),
                (_, Some(value)) => value,
                (_, None) => {
                    words.next_if(|word| !is_option(word)).map(String::as_str).ok_or(CommandError::NoValue(option))?
                }
            };
            let is_valid = match takes {
                Takes::Nothing | Takes::Value => true,
                Takes::Boolean => is_one_of(value, YES) || is_one_of(value, NO),
                Takes::Protocol => PROTOCOLS.contains(&value),
                Takes::Binding => value == "mac",
            };
            if !is_valid {
                return Err(CommandError::Value(option, value.to_owned()));
            }
            command.options.insert(option, value.to_owned());
        }
        command.check()?;
        Ok(command)
    }

    /// Checks what the options must have in common (`parse` of pykickstart's classes).
    fn check(&self) -> Result<(), CommandError> {
        // An option with an empty list counts as not given. These two options have no value.
        let is_given = |option: &str| match option {
            "--ipv4-ignore-auto-dns" | "--ipv6-ignore-auto-dns" => self.has(option),
            _ => self.value(option).is_some(),
        };
        let mut missing = REQUIREMENTS.iter().filter(|(option, other)| is_given(option) && !is_given(other));
        if let Some(&(option, other)) = missing.next() {
            return Err(CommandError::Requires(option, other));
        }
        // A key, and a value with no further sign.
        let is_pair =
            |pair: &str| pair.split_once('=').is_some_and(|(_, value)| !value.is_empty() && !value.contains('='));
        match self.value("--bridgeopts") {
            Some(pairs) if !pairs.split(',').all(is_pair) => Err(CommandError::Value("--bridgeopts", pairs.to_owned())),
            _ if self.has("--bindto") && is_given("--vlanid") && !is_given("--bondopts") => {
                Err(CommandError::BoundVlan)
            }
            _ => Ok(()),
        }
    }

    /// The value of an option.
    pub(super) fn get(&self, option: &str) -> Option<&str> {
        self.options.get(option).map(String::as_str)
    }

    /// The value of an option, unless it is empty, which says nothing.
    pub(super) fn value(&self, option: &str) -> Option<&str> {
        self.get(option).filter(|value| !value.is_empty())
    }

    /// Whether the command has an option.
    pub(super) fn has(&self, option: &str) -> bool {
        self.options.contains_key(option)
    }

    /// The first of these options that the command has.
    pub(super) fn first_of(&self, options: &[&'static str]) -> Option<&'static str> {
        options.iter().copied().find(|option| self.has(option))
    }

    /// Whether it says nothing but the host name: then it is about no device (`dracut/parse-kickstart`).
    pub(super) fn is_hostname_only(&self) -> bool {
        self.has("--hostname") && self.options.len() == 1 && self.unknown.is_none()
    }

    /// Whether the device does not come up at boot.
    pub(super) fn is_off_at_boot(&self) -> bool {
        self.get("--onboot").is_some_and(|value| is_one_of(value, NO))
    }

    /// Whether the device comes up neither in the installer nor at boot. By default, the installer brings up the device of the first
    /// command (`dracut/parse-kickstart`).
    pub(super) fn stays_off(&self) -> bool {
        self.is_off_at_boot() && !self.has("--activate") && (!self.is_first || self.has("--no-activate"))
    }
}

fn is_one_of(value: &str, words: [&str; 4]) -> bool {
    words.contains(&value.to_lowercase().as_str())
}

/// Whether a word begins an option. `argparse` takes negative numbers and words with spaces for values.
fn is_option(word: &str) -> bool {
    let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else { return false };
    let is_named = OPTIONS.iter().any(|(name, _)| word.split('=').next() == Some(name));
    is_named || (rest.parse::<f64>().is_err() && !word.contains(' '))
}

/// Returns the option of this name, or the only one that begins with it.
fn option(name: &str) -> Result<Option<(&'static str, Takes)>, CommandError> {
    if let Some(found) = OPTIONS.iter().find(|(option, _)| *option == name) {
        return Ok(Some(*found));
    }
    let mut found = OPTIONS.iter().filter(|(option, _)| name.starts_with("--") && option.starts_with(name));
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(CommandError::Ambiguous(name.to_owned())),
        (found, _) => Ok(found.copied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, CommandError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Command::parse(1, &words)
    }

    #[test]
    fn options_are_read_as_by_argparse() {
        let command = parsed("--dev eno1 --ip=192.0.2.1 --ip 192.0.2.2 --noipv6 --onboot=Off --mtu=").unwrap();
        assert_eq!((command.get("--device"), command.get("--ip")), (Some("eno1"), Some("192.0.2.2")));
        assert!(command.has("--noipv6") && command.is_off_at_boot() && !command.is_hostname_only());
        assert_eq!((command.get("--mtu"), command.value("--mtu"), command.get("--gateway")), (Some(""), None, None));
        assert!(parsed("--host=a").unwrap().is_hostname_only());
        assert_eq!(parsed("--new x --ip=192.0.2.1").unwrap().unknown.as_deref(), Some("--new"));
        assert_eq!(
            Command::parse(1, &["--ethtool".into(), "-K x tso".into()]).unwrap().get("--ethtool"),
            Some("-K x tso")
        );
        for (line, error) in [
            ("--ip", CommandError::NoValue("--ip")),
            ("--ip --noipv6", CommandError::NoValue("--ip")),
            ("--noipv6=yes", CommandError::NoneTaken("--noipv6")),
            ("--bootproto=DHCP", CommandError::Value("--bootproto", "DHCP".into())),
            ("--onboot maybe", CommandError::Value("--onboot", "maybe".into())),
            ("--bond=eno1", CommandError::Ambiguous("--bond".into())),
            ("eno1", CommandError::Word),
        ] {
            assert_eq!(parsed(line).unwrap_err(), error, "{line}");
        }
    }

    /// The acceptance tests compare this with pykickstart.
    #[test]
    fn options_that_need_others_are_refused_without_them() {
        for (line, error) in [
            ("--device=e --bindto=name", CommandError::Value("--bindto", "name".into())),
            ("--device=e --bindto=", CommandError::Value("--bindto", String::new())),
            ("--device=e --bindto=mac --vlanid=5", CommandError::BoundVlan),
            ("--device=b --bridgeopts=stp=on", CommandError::Requires("--bridgeopts", "--bridgeslaves")),
            ("--bridgeslaves=e --bridgeopts=stp", CommandError::Value("--bridgeopts", "stp".into())),
            ("--bridgeslaves=e --bridgeopts=stp=on,", CommandError::Value("--bridgeopts", "stp=on,".into())),
            ("--bridgeslaves=e --bridgeopts=a=b=c", CommandError::Value("--bridgeopts", "a=b=c".into())),
            ("--ipv4-dns-search=a", CommandError::Requires("--ipv4-dns-search", "--device")),
            ("--ipv6-ignore-auto-dns --device=", CommandError::Requires("--ipv6-ignore-auto-dns", "--device")),
        ] {
            assert_eq!(parsed(line).unwrap_err(), error, "{line}");
        }
        for line in [
            "--device=e --bindto=mac --vlanid=5 --bondslaves=a --bondopts=mode=1",
            "--device=e --bindto=mac",
            "--device=b --bridgeopts=",
            "--device=b --bridgeslaves=e --bridgeopts=stp=on,=x",
            "--ipv4-dns-search=",
        ] {
            assert!(parsed(line).is_ok(), "{line}");
        }
    }
}

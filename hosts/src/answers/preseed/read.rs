//! Reads the answers in a preseed file, as `debconf-set-selections` does.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

/// The answers about the network in a file. Others are not kept, because they may be secret.
pub(super) struct Preseed(BTreeMap<String, Given>);

/// An answer, and where it stands.
pub(super) struct Given {
    pub(super) value: String,
    /// The number of its line, from 1.
    pub(super) line: usize,
}

impl Preseed {
    /// Reads a file. Also returns the numbers of the lines that the installer would refuse.
    pub(super) fn read(text: &str) -> (Self, Vec<usize>) {
        let (mut found, mut invalid) = (BTreeMap::new(), Vec::new());
        let mut lines = text.lines().enumerate();
        while let Some((number, first)) = lines.next() {
            // A backslash at the end joins the next line.
            let mut line = first.to_owned();
            while let Some(begun) = line.strip_suffix('\\') {
                let begun = begun.to_owned();
                match lines.next() {
                    Some((_, next)) => line = begun + next.trim_start(),
                    None => line = begun,
                }
            }
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((question, value)) = parts(line) else {
                invalid.push(number + 1);
                continue;
            };
            if question.starts_with("netcfg/") {
                // The last answer counts.
                found.insert(question.to_owned(), Given { value: value.trim().to_owned(), line: number + 1 });
            }
        }
        (Self(found), invalid)
    }

    pub(super) fn get(&self, question: &str) -> Option<&Given> {
        self.0.get(question)
    }
}

/// Returns the question and the value of a line.
fn parts(line: &str) -> Option<(&str, &str)> {
    let (_owner, rest) = line.split_once(char::is_whitespace)?;
    let (question, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let rest = rest.trim_start();
    let (kind, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (question.contains('/') && !kind.is_empty()).then_some((question, value))
}

/// Whether an address is the wanted one. Without a prefix length, the netmask has its own answer.
pub(super) fn same_address(given: &str, wanted: &str) -> bool {
    if let (Ok(given), Ok(wanted)) = (given.parse::<IpNet>(), wanted.parse::<IpNet>()) {
        return given == wanted;
    }
    let wanted = wanted.split('/').next().unwrap_or_default();
    match (given.parse::<IpAddr>(), wanted.parse::<IpAddr>()) {
        (Ok(given), Ok(wanted)) => given == wanted,
        // An empty answer would make netcfg guess a router.
        _ => given == wanted,
    }
}

/// Whether a mask is the wanted one.
pub(super) fn same_mask(given: &str, wanted: &str) -> bool {
    matches!((given.parse::<IpAddr>(), wanted.parse::<IpAddr>()), (Ok(given), Ok(wanted)) if given == wanted)
}

/// Whether a list has the same addresses in the same order.
pub(super) fn same_list(given: &str, wanted: &str) -> bool {
    let addresses = |text: &str| text.split_whitespace().map(str::parse::<IpAddr>).collect::<Vec<_>>();
    addresses(given) == addresses(wanted)
}

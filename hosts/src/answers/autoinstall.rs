//! The autoinstall file of Subiquity, the installer of Ubuntu.
//!
//! Sources: `subiquity/server/server.py` reads `/autoinstall.yaml` of the live system in all releases; those before 24.04 do not
//! know a member `autoinstall` around everything in it. `subiquity/server/controllers/network.py` applies the member `network`, which
//! is netplan's, and writes it to the installed system as it is. The kernel argument `autoinstall` keeps the installer from asking
//! whether it may begin.

mod given;
mod insert;
mod netplan;
mod pyyaml;
mod unwrap;

use serde_yaml::{Mapping, Value};

use super::{InstalledSystem, InstallerFile};
use crate::input::{self, yaml_mapping};
use crate::yaml_text;
use vocabulary::answers::AUTOINSTALL_FILE;
use vocabulary::report::{DocumentPath, Report, Reported};

/// The member around everything else, which cloud-init requires.
const WRAPPER: &str = "autoinstall";
const NETWORK: &str = "network";
const IDENTITY: &str = "identity";
const VERSION: &str = "version";
const NOT_ADDED: &str = "is not written in a way that dayone can add the network to; write each member on lines of its own (no braces \
                         around everything)";

/// The document that findings are about.
fn document() -> DocumentPath {
    DocumentPath::document("autoinstall file")
}

fn refuse(report: &mut Report, path: &DocumentPath, message: impl Into<String>) -> Reported {
    report.refuse("answers-invalid", path, message)
}

/// Returns the completed file.
pub(super) fn complete(
    text: &str,
    system: InstalledSystem<'_>,
    report: &mut Report,
) -> Result<Vec<InstallerFile>, Reported> {
    let Read { mut content, answers, path } = read(text, report)?;
    given::check_hostname(&answers, system.hostname, &path, report)?;
    // There is one, because the network was converted for netplan.
    let wanted: Value =
        serde_yaml::from_str(system.network.network_data.as_deref().unwrap_or_default()).unwrap_or_default();
    if let Some(network) = answers.get(NETWORK) {
        let line_ends = |text: &str| text.matches('\n').count();
        let removed = line_ends(text).saturating_sub(line_ends(&content));
        given::check_plain_numbers(&content, removed, &document(), report)?;
        given::check_network(network, &wanted, &path.key(NETWORK), report)?;
    } else {
        // The installer's reader takes MAC addresses without quotes for numbers.
        let network = Mapping::from_iter([(NETWORK.into(), wanted)]);
        let written = yaml_text::document(&Value::from(network.clone()));
        let mut expected = answers;
        expected.extend(network);
        let lines = format!("# Written by dayone: the network of the host.\n{written}");
        let found = insert::places(&content, &lines).find(|text| says(text, &expected));
        content = found.ok_or_else(|| refuse(report, &document(), NOT_ADDED))?;
    }
    Ok(vec![InstallerFile { path: AUTOINSTALL_FILE.to_owned(), is_program: false, is_secret: true, content }])
}

/// The answers in a file.
struct Read {
    /// Their text, which has no wrapper.
    content: String,
    answers: Mapping,
    /// Where they are in the user's file.
    path: DocumentPath,
}

fn read(text: &str, report: &mut Report) -> Result<Read, Reported> {
    // The installer's reader skips it at the beginning of the file, and there alone.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let path = document();
    let top = yaml_mapping(text).map_err(|problem| refuse(report, &path, problem))?;
    if let Some((line, refusal)) = pyyaml::first_refusal(text) {
        return Err(refuse(report, &path, format!("line {line} {refusal}")));
    }
    check_once(&top, &path, report)?;
    let Some(wrapped) = top.get(WRAPPER) else {
        check_version(&top, &path, report)?;
        return Ok(Read { content: text.to_owned(), answers: top, path });
    };
    let others = top.keys().filter(|key| key.as_str() != Some(WRAPPER)).filter_map(Value::as_str);
    let others: Vec<&str> = others.collect();
    if !others.is_empty() {
        let message = format!(
            "has more than the member autoinstall: {}. Only cloud-init reads these, for the installer's own system, and dayone hands \
             the file to the installer",
            others.join(", ")
        );
        return Err(refuse(report, &path, message));
    }
    let path = path.key(WRAPPER);
    let Value::Mapping(answers) = wrapped else {
        return Err(refuse(report, &path, "is not a mapping"));
    };
    if answers.contains_key(WRAPPER) {
        return Err(refuse(
            report,
            &path.key(WRAPPER),
            "is a second member of this name, inside the first; remove one",
        ));
    }
    check_once(answers, &path, report)?;
    check_version(answers, &path, report)?;
    let content = unwrap::unwrapped(text);
    if !says(&content, answers) {
        return Err(refuse(report, &document(), NOT_ADDED));
    }
    Ok(Read { content, answers: answers.clone(), path })
}

/// Checks that dayone and the installer read the same: of members that appear twice, the installer takes the last one.
fn check_once(answers: &Mapping, path: &DocumentPath, report: &mut Report) -> Result<(), Reported> {
    let identity = answers.get(IDENTITY).and_then(Value::as_mapping);
    let of_identity = identity.into_iter().flatten().map(|member| (path.key(IDENTITY), member));
    let mut members = answers.iter().map(|member| (path.clone(), member)).chain(of_identity);
    match members.find(|(_, (_, value))| input::appears_twice(value)) {
        None => Ok(()),
        Some((path, (key, _))) => {
            let path = path.key(key.as_str().unwrap_or("?"));
            Err(refuse(report, &path, "appears twice in one mapping; remove one of the two"))
        }
    }
}

/// Checks that the installer knows this kind of file (`doc/reference/autoinstall-schema.rst`).
fn check_version(answers: &Mapping, path: &DocumentPath, report: &mut Report) -> Result<(), Reported> {
    match answers.get(VERSION).map(|version| version.as_u64() == Some(1)) {
        Some(true) => Ok(()),
        Some(false) => Err(refuse(report, &path.key(VERSION), "is not 1, the only version that the installer knows")),
        None => Err(refuse(report, path, "has no member version, which the installer requires; write version: 1")),
    }
}

/// Whether a changed text says what it is meant to say. dayone changes lines, and YAML has forms in which that is not possible.
fn says(content: &str, expected: &Mapping) -> bool {
    yaml_mapping(content).is_ok_and(|found| found == *expected)
}

#[cfg(test)]
mod tests;

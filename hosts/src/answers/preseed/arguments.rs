//! The answers that the installer takes from kernel arguments: `env2debconf` of the udeb `preseed-common` sets them after the installer has read
//! the file, so they override those of the file.
//!
//! The kernel gives its first process the arguments that it does not know as environment variables. It knows `hostname`, and `env2debconf`
//! asks it for that.

use super::{answers, contradicted};
use crate::answers::{InstalledSystem, installer};
use vocabulary::report::{DocumentPath, Report, Reported};

/// The short names of questions (`/etc/preseed_aliases`), as far as they matter here.
const ALIASES: [(&str, &str); 5] = [
    ("domain", "netcfg/get_domain"),
    ("file", "preseed/file"),
    ("hostname", "netcfg/get_hostname"),
    ("interface", "netcfg/choose_interface"),
    ("url", "preseed/url"),
];

/// The questions whose answers name another file.
const OTHER_FILES: [&str; 2] = ["preseed/file", "preseed/url"];

/// Whether an argument names another file.
pub(in crate::answers) fn names_other_file(argument: &str) -> bool {
    answer(argument).is_some_and(|(question, value)| OTHER_FILES.contains(&question) && !value.is_empty())
}

/// Checks that arguments answer no question otherwise than the host's documents.
pub(in crate::answers) fn check<'a>(
    arguments: impl IntoIterator<Item = &'a str>,
    system: InstalledSystem<'_>,
    place: &DocumentPath,
    report: &mut Report,
) -> Result<(), Reported> {
    let network = installer::network(&system.network.topology);
    let wanted = answers(network.as_ref(), system.hostname);
    let mut result = Ok(());
    for (question, value) in arguments.into_iter().filter_map(answer) {
        if question == "preseed/early_command" && !value.is_empty() {
            let message = "have preseed/early_command, by which the installer runs a command, and dayone does not see what that does to \
                           the network";
            report.warning("answers-unchecked", place, message);
        }
        if let Some(wanted) = contradicted(question, value, network.as_ref(), &wanted) {
            let message = format!(
                "say {question} is {value:?}, and by the host's documents it is {wanted}. Kernel arguments override the answer \
                 file; leave the argument out, or correct the one that is wrong"
            );
            result = Err(report.refuse("answers-contradict-network", place, message));
        }
    }
    result
}

/// The question that an argument answers, and the answer: `[OWNER:]QUESTION[?]=VALUE`.
fn answer(argument: &str) -> Option<(&str, &str)> {
    let (name, value) = argument.trim_matches('"').split_once('=')?;
    let name = name.strip_suffix('?').unwrap_or(name);
    let question = match ALIASES.into_iter().find(|(alias, _)| *alias == name) {
        Some((_, question)) => question,
        None => name.split_once(':').map_or(name, |(_owner, question)| question),
    };
    Some((question, value.trim_matches('"')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::testing::{STATIC, argument_findings};
    use vocabulary::answers::Installer;

    fn findings(argument: &str) -> Vec<String> {
        let mut findings = argument_findings(Installer::Preseed, STATIC, argument);
        findings.retain(|finding| finding.starts_with("kernel arguments: "));
        findings
    }

    #[test]
    fn arguments_must_agree_with_the_documents() {
        for same in [
            "interface=52:54:00:00:00:01",
            "hostname=worker-0",
            "hostname=worker-0.example.com",
            "domain=example.com",
            "netcfg/get_ipaddress=192.0.2.10",
            "netcfg/get_nameservers=\"192.0.2.53 2001:db8::53\"",
            "interface",
            "auto=true",
            "priority=critical",
            "url",
        ] {
            assert_eq!(findings(same), [""; 0], "{same}");
        }
        for (argument, question, value, wanted) in [
            ("interface=eth9", "netcfg/choose_interface", "eth9", "52:54:00:00:00:01"),
            ("interface?=eth9", "netcfg/choose_interface", "eth9", "52:54:00:00:00:01"),
            ("interface=", "netcfg/choose_interface", "", "52:54:00:00:00:01"),
            ("hostname=other", "netcfg/get_hostname", "other", "worker-0"),
            ("domain=example.org", "netcfg/get_domain", "example.org", "example.com"),
            ("netcfg/get_gateway=192.0.2.9", "netcfg/get_gateway", "192.0.2.9", "192.0.2.1"),
            ("netcfg:netcfg/enable=false", "netcfg/enable", "false", "true"),
        ] {
            let expected = format!(
                "kernel arguments: say {question} is {value:?}, and by the host's documents it is {wanted:?}. Kernel arguments override \
                 the answer file; leave the argument out, or correct the one that is wrong [answers-contradict-network]"
            );
            assert_eq!(findings(argument), [expected], "{argument}");
        }
        let command = findings("preseed/early_command=hunter2");
        assert!(command.len() == 1 && command[0].ends_with("[answers-unchecked]"), "{command:?}");
        assert!(!command[0].contains("hunter2"), "{command:?}");
    }

    #[test]
    fn arguments_that_name_a_file_are_known() {
        for argument in ["url=http://192.0.2.1/a", "url?=x", "file=/a", "preseed/url=x", "d-i:preseed/file=x"] {
            assert!(names_other_file(argument), "{argument}");
        }
        for argument in ["url", "url=", "xurl=x", "preseed/early_command=x"] {
            assert!(!names_other_file(argument), "{argument}");
        }
    }
}

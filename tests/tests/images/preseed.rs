//! Preseed files and kernel arguments, read by the Debian installer's own programs from its initramfs.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use acceptance::peers::{cache, run};
use hosts::answers::{self, InstalledSystem};
use hosts::network::{ConvertedNetwork, Target, convert_network};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;
use vocabulary::answers::{Answers, Installer};
use vocabulary::report::DocumentPath;

use super::answers::{errors, order};

const DOCUMENT: &[u8] = b"
hostname: {config: worker-0.example.com}
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1}]}
dns-resolver: {config: {server: [192.0.2.53]}}
";
/// How many generated files are read.
const FILES: usize = 150;

/// The installer's `debconf-set-selections`, with a debconf that prints the answers, one a line.
struct Reader {
    directory: TempDir,
    script: PathBuf,
}

impl Reader {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let unpack = "gzip -dc \"$0\" | cpio --quiet -id bin/busybox bin/debconf-set-selections bin/env2debconf \
                      etc/preseed_aliases 2>/dev/null && mkdir busybox && busybox --install -s busybox";
        let initrd = cache().join("debian-installer/initrd.gz");
        run(Command::new("sh").args(["-c", unpack]).arg(initrd).current_dir(&directory));
        let script = directory.path().join("bin/debconf-set-selections");
        let text = fs::read_to_string(&script).unwrap();
        let debconf = "logfile=/dev/null\nlog() { :; }\ndb_set() { printf '%s\\t%s\\n' \"$1\" \"$2\"; }\n\
                       db_fset() { :; }\n";
        let [confmodule, preseed] = [". /usr/share/debconf/confmodule\n", ". /lib/preseed/preseed.sh\n"];
        assert!(text.contains(confmodule) && text.contains(preseed), "{text}");
        fs::write(&script, text.replace(confmodule, debconf).replace(preseed, "")).unwrap();
        let arguments = directory.path().join("bin/env2debconf");
        let text = fs::read_to_string(&arguments).unwrap();
        // It must not change the host name of this machine.
        let debconf = format!("{debconf}db_metaget() {{ RET=string; }}\nhostname() {{ echo '(none)'; }}\n");
        let files = [" /etc/preseed_aliases", " /var/lib/preseed/log"];
        assert!(text.contains(confmodule) && files.iter().all(|file| text.contains(file)), "{text}");
        let text = text.replace(confmodule, &debconf).replace(files[0], " etc/preseed_aliases");
        fs::write(&arguments, text.replace(files[1], " /dev/null")).unwrap();
        Self { directory, script }
    }

    /// The question that a kernel argument answers, and the answer. The installer's own shell reads it, because others take no
    /// variables with slashes.
    fn read_argument(&self, argument: &str) -> Option<(String, String)> {
        let mut shell = Command::new("env");
        shell.args(["-i", argument]).arg("PATH=busybox").arg(self.directory.path().join("bin/busybox"));
        let said = run(shell.args(["sh", "bin/env2debconf"]).current_dir(&self.directory));
        let said = String::from_utf8(said).unwrap();
        said.lines().find_map(|line| line.split_once('\t')).map(|(question, value)| (question.into(), value.into()))
    }

    /// The answers in each of these files, or nothing where the installer stops.
    fn read(&self, files: &[String]) -> Vec<Option<BTreeMap<String, String>>> {
        let path = |index: usize| self.directory.path().join(index.to_string());
        for (index, file) in files.iter().enumerate() {
            fs::write(path(index), file).unwrap();
        }
        let each = "i=0; while [ $i -lt $1 ]; do sh \"$0\" $i > $i.out 2> $i.err || rm $i.out; i=$((i + 1)); done";
        let mut shell = Command::new("busybox/sh");
        shell.args(["-c", each]).arg(&self.script).arg(files.len().to_string());
        // Only programs that the installer has, too.
        run(shell.current_dir(&self.directory).env("PATH", self.directory.path().join("busybox")));
        let answers = |index| {
            let said = fs::read_to_string(path(index).with_extension("out")).ok()?;
            let answers = said.lines().filter_map(|line| line.split_once('\t'));
            Some(answers.map(|(question, value)| (question.to_owned(), value.trim().to_owned())).collect())
        };
        (0..files.len()).map(answers).collect()
    }
}

fn network() -> ConvertedNetwork {
    let input = hosts::input::read(DOCUMENT);
    let [host] = input.hosts.as_slice() else { panic!("one host") };
    let target = Target { files: answers::network_files(Installer::Preseed), ..Target::default() };
    convert_network(host, target).0.expect("the document is good")
}

/// The file as dayone completes it, or what dayone says.
fn completed(network: &ConvertedNetwork, text: &str) -> Result<String, Vec<String>> {
    let answers = Answers { kind: Installer::Preseed, text: text.to_owned() };
    let system = InstalledSystem { network, hostname: network.hostname.as_ref(), no_auto_default: true };
    let mut report = hosts::network::release_findings(None);
    match answers::complete(&answers, system, &mut report) {
        Ok(files) => Ok(files.into_iter().find(|file| file.path == "/preseed.cfg").expect("the file").content),
        Err(_) => Err(report.findings().iter().map(|finding| format!("{finding} [{}]", finding.code)).collect()),
    }
}

/// Files of lines that are hard to read.
fn file() -> impl Strategy<Value = String> {
    let question = select(vec!["netcfg/get_ipaddress", "netcfg/get_gateway", "netcfg/get_hostname", "a/b", "question"]);
    let value = select(vec!["192.0.2.10", "192.0.2.1", "worker-0", "", "192.0.2.11", "a b"]);
    let kind = select(vec!["string", "seen", "string ", "", "\u{b}string"]);
    let answer = (select(vec!["d-i", " d-i", "\td-i ", "d-i\r"]), question, kind, value)
        .prop_map(|(owner, question, kind, value)| format!("{owner} {question} {kind} {value}"));
    let noise =
        select(vec!["", "  ", "\r", "#", "# a b c", " # a b c d", " #", "\\", "d-i", "192.0.2.10", "\u{a0}", "-n"]);
    let line = prop_oneof![4 => answer, 3 => noise.prop_map(str::to_owned)];
    let end = select(vec!["\n", "\n", "\n", "\\\n", " \\\n", "\\\\\n", "\r\n", ""]);
    vec((line, end), 0..5).prop_map(|lines| lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect())
}

#[test]
fn the_installer_reads_from_a_file_what_dayone_reads() {
    let (reader, network) = (Reader::new(), network());
    let alone = completed(&network, "").unwrap();
    let wanted = reader.read(&[alone]).remove(0).expect("the installer reads what dayone writes");
    assert!(wanted.len() > 8, "{wanted:?}");

    let mut runner = TestRunner::deterministic();
    let files: Vec<String> = (0..FILES).map(|_| file().new_tree(&mut runner).unwrap().current()).collect();
    let results: Vec<_> = files.iter().map(|text| completed(&network, text)).collect();
    // As the installer would read a refused file with what dayone adds.
    let added = "\n# x\nd-i netcfg/mark string alone\n";
    let read: Vec<String> = files
        .iter()
        .zip(&results)
        .map(|(text, result)| match result {
            Ok(completed) => completed.clone(),
            Err(_) => format!("{text}\n{added}"),
        })
        .collect();
    let mut refused = [0; 2];
    for ((text, result), found) in files.iter().zip(&results).zip(reader.read(&read)) {
        match result {
            Ok(_) => {
                let found = found.unwrap_or_else(|| panic!("dayone accepts what the installer refuses: {text:?}"));
                for (question, value) in &wanted {
                    let same =
                        found.get(question).is_some_and(|found| value.split('/').next() == found.split('/').next());
                    assert!(same, "{question} is not {value:?} but {:?}: {text:?}", found.get(question));
                }
            }
            Err(findings) => {
                let contradicts = findings.iter().any(|finding| finding.ends_with("[answers-contradict-network]"));
                let takes =
                    found.as_ref().is_some_and(|found| found.get("netcfg/mark").is_some_and(|mark| mark == "alone"));
                if contradicts {
                    let differs = |found: &BTreeMap<String, String>| {
                        found.iter().any(|(question, value)| wanted.get(question).is_some_and(|wanted| wanted != value))
                    };
                    assert!(found.is_none_or(|found| differs(&found)), "{findings:?}: {text:?}");
                } else {
                    // The installer stops at an indented comment of one or two words, and takes a longer one for an answer.
                    let comment = findings.iter().any(|finding| finding.contains("is a comment with spaces"));
                    assert!(!takes || comment, "{findings:?}, and the installer takes {text:?}");
                }
                refused[usize::from(contradicts)] += 1;
            }
        }
    }
    assert!(refused.iter().all(|count| *count > 10) && refused.iter().sum::<usize>() < FILES - 20, "{refused:?}");
}

/// The installer takes answers from kernel arguments after those of the file.
#[test]
fn kernel_arguments_that_answer_questions_must_agree_with_the_document() {
    let (reader, network) = (Reader::new(), network());
    let system = InstalledSystem { network: &network, hostname: network.hostname.as_ref(), no_auto_default: true };
    for (argument, question, value, agrees) in [
        ("interface=eno1", "netcfg/choose_interface", "eno1", true),
        ("interface=eth9", "netcfg/choose_interface", "eth9", false),
        ("interface?=eth9", "netcfg/choose_interface", "eth9", false),
        ("interface=", "netcfg/choose_interface", "", false),
        ("hostname=worker-0", "netcfg/get_hostname", "worker-0", true),
        ("hostname=other", "netcfg/get_hostname", "other", false),
        ("domain=example.org", "netcfg/get_domain", "example.org", false),
        ("netcfg/get_gateway=192.0.2.9", "netcfg/get_gateway", "192.0.2.9", false),
        ("netcfg:netcfg/enable=false", "netcfg/enable", "false", false),
        ("priority=critical", "debconf/priority", "critical", true),
        ("url=http://192.0.2.1/a", "preseed/url", "http://192.0.2.1/a", true),
    ] {
        assert_eq!(reader.read_argument(argument), Some((question.to_owned(), value.to_owned())), "{argument}");
        let mut report = hosts::network::release_findings(None);
        let place = DocumentPath::document("kernel arguments");
        let checked = answers::check_arguments(Installer::Preseed, [argument], system, &place, &mut report);
        assert_eq!(checked.is_ok(), agrees, "{argument}: {:?}", report.findings());
        assert_eq!(answers::names_other_file(Installer::Preseed, argument), question == "preseed/url", "{argument}");
    }
}

/// An order is refused for the arguments of its own, and for those of the boot entries of its base.
#[test]
fn orders_with_arguments_for_another_file_or_network_are_refused() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let script = "
        mkdir -p initramfs/lib/debian-installer-startup.d iso/boot/grub
        echo '#!/bin/sh' > initramfs/lib/debian-installer-startup.d/S10syslog
        cp initramfs/lib/debian-installer-startup.d/S10syslog initramfs/init
        (cd initramfs && find . | cpio --quiet -o -H newc | gzip -n > ../iso/initrd.gz)
        echo kernel > iso/vmlinuz
        for argument in url=http://192.0.2.1/a interface=eth9; do
            printf 'menuentry \"%s\" {\nlinux /vmlinuz %s\ninitrd /initrd.gz\n}\n' $argument $argument >> iso/boot/grub/grub.cfg
        done
        xorriso -as mkisofs -quiet -r -J -V Debian -o plain.iso iso";
    run(Command::new("sh").args(["-ec", script]).current_dir(&directory));
    let document = std::str::from_utf8(DOCUMENT).unwrap();
    let order = |extra: &[&str]| {
        let built = order(directory.path(), &path("plain.iso"), (document, "preseed", ""), extra);
        let errors = errors(&built);
        (built.status.success(), errors)
    };
    let [no_url, no_interface] = [["--karg-delete", "url=http://192.0.2.1/a"], ["--karg-delete", "interface=eth9"]];
    let deleted = [no_url, no_interface].concat();
    for (extra, expected) in [
        (&no_interface[..], "boot entries: name an answer file, and the order has another one"),
        (&no_url[..], "boot entries: say netcfg/choose_interface is \"eth9\""),
        (&[&deleted[..], &["--karg-append", "file=/a"]].concat(), "kernel arguments: name an answer file"),
        (
            &[&deleted[..], &["--karg-append", "hostname=x"]].concat(),
            "kernel arguments: say netcfg/get_hostname is \"x\"",
        ),
    ] {
        let (is_built, errors) = order(extra);
        assert!(!is_built && errors.contains(expected), "{expected}: {errors}");
    }
}

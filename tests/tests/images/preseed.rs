//! Preseed files, read by the Debian installer's own program from its initramfs.

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
        let unpack = "gzip -dc \"$0\" | cpio --quiet -id bin/debconf-set-selections 2>/dev/null && mkdir busybox && \
                      busybox --install -s busybox";
        let initrd = cache().join("debian-installer/initrd.gz");
        run(Command::new("sh").args(["-c", unpack]).arg(initrd).current_dir(&directory));
        let script = directory.path().join("bin/debconf-set-selections");
        let text = fs::read_to_string(&script).unwrap();
        let debconf = "logfile=/dev/null\nlog() { :; }\ndb_set() { printf '%s\\t%s\\n' \"$1\" \"$2\"; }\n\
                       db_fset() { :; }\n";
        let [confmodule, preseed] = [". /usr/share/debconf/confmodule\n", ". /lib/preseed/preseed.sh\n"];
        assert!(text.contains(confmodule) && text.contains(preseed), "{text}");
        fs::write(&script, text.replace(confmodule, debconf).replace(preseed, "")).unwrap();
        Self { directory, script }
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

//! Every bad document of the fixtures is refused with its path, and leaves nothing behind; every good one is an image.

use std::fs;
use std::path::{Path, PathBuf};

use hosts::every_host::{self, EveryHost};
use hosts::input;
use hosts::network::{self, Target};
use serde_json::Value;

use super::support::{Answer, Dayone, bare_metal_host};

fn documents(directory: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(directory);
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        // A document with a list of NICs beside it is no case by itself.
        matches!(name.rsplit_once('.'), Some((stem, "yaml" | "json")) if !stem.contains(".hosts"))
            && !path.with_extension("nics").exists()
    });
    paths.sort();
    assert!(!paths.is_empty(), "{}", directory.display());
    paths
}

fn member<'a>(finding: &'a Value, key: &str) -> &'a str {
    finding[key].as_str().unwrap()
}

/// What the library says of documents, as `SEVERITY: SENTENCE`: of all hosts in them, or only what is wrong before it is
/// known for which of them an image is.
fn found_by_the_library(text: &str, of_all_hosts: bool) -> Vec<String> {
    let input = input::read(text.as_bytes());
    let report = if of_all_hosts {
        every_host::convert(input).report
    } else {
        let mut every = EveryHost::convert(input, Target::default());
        let mut report = every.take_common_findings();
        if !report.has_errors() {
            report.append(network::convert(&every.into_hosts()[0].host).1);
        }
        report
    };
    report.findings().iter().map(|finding| format!("{}: {finding}", finding.severity)).collect()
}

/// Sends documents to both endpoints that read them, and compares what is found with what the library says, and with the
/// golden file: its findings are there, each with `prefix` before its path.
async fn refused(dayone: &Dayone, path: &Path, text: &str, prefix: &str) {
    let expected = fs::read_to_string(path.with_extension("findings")).unwrap();
    for (endpoint, of_all_hosts) in [("/v1/images?base=coreos", false), ("/v1/keyfiles", true)] {
        let answer = Answer::of(dayone.post(endpoint, text)).await;
        let body = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, 422, "{endpoint} {}: {body}", path.display());
        let problem = answer.problem("documents-refused");
        let findings = problem["findings"].as_array().unwrap();
        let said = |finding: &Value| format!("{}: {}", member(finding, "severity"), member(finding, "message"));
        let said: Vec<String> = findings.iter().map(said).collect();
        assert_eq!(said, found_by_the_library(text, of_all_hosts), "{endpoint} {}", path.display());
        for finding in findings {
            let message = member(finding, "message");
            assert!(message.starts_with(member(finding, "path")), "{finding}");
            // Reading a document already refuses tags, in words of its own.
            if member(finding, "code") == "unknown-tag" {
                continue;
            }
            // What unwrapping already refuses, such as an empty text, is not the conversion's to say.
            let Some(message) = message.strip_prefix(prefix).filter(|_| !prefix.is_empty()) else { continue };
            // It may name another place of the document, too.
            let message = message.replace(prefix, "");
            assert!(expected.contains(&message), "{}: {message}\nnot in\n{expected}", path.display());
        }
        for line in expected.lines().filter(|_| prefix.is_empty()) {
            assert!(said.iter().any(|said| said == line), "{}: {line}\n{problem:#}", path.display());
        }
        assert!(!problem.to_string().contains("hunter2"), "{problem}");
    }
}

#[tokio::test]
async fn bad_documents_are_problems_with_paths() {
    let dayone = Dayone::start().await;
    for path in documents("inputs/invalid") {
        refused(&dayone, &path, &fs::read_to_string(&path).unwrap(), "").await;
    }
    assert!(dayone.place.records().is_empty());
}

#[tokio::test]
async fn bad_nmstate_is_a_problem_with_the_path_through_its_secret() {
    let dayone = Dayone::start().await;
    for path in documents("nmstate/invalid") {
        let nmstate = serde_json::Value::from(fs::read_to_string(&path).unwrap());
        let host = bare_metal_host("worker-0");
        let (_, host) = host.split_once("---\n").unwrap();
        let documents = format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: worker-0-network}}, stringData: {{nmstate: {nmstate}}}}}\n\
             ---\n{host}"
        );
        refused(&dayone, &path, &documents, "Secret/worker-0-network: stringData.nmstate: ").await;
    }
    assert!(dayone.place.records().is_empty());
}

#[tokio::test]
async fn good_documents_are_images() {
    let dayone = Dayone::start().await;
    let mut made = 0;
    for path in [documents("inputs/bare-metal-host"), documents("inputs/nmstate"), documents("scenarios")].concat() {
        let text = fs::read(&path).unwrap();
        let keyfiles = Answer::of(dayone.post("/v1/keyfiles", text.clone())).await;
        let image = Answer::of(dayone.post("/v1/images?base=coreos", text)).await;
        assert!(!image.status.is_server_error() && !keyfiles.status.is_server_error(), "{}: {image:?}", path.display());
        made += usize::from(image.status.is_success());
        assert!(keyfiles.status.is_success() || !image.status.is_success(), "{}: {keyfiles:?}", path.display());
    }
    assert!(made > 10, "only {made} images were made");
}

//! The README's commands, run as they stand there. Only places are replaced, and a place that is not found is an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::peers::run_text;
use acceptance::server::{dayone, free_address, wait_for};
use serde_json::Value;

fn root() -> PathBuf {
    fixtures("..")
}

/// The blocks of a language, in order.
fn blocks(language: &str) -> Vec<String> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let fence = format!("```{language}\n");
    let blocks = readme.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned());
    blocks.collect()
}

fn replaced(text: &str, places: &[(&str, &str)]) -> String {
    places.iter().fold(text.to_owned(), |text, (place, with)| {
        assert!(text.contains(place), "{place} is not in\n{text}");
        text.replace(place, with)
    })
}

/// A shell in `directory` that finds this build's `dayone`.
fn shell(directory: &Path, script: &str) -> Command {
    let binaries = Path::new(dayone().get_program()).parent().unwrap().to_owned();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-euc", script]).env("PATH", path).current_dir(directory).stdin(Stdio::null());
    command
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_two_commands_for_a_newcomer() {
    let [demo, test] = ["make demo", "make test"];
    let block = &blocks("sh")[0];
    assert!(block.contains(demo) && block.contains(test));
    // This test is a part of `make test`.
    run_text(&mut shell(&root(), "make --dry-run test"));
    let shown = run_text(&mut shell(&root(), demo));
    assert!(shown.contains("address0=192.168.111.110/24"), "{shown}");
}

#[test]
fn the_server_and_what_is_posted_to_it() {
    let blocks_of_shell = blocks("sh");
    let [_, serve, post, download, ..] = blocks_of_shell.as_slice() else { panic!("{blocks_of_shell:?}") };
    let directory = tempfile::tempdir().unwrap();
    let (api, media) = (free_address(), free_address());
    let base = coreos_iso(&[]);
    let host = fixtures("scenarios").join("static-ipv4-baremetalhost.yaml");
    fs::copy(&host, directory.path().join("host.yaml")).unwrap();
    let serve = replaced(
        serve,
        &[
            ("/var/lib/dayone", directory.path().join("data").to_str().unwrap()),
            ("/srv/fedora-coreos-live.x86_64.iso", base.to_str().unwrap()),
            ("127.0.0.1:8080", &api),
            ("0.0.0.0:8081", &media),
            ("192.0.2.10:8081", &media),
        ],
    );
    let mut server = shell(directory.path(), &format!("exec {serve}"));
    let _server = Ended(server.stderr(Stdio::null()).spawn().unwrap());
    wait_for(&format!("http://{api}/readyz"), Duration::from_secs(30), String::new);

    let answer = run_text(&mut shell(directory.path(), &replaced(post, &[("127.0.0.1:8080", &api)])));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let shown: Value = serde_json::from_str(&blocks("json")[0]).unwrap();
    for key in shown.as_object().unwrap().keys() {
        assert!(answer.get(key).is_some(), "{key} is not in {answer}");
    }
    let url = answer["url"].as_str().unwrap();
    let served = reqwest::blocking::get(url).unwrap().bytes().unwrap();
    run_text(&mut shell(directory.path(), &replaced(download, &[("127.0.0.1:8080", &api)])));
    assert!(served == fs::read(directory.path().join("host.iso")).unwrap(), "what is served is not what is downloaded");
    assert_eq!(served.len(), fs::read(&base).unwrap().len());
}

#[test]
fn the_commands_without_a_server() {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"), directory.path().join("host.yaml")).unwrap();
    fs::copy(coreos_iso(&[]), directory.path().join("live.iso")).unwrap();
    let page = fs::read_to_string(root().join("docs/fleet.md")).unwrap();
    for (language, name) in [("yaml", "fleet.yaml"), ("csv", "hosts.csv")] {
        let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
        fs::write(directory.path().join(name), rest.split("```").next().unwrap()).unwrap();
    }
    let shown = run_text(&mut shell(directory.path(), &blocks("sh")[4]));
    assert!(shown.contains("address0=192.168.111.110/24"), "{shown}");
    assert!(shown.contains("etc/coreos-firstboot-network/enp2s0.nmconnection"), "{shown}");
}

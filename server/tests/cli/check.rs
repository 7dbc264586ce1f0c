use std::fs;
use std::process::{Command, Stdio};

use hosts::{every_host, input};

use super::images::Place;
use super::inspect::ramdisk_with_network_manager;
use super::{cases_with_findings, dayone, fixture, golden, run, run_with_input};

const GOOD: &str = "inputs/bare-metal-host/two-hosts.yaml";
const BAD: &str = "inputs/invalid/several-errors-in-one-host.yaml";

#[test]
fn every_invalid_document_gives_its_findings_and_exit_code_1() {
    for expected in cases_with_findings("inputs/invalid") {
        let document = ["yaml", "json"].map(|extension| expected.with_extension(extension));
        let document = document.iter().find(|path| path.exists()).unwrap();
        let ended = run(&["check", "--short", document.to_str().unwrap()]);
        assert_eq!((ended.code, ended.err.as_str()), (1, ""), "{}", document.display());
        let lines: Vec<&str> = ended.out.lines().collect();
        let (summary, lines) = lines.split_last().unwrap();
        let mut said: Vec<String> = lines.iter().map(|line| sentence(line, document.to_str().unwrap())).collect();
        said.sort();
        // What is wrong with the document, and what there is to say of the networks of those hosts that could be read.
        let library = every_host::convert(input::read(&fs::read(document).unwrap())).report;
        let mut library: Vec<_> =
            library.findings().iter().map(|finding| format!("{}: {finding}", finding.severity)).collect();
        library.sort();
        assert_eq!(said, library, "{}", document.display());
        for line in fs::read_to_string(&expected).unwrap().lines() {
            assert!(said.iter().any(|sentence| sentence == line), "{}: {line}: {said:?}", document.display());
        }
        assert!(summary.contains("error"), "{summary}");
    }
}

/// The severity and the sentence of a finding's line, without its place before it and what is behind.
fn sentence(line: &str, file: &str) -> String {
    let line = line.rsplit_once(" [").unwrap().0;
    let line = match line.strip_prefix(file) {
        Some(place) => place.split_once(": ").unwrap().1,
        None => line,
    };
    let within = line.rsplit_once(" (line ").filter(|(_, place)| place.ends_with(" of the text there)"));
    within.map_or(line, |(sentence, _)| sentence).to_owned()
}

#[test]
fn every_invalid_network_gives_its_findings_and_exit_code_1() {
    for expected in cases_with_findings("nmstate/invalid") {
        let document = expected.with_extension("yaml");
        let ended = run(&["check", "--format", "json", document.to_str().unwrap()]);
        assert_eq!(ended.code, 1, "{}: {}", document.display(), ended.err);
        let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        let text = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap().to_owned();
        // What is no NMState document at all is refused before its network is looked at.
        let code = text(&json["findings"][0], "code");
        if ["document-not-read", "no-document", "unknown-tag"].contains(&code.as_str()) {
            continue;
        }
        let findings = json["findings"].as_array().unwrap().iter();
        let findings = findings.map(|finding| {
            format!("{} {}: {}\n", text(finding, "severity"), text(finding, "code"), text(finding, "message"))
        });
        assert_eq!(findings.collect::<String>(), fs::read_to_string(&expected).unwrap(), "{}", document.display());
    }
}

#[test]
fn warnings_alone_are_exit_code_0() {
    let document = fixture("inputs/bare-metal-host/unused-secret-and-other-kinds.yaml");
    let ended = run(&["check", document.to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{}", ended.out);
    assert!(ended.out.contains("warning: ") && ended.out.contains("no errors, "), "{}", ended.out);
}

#[test]
fn standard_input_is_read_like_a_file() {
    let document = fs::read(fixture(GOOD)).unwrap();
    let ended = run_with_input(&["check", "-"], &document);
    assert_eq!((ended.code, ended.out.as_str()), (0, "2 hosts: no errors, no warnings\n"));
    assert_eq!(run(&["check", "-", "-"]).code, 2);
}

#[test]
fn several_files_are_one_set_and_findings_name_them() {
    let directory = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(fixture("inputs/bare-metal-host/same-data.yaml")).unwrap();
    let (first, second) = text.split_once("\n---\n").unwrap();
    fs::write(directory.path().join("host.yaml"), first).unwrap();
    fs::write(directory.path().join("secret.yaml"), second).unwrap();
    fs::write(directory.path().join("other.yaml"), "a: 1").unwrap();
    let check = |files: &[&str]| {
        super::ended(dayone().current_dir(directory.path()).arg("check").args(files).output().unwrap())
    };
    assert_eq!(check(&["host.yaml", "secret.yaml"]).code, 0);
    assert_eq!(check(&["host.yaml"]).code, 1);
    let out = check(&["host.yaml", "secret.yaml", "other.yaml"]).out;
    assert!(out.starts_with("other.yaml:1:1: warning: document 1: has neither a kind nor"), "{out}");
}

#[test]
fn a_finding_has_a_place_an_effect_and_a_fix() {
    let directory = tempfile::tempdir().unwrap();
    let network = "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  ipv4:\n    address:\n    - ip: 192.0.2.1\n      \
                   prefix-length: 24\n";
    let secret = network.replace('\n', "\n    ");
    let documents = format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: worker-0}}\nspec: \
         {{preprovisioningNetworkDataName: net}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: \
         net}}\nstringData:\n  nmstate: |\n    {secret}\n"
    );
    fs::write(directory.path().join("worker-0.yaml"), documents).unwrap();
    let check = |arguments: &[&str]| {
        super::ended(dayone().current_dir(directory.path()).arg("check").args(arguments).output().unwrap())
    };
    let line = "worker-0.yaml:15:7: error: Secret/net: stringData.nmstate: interfaces[0].ipv4 does not set enabled, and \
                without it nmstate disables ipv4; add enabled: true [ip-not-enabled]\n";
    let summary = "1 host: 1 error, no warnings\n";
    assert_eq!(check(&["--short", "worker-0.yaml"]).out, format!("{line}{summary}"));
    let full = check(&["worker-0.yaml"]).out;
    let explanation = vocabulary::report::explain("ip-not-enabled").unwrap();
    let below = format!("    effect: {}\n    fix:    {}\n", explanation.effect, explanation.fix);
    assert_eq!(full, format!("{line}{below}{summary}"));
    let json: serde_json::Value = serde_json::from_str(&check(&["--format", "json", "worker-0.yaml"]).out).unwrap();
    let finding = &json["findings"][0];
    assert_eq!(finding["position"], serde_json::json!({"file": "worker-0.yaml", "line": 15, "column": 7}));
    assert_eq!(finding["effect"], explanation.effect);
    assert_eq!(finding["fix"], explanation.fix);
}

#[test]
fn codes_are_explained() {
    let explained = run(&["explain", "ip-not-enabled"]);
    assert_eq!(explained.code, 0);
    assert!(explained.out.contains("\nFix: Add enabled: true"), "{}", explained.out);
    let all = run(&["explain"]).out;
    assert_eq!(all.lines().count(), vocabulary::report::explanations().len());
    let json: serde_json::Value = serde_json::from_str(&run(&["explain", "--format", "json"]).out).unwrap();
    assert_eq!(json["explanations"].as_array().unwrap().len(), all.lines().count());
    let unknown = run(&["explain", "ip-not-enable"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    assert!(unknown.err.contains("similar are: ip-not-enabled"), "{}", unknown.err);
}

#[test]
fn json_is_for_programs() {
    let check = |document: &str| {
        let arguments = ["check", "--format", "json", document];
        super::ended(dayone().current_dir(fixture("")).args(arguments).output().unwrap())
    };
    let bad = check(BAD);
    assert_eq!((bad.code, bad.err.as_str()), (1, ""));
    golden("check-errors.json", &bad.out);
    let good = check(GOOD);
    assert_eq!(good.code, 0);
    golden("check-good.json", &good.out);
}

#[test]
fn what_cannot_be_read_is_exit_code_2_with_a_sentence() {
    let ended = run(&["check", "/nonexistent.yaml"]);
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
    assert_eq!(ended.err, "dayone: cannot read /nonexistent.yaml: No such file or directory (os error 2)\n");
    // An empty directory can be read. That it has no documents is an error in the input: 1, not 2.
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(run(&["check", empty.path().to_str().unwrap()]).code, 1);
}

#[test]
fn colours_are_for_terminals() {
    let plain = run(&["check", fixture(BAD).to_str().unwrap()]);
    assert!(!plain.out.contains('\x1b'));
    // script(1) is the other end of a pseudo-terminal.
    let on_terminal = |command: &str, environment: &[(&str, &str)]| {
        let output = Command::new("script")
            .args(["-qec", &format!("{} {command}", env!("CARGO_BIN_EXE_dayone")), "/dev/null"])
            .env_remove("NO_COLOR")
            .env("TERM", "xterm")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).unwrap()
    };
    let check = format!("check {}", fixture(BAD).display());
    let coloured = on_terminal(&check, &[]);
    assert!(coloured.contains("\x1b[1m\x1b[31merror:"), "{coloured:?}");
    // A server does not start without the directory above its data, and its log says so.
    let serve = "serve --config= --media-url http://192.0.2.1:8081 --api-listen 127.0.0.1:0 --media-listen 127.0.0.1:0 \
                 --data-dir /nowhere/data";
    let coloured = on_terminal(serve, &[]);
    assert!(coloured.contains('\x1b') && coloured.contains("/nowhere/data"), "{coloured:?}");
    for command in [check.as_str(), serve] {
        let plain = on_terminal(command, &[("NO_COLOR", "1")]);
        assert!(!plain.contains('\x1b') && !plain.is_empty(), "{plain:?}");
    }
}

/// What is wrong with a whole file names the file, and a URL is told from a file that is missing.
#[test]
fn what_is_wrong_with_a_whole_file_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let check = |file: &str, content: Option<&[u8]>| {
        if let Some(content) = content {
            fs::write(directory.path().join(file), content).unwrap();
        }
        super::ended(dayone().current_dir(directory.path()).args(["check", "--short", file]).output().unwrap())
    };
    let latin = check("latin.yaml", Some(b"a: 1\nb: \xe9\n"));
    assert!(latin.out.starts_with("latin.yaml:2:4: error: the input is not UTF-8 text: byte 8"), "{}", latin.out);
    let empty = check("empty.yaml", Some(b""));
    assert!(empty.out.starts_with("empty.yaml:1:1: error: the input contains no document"), "{}", empty.out);
    assert!(!empty.out.contains("data-binary") && !run(&["explain", "no-document"]).out.contains("data-binary"));
    let packed = check("packed.yaml.gz", Some(b"\x1f\x8b\x08 broken"));
    assert!(packed.out.starts_with("packed.yaml.gz:1:1: error: the input "), "{}", packed.out);
    let url = check("https://example.com/worker-0.yaml", None);
    assert!(url.code == 2 && url.err.contains("is a URL, and dayone reads documents from files"), "{}", url.err);
    let base = run(&["check", "--base", "https://example.com/live.iso", fixture(GOOD).to_str().unwrap()]);
    assert!(base.code == 2 && base.err.contains("is a URL, and dayone reads bases from files"), "{}", base.err);
}

/// Hosts that use DHCP are no failure, and nothing can be built for them.
#[test]
fn hosts_without_a_network_are_no_failure() {
    for name in ["agent-config/dhcp-only", "agent-config/no-hosts", "bare-metal-host/without-network-data"] {
        let document = fixture(&format!("inputs/{name}.yaml"));
        let ended = run(&["check", "--short", document.to_str().unwrap()]);
        assert!(ended.code == 0 && ended.out.contains("0 hosts: no errors, "), "{name}: {}", ended.out);
        let built = run(&["build", "--format", "data", "--data", "config-2", document.to_str().unwrap(), "-o", "-"]);
        assert!(built.code == 1 && built.err.contains("describe no host that has a network"), "{name}: {}", built.err);
        assert!(built.err.contains("warning: "), "{name}: {}", built.err);
    }
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let many: String = (0..2000)
        .map(|n| {
            format!("---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: h{n}}}\nspec: {{bootMACAddress: x}}\n")
        })
        .collect();
    let mut child = dayone()
        .args(["check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), many.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0));
}

#[test]
fn documents_are_checked_for_the_named_release_or_that_of_a_base() {
    let place = Place::new();
    let document = fixture("nmstate/every-bond-option/nmstate.yaml");
    let document = document.to_str().unwrap();
    let check = |arguments: &[&str]| run(&[&["check", "--short"], arguments, &[document]].concat());
    let assumed = check(&[]);
    assert!(
        assumed.out.contains("1.42, which dayone assumes, ignores it") && !assumed.out.contains("(for "),
        "{}",
        assumed.out
    );
    let newer = check(&["--network-manager", "1:1.52.0-1.fc42"]);
    assert_eq!((newer.code, newer.err.as_str()), (0, ""));
    assert_eq!(newer.out, "1 host: no errors, no warnings (for NetworkManager 1.52.0)\n");
    let known = place.write("known", ramdisk_with_network_manager("1.42.4"));
    let of_base = check(&["--base", &known]);
    assert!(
        of_base.out.contains("needs NetworkManager 1.44 or later: the host has 1.42.4, which ignores it"),
        "{}",
        of_base.out
    );
    assert!(of_base.out.ends_with(" (for NetworkManager 1.42.4)\n") && of_base.err.is_empty(), "{}", of_base.out);
    place.unpack("coreos.iso");
    let unknown = check(&["--base", place.path().join("coreos.iso").to_str().unwrap()]);
    assert_eq!(unknown.out, assumed.out);
    assert_eq!(unknown.err, "the base does not show its release of NetworkManager; dayone assumes 1.42\n");

    let json = |arguments: &[&str]| {
        let ended = run(&[&["check", "--format", "json"], arguments, &[document]].concat());
        serde_json::from_str::<serde_json::Value>(&ended.out).unwrap()["network_manager"].clone()
    };
    assert_eq!(json(&[]), serde_json::json!({"version": "1.42.4", "assumed": true}));
    assert_eq!(json(&["--base", &known]), serde_json::json!({"version": "1.42.4", "assumed": false}));

    // What would be refused is an error where the release is known.
    let loopback = fixture("keyfiles/loopback.nmconnection");
    let loopback = loopback.to_str().unwrap();
    assert_eq!(run(&["check", loopback]).code, 0);
    let refused = run(&["check", "--short", "--network-manager", "1.40.0", loopback]);
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.out.contains("1.40.0, which refuses the whole profile"), "{}", refused.out);
    let old = run(&["check", "--short", "--network-manager", "1.26.0", document]);
    assert!(old.out.contains("the host's NetworkManager, 1.26.0, is older than 1.30"), "{}", old.out);

    for arguments in [&["--network-manager", "new"][..], &["--network-manager", "1.54", "--base", &known]] {
        assert_eq!(check(arguments).code, 2, "{arguments:?}");
    }
}

#[test]
fn an_image_says_what_the_release_of_its_base_lacks() {
    let place = Place::new();
    let document = fixture("nmstate/every-bond-option/nmstate.yaml");
    let build = |release: &str| {
        let base = place.write("base", ramdisk_with_network_manager(release));
        let kernel = place.write("kernel", "kernel");
        let base = format!("kernel:{kernel},initrd:{base}");
        let output = place.path().join("out");
        let (document, output) = (document.to_str().unwrap(), output.to_str().unwrap());
        run(&["build", "--force", document, "--base", &base, "--format", "initrd", "-o", output])
    };
    let old = build("1.42.4");
    assert!(old.code == 0 && old.err.contains("the host has 1.42.4, which ignores it"), "{}", old.err);
    let new = build("1.54.0");
    assert!(new.code == 0 && !new.err.contains("needs NetworkManager"), "{}", new.err);
}

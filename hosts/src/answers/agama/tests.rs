use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::answers::testing::{self, BOND, INSTALLED, STATIC, file, installed};
use vocabulary::answers::Installer;

const PROFILE: &str = r#"{
  "product": {"id": "SLES", "registrationCode": "hunter2"},
  "root": {"password": "hunter2",   "hashedPassword": false},
  "hostname": {"static": "worker-0.example.com"},
  "storage": {"drives": [{"partitions": [{"size": 123456789012345678901234567890}, {"size": 1.50e3}]}]},
  "scripts": {"pre": [{"name": "first", "content": "echo A"}], "post": [{"name": "last", "content": "echo B"}]},
  "files": []
}
"#;

fn completed(nmstate: &str, text: &str) -> (Option<Vec<InstallerFile>>, Vec<String>) {
    testing::completed(Installer::Agama, nmstate, text)
}

/// The completed profile without the scripts that dayone adds, and these.
fn taken_apart(content: &str) -> (Value, [Value; 2]) {
    let mut profile: Value = serde_json::from_str(content).unwrap();
    let scripts = profile["scripts"]["post"].as_array_mut().unwrap();
    let network = scripts.pop().unwrap();
    let remove = scripts.pop().unwrap();
    (profile, [remove, network])
}

#[test]
fn the_profile_is_kept_and_the_network_added() {
    let (files, findings) = completed(STATIC, PROFILE);
    assert_eq!(findings, [""; 0]);
    let files = files.unwrap();
    let written = file(&files, AGAMA_FILE);
    // As it was written, in its order.
    for kept in [
        r#""hashedPassword": false"#,
        "123456789012345678901234567890",
        "1.50e3",
        r#"{"name": "last", "content": "echo B"}"#,
    ] {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    let (rest, [remove, network]) = taken_apart(written);
    assert_eq!(rest, serde_json::from_str::<Value>(PROFILE).unwrap());
    assert_eq!([&remove["chroot"], &network["chroot"]], [false, true]);
    let script = network["content"].as_str().unwrap();
    assert_eq!(installed(script), INSTALLED);
    assert!(script.starts_with("#!/bin/sh\n") && remove["content"].as_str().unwrap().starts_with("#!/bin/sh\n"));
    assert!(!format!("{files:?}").contains("hunter2"));
    assert!(file(&completed(BOND, "{}").0.unwrap(), AGAMA_FILE).contains("/bond0.7.nmconnection"));
}

#[test]
fn without_a_profile_there_is_only_the_network() {
    for text in ["", " \n", "{}", "{\"scripts\": {}}", "{\"network\": {\"connections\": []}}"] {
        let (files, findings) = completed(STATIC, text);
        assert_eq!(findings, [""; 0], "{text}");
        let (rest, _) = taken_apart(file(&files.unwrap(), AGAMA_FILE));
        assert_eq!(rest["scripts"], json!({"post": []}));
    }
}

#[test]
fn what_contradicts_the_documents_is_found() {
    let connections = "Agama profile: network.connections has connections besides those of the host's documents, so an interface could \
                       have two; remove them: the installer has the network of the documents without them, and so has the installed \
                       system [answers-contradict-network]";
    let hostname = "Agama profile: hostname.static is \"worker-1\", and the host's documents have \"worker-0.example.com\"; correct the \
                    one that is wrong [answers-contradict-network]";
    for (text, expected) in [
        (r#"{"network": {"connections": [{"id": "eno1", "method4": "auto"}]}}"#, vec![connections]),
        (r#"{"network": {"connections": {}}}"#, vec![connections]),
        (r#"{"hostname": {"static": "worker-1"}}"#, vec![hostname]),
        (
            r#"{"hostname": {"static": "worker-1"}, "network": {"connections": [{"id": "eno1"}]}}"#,
            vec![connections, hostname],
        ),
    ] {
        let (files, findings) = completed(STATIC, text);
        assert!(files.is_none());
        assert_eq!(findings, expected, "{text}");
    }
    // The documents have no name.
    assert!(completed(BOND, r#"{"hostname": {"static": "worker-1"}}"#).0.is_some());
}

#[test]
fn what_is_not_compared_is_a_warning() {
    let (files, findings) = completed(STATIC, r#"{"network": {"state": {"copyNetwork": false}}}"#);
    assert!(files.is_some());
    assert_eq!(
        findings,
        ["Agama profile: network.state is not compared with the host's documents [answers-unchecked]"]
    );
}

#[test]
fn what_is_not_a_profile_is_refused_without_its_secrets() {
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(LIMIT));
    for (text, expected) in [
        (
            "{\n  root: {password: \"hunter2\"}\n}",
            ": is not JSON: key must be a string at line 2 column 3. If it is Jsonnet",
        ),
        ("{\"root\": {\"password\": \"hunter2\"}", ": is not JSON: EOF while parsing an object at line 1 column 32"),
        ("{} \"hunter2\"", ": is not JSON: trailing characters at line 1 column 4"),
        ("<?xml version=\"1.0\"?><profile>hunter2</profile>", ": is XML, as profiles of AutoYaST are"),
        ("\"hunter2\"", ": is not an object"),
        ("[\"hunter2\"]", ": is not an object"),
        ("{\"root\": \"hunter2\", \"root\": 1}", ": has a member twice in one object at line 1 column "),
        (
            "{\n\"a\": [{\"b\": {\"hunter2\": 1, \"hunter2\": 1}}]}",
            ": has a member twice in one object at line 2 column ",
        ),
        ("{\"user\": {\"a\": 1, \"\\u0061\": \"hunter2\"}}", ": has a member twice in one object at line 1 column "),
        ("{\"scripts\": {\"post\": [], \"post\": []}}", ": has a member twice in one object at line 1 column "),
        ("{\"x\": 1e400}", ": is not JSON: number out of range at line 1 column "),
        ("{\"network\": \"hunter2\"}", ": network is not an object"),
        ("{\"scripts\": \"hunter2\"}", ": scripts is not an object"),
        ("{\"scripts\": {\"post\": \"hunter2\"}}", ": scripts.post is not an array"),
        (
            "{\"scripts\": {\"post\": [{\"name\": \"dayone-network\", \"content\": \"hunter2\"}]}}",
            ": scripts.post has a script with a name that dayone gives its own",
        ),
        (&large, ": has 1048585 bytes, and may have 1048576"),
    ] {
        let (files, findings) = completed(STATIC, text);
        assert!(files.is_none(), "{expected}");
        let [finding] = findings.as_slice() else { panic!("{findings:?}") };
        assert!(finding.starts_with(&format!("Agama profile{expected}")), "{finding}");
        assert!(finding.ends_with("[answers-invalid]") && !finding.contains("hunter2"), "{finding}");
    }
}

/// Any JSON.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof!["[a-z]{1,4}", Just("name".to_owned()), any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_profile_keeps_what_it_has(
        others in prop::collection::vec(("[a-z]{1,6}", json()), 0..4),
        post in prop::option::of(prop::collection::vec(json(), 0..3)),
        pretty in any::<bool>(),
    ) {
        let mut profile: serde_json::Map<String, Value> = others.into_iter().collect();
        for reserved in ["network", "hostname", "scripts"] {
            profile.remove(reserved);
        }
        if let Some(post) = &post {
            profile.insert("scripts".to_owned(), json!({"post": post}));
        }
        let profile = Value::from(profile);
        let text = if pretty { serde_json::to_string_pretty(&profile) } else { serde_json::to_string(&profile) }.unwrap();
        let (files, findings) = completed(STATIC, &text);
        prop_assert_eq!(findings.len(), 0);
        let (mut rest, _) = taken_apart(file(&files.unwrap(), AGAMA_FILE));
        if post.is_none() {
            rest.as_object_mut().unwrap().remove("scripts");
        }
        prop_assert_eq!(rest, profile);
    }

    #[test]
    fn any_text_is_kept_or_refused(text in "\\PC{0,40}") {
        completed(STATIC, &text);
    }

    #[test]
    fn any_json_is_kept_or_refused(value in json(), member in prop::sample::select(vec!["network", "hostname", "scripts"])) {
        completed(STATIC, &value.to_string());
        completed(STATIC, &json!({ member: value }).to_string());
    }
}

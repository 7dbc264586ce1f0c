//! What a release says about itself: its components (SPDX), what known advisories mean for it (OpenVEX), and how it was built
//! (in-toto).

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use acceptance::packaging::{COMMIT, repository, script};
use acceptance::peers::{peer, run, run_text};
use acceptance::server::dayone;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

const TARGET: &str = "x86_64-unknown-linux-gnu";

#[test]
fn the_components_are_those_that_cargo_links() {
    let directory = tempfile::tempdir().unwrap();
    let (sbom, licenses) = (directory.path().join("dayone.spdx.json"), directory.path().join("licenses"));
    let mut command = script("release/sbom.py");
    command.args(["--target", TARGET, "--binary"]).arg(dayone().get_program());
    run(command.arg("--sbom").arg(&sbom).arg("--licenses").arg(&licenses));
    // It prints what is wrong and fails.
    run(peer("pyspdxtools").arg("--infile").arg(&sbom));
    let document: Value = serde_json::from_slice(&fs::read(&sbom).unwrap()).unwrap();
    let package = |name: &str| {
        let packages = document["packages"].as_array().unwrap();
        packages.iter().find(|package| package["name"] == name).unwrap_or_else(|| panic!("{name} is not there"))
    };
    let lock = fs::read_to_string(repository().join("Cargo.lock")).unwrap();
    let checksum = package("nmstate")["checksums"][0]["checksumValue"].as_str().unwrap();
    assert!(lock.contains(&format!("checksum = \"{checksum}\"")));
    let binary = fs::read(dayone().get_program()).unwrap();
    assert_eq!(package("dayone")["checksums"][0]["checksumValue"], HEXLOWER.encode(&Sha256::digest(binary)));
    assert_eq!(package("glibc")["licenseDeclared"], "LGPL-2.1-or-later");
    // For tests only, and for another system.
    for name in ["proptest", "acceptance", "windows-sys"] {
        assert!(document["packages"].as_array().unwrap().iter().all(|package| package["name"] != name), "{name}");
    }
    let relationships = document["relationships"].as_array().unwrap();
    let related = |kind: &str, from: &str| {
        let kinds = relationships.iter().filter(|relationship| relationship["relationshipType"] == kind);
        kinds.filter(|relationship| relationship["spdxElementId"].as_str().unwrap().starts_with(from)).count()
    };
    assert!(related("DEPENDS_ON", "SPDXRef-crate-dayone-") > 40);
    let needs = |from: &str, what: &str| {
        relationships.iter().any(|relationship| {
            let end = |name: &str| relationship[name].as_str().unwrap();
            end("spdxElementId").starts_with(from) && end("relatedSpdxElement").starts_with(what)
        })
    };
    assert!(needs("SPDXRef-crate-hosts-", "SPDXRef-crate-nmstate-"));
    assert!(!needs("SPDXRef-crate-imagelib-", "SPDXRef-crate-nmstate-"));
    // It compiles C, and derives implementations.
    assert_eq!(related("BUILD_DEPENDENCY_OF", "SPDXRef-crate-cc-"), 1);
    assert_eq!(related("BUILD_DEPENDENCY_OF", "SPDXRef-crate-clap-derive-"), 1);
    let licenses = fs::read_to_string(licenses).unwrap();
    assert!(licenses.contains("\nnmstate 2.") || licenses.contains("\nnmstate-2."), "nmstate's license is missing");
    assert!(licenses.contains("Permission is hereby granted, free of charge"));
}

#[test]
fn what_advisories_mean_is_said_of_each_that_is_ignored() {
    let document: Value = serde_json::from_str(&run_text(&mut script("release/vex.py"))).unwrap();
    assert_eq!(document["@context"], "https://openvex.dev/ns/v0.2.0");
    assert_eq!(document["timestamp"], "2023-11-14T22:13:20Z");
    let ignored = fs::read_to_string(repository().join("deny.toml")).unwrap();
    let ignored: BTreeSet<&str> =
        ignored.split('"').filter(|text| text.starts_with("RUSTSEC-2") && !text.contains(' ')).collect();
    let statements = document["statements"].as_array().unwrap();
    for statement in statements {
        assert!(ignored.contains(statement["vulnerability"]["name"].as_str().unwrap()), "{statement}");
        let part = statement["products"][0]["subcomponents"][0]["@id"].as_str().unwrap();
        assert!(part.starts_with("pkg:cargo/"), "{part}");
        match statement["status"].as_str().unwrap() {
            "not_affected" => {
                assert!(statement["justification"].is_string() && statement["impact_statement"].is_string())
            }
            "affected" => assert!(statement["action_statement"].is_string()),
            other => assert!(["fixed", "under_investigation"].contains(&other), "{other}"),
        }
    }
    assert!(!statements.is_empty());
}

#[test]
fn the_provenance_names_each_file_and_a_key_signs_it() {
    let directory = tempfile::tempdir().unwrap();
    let release = directory.path().join("release");
    fs::create_dir(&release).unwrap();
    fs::write(release.join("a"), "a file").unwrap();
    let authorities = directory.path().join("authorities");
    fs::write(&authorities, "certificates").unwrap();
    let provenance = |more: &[&str]| -> Value {
        let mut command = script("release/provenance.py");
        command.arg(&release).arg("--material").arg(format!("authorities={}", authorities.display()));
        command.args(["--compiler", "amd64=rustc 1.95.0"]).args(more);
        serde_json::from_str(&run_text(&mut command)).unwrap()
    };
    let statement = provenance(&[]);
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "https://slsa.dev/provenance/v1");
    let digest = |text: &str| HEXLOWER.encode(&Sha256::digest(text));
    assert_eq!(statement["subject"], serde_json::json!([{"name": "a", "digest": {"sha256": digest("a file")}}]));
    let dependencies = &statement["predicate"]["buildDefinition"]["resolvedDependencies"];
    assert_eq!(dependencies[0]["digest"]["gitCommit"], COMMIT);
    let compilers = &statement["predicate"]["buildDefinition"]["internalParameters"]["compilers"];
    assert_eq!(*compilers, serde_json::json!({"amd64": "rustc 1.95.0"}));
    assert_eq!(dependencies[2]["digest"]["sha256"], digest("certificates"));

    // The signature is over DSSE's encoding of the statement, and openssl finds it valid.
    let key = directory.path().join("key.pem");
    run(Command::new("openssl").args(["genpkey", "-algorithm", "ed25519", "-out"]).arg(&key));
    let envelope = provenance(&["--key", key.to_str().unwrap()]);
    let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&payload).unwrap(), statement);
    let kind = envelope["payloadType"].as_str().unwrap();
    let mut signed = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    signed.extend(payload);
    let (message, signature) = (directory.path().join("message"), directory.path().join("signature"));
    fs::write(&message, signed).unwrap();
    fs::write(&signature, STANDARD.decode(envelope["signatures"][0]["sig"].as_str().unwrap()).unwrap()).unwrap();
    let mut verify = Command::new("openssl");
    verify.args(["pkeyutl", "-verify", "-rawin", "-inkey"]).arg(&key).arg("-in").arg(&message);
    run(verify.arg("-sigfile").arg(&signature));
}

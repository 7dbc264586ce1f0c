//! Clients that generators make of `openapi/openapi.json`, as `docs/clients.md` says, against a running server.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::boots::documents;
use acceptance::peers::{cache, peer, run_text};
use acceptance::server::Server;
use serde_json::{Value, json};

fn repository(path: &str) -> PathBuf {
    fs::canonicalize(fixtures("..").join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The host that the clients order an image for: a BareMetalHost with its Secrets.
fn document(directory: &Path) -> PathBuf {
    let path = directory.join("host.yaml");
    let system = "/redfish/v1/Systems/1";
    fs::write(&path, documents("worker-0", "http://192.0.2.200", system, "hunter2-hunter2")).unwrap();
    path
}

/// What each client must have seen. `order` is the same order, made by hand.
fn is_right(seen: &Value, order: &Value) {
    assert_eq!(seen["bases"], json!([["coreos", "available"]]));
    assert_eq!(seen["hosts"], json!(["worker-0"]));
    assert_eq!(seen["image"], json!({"id": order["id"], "url": order["url"]}));
    assert_eq!(seen["problem"]["type"], "/v1/problems/documents-refused");
    assert!(seen["problem"]["codes"].as_array().is_some_and(|codes| !codes.is_empty()), "{seen}");
}

#[test]
fn a_client_in_typescript_does_what_users_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let modules = cache().join("typescript-client-7.13.0/node_modules");
    assert!(modules.exists(), "{} is missing; run scripts/setup-peers.sh", modules.display());
    symlink(&modules, path("node_modules")).unwrap();
    fs::copy(repository("tests/peers/client.mts"), path("client.mts")).unwrap();
    fs::copy(repository("tests/peers/client.tsconfig.json"), path("tsconfig.json")).unwrap();
    let mut generate = Command::new(modules.join(".bin/openapi-typescript"));
    generate.arg(repository("openapi/openapi.json")).args(["--output", "dayone.d.ts"]);
    run_text(generate.current_dir(directory.path()));
    let compiled =
        Command::new(modules.join(".bin/tsc")).args(["--project", "."]).current_dir(directory.path()).output();
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));

    let server = Server::start("coreos", &coreos_iso(&[]));
    let order = server.image("coreos", &document(server.directory()));
    let seen =
        run_text(Command::new("node").arg(path("client.mjs")).arg(&server.api).arg(document(server.directory())));
    is_right(&serde_json::from_str(&seen).unwrap(), &order);
}

#[test]
fn a_client_in_python_does_what_users_do() {
    let directory = tempfile::tempdir().unwrap();
    let python = cache().join("openapi-python-client-0.29.1/bin");
    let search = format!("{}:{}", python.display(), std::env::var("PATH").unwrap());
    let mut generate = peer("openapi-python-client");
    generate.args(["generate", "--meta", "none", "--path"]).arg(repository("openapi/openapi.json"));
    generate.arg("--config").arg(repository("openapi/python-client.yaml"));
    generate.args(["--output-path", "dayone_client"]).env("PATH", search).current_dir(directory.path());
    let report = run_text(&mut generate);
    // It leaves out what it does not understand, with a warning.
    assert!(!report.to_lowercase().contains("warning"), "{report}");

    let server = Server::start("coreos", &coreos_iso(&[]));
    let order = server.image("coreos", &document(server.directory()));
    let mut client = Command::new(python.join("python"));
    client.arg(repository("tests/peers/client.py")).arg(&server.api).arg(document(server.directory()));
    let seen = run_text(client.env("PYTHONPATH", directory.path()));
    is_right(&serde_json::from_str(&seen).unwrap(), &order);
}

/// The commands of the page are those of these tests.
#[test]
fn the_page_has_the_commands_and_versions() {
    let page = fs::read_to_string(repository("docs/clients.md")).unwrap();
    let setup = fs::read_to_string(repository("scripts/setup-peers.sh")).unwrap();
    for package in ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "openapi-python-client==0.29.1"] {
        assert!(page.contains(package) && setup.contains(package), "{package}");
    }
    for file in ["openapi/openapi.json", "openapi/python-client.yaml"] {
        assert!(page.contains(file) && Path::new(&repository(file)).exists(), "{file}");
    }
}

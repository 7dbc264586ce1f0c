//! A server with a key for its data directory: nobody who copies the directory can read a secret in it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::prelude::*;
use dayone::bases::AllowedSources;
use dayone::services::{Server, StartError};
use dayone::store::{DataKeys, DirectoryError, OpenError};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::boots::host;
use super::support::{Answer, Dayone, NMSTATE, Place};

/// What an order of an image, a boot and a base has in it. Each is where an image's record, a boot's or a base's keeps it.
const SECRETS: [&str; 7] = [
    "hunter2-in-a-file",
    "hunter2-in-ignition",
    "hunter2-in-a-unit",
    "AAAAC3NzaC1lZDI1NTE5AAAAIJ1wVd0KqKpJOmGwzjeqWKLGu7dSDPnzcDnFoSDCuKw5",
    "hunter2-in-a-url",
    "worker-of-nobody",
    "192.0.2.77",
];

fn keys(place: &Place) -> DataKeys {
    let path = place.path("data-keys");
    fs::write(&path, "5".repeat(64)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    DataKeys::from_file(&path).unwrap()
}

async fn start(is_encrypted: bool) -> Dayone {
    let place = Place::new();
    let mut config = place.config();
    config.fetches.allowed = AllowedSources::only(vec!["http://127.0.0.1:1/".parse().unwrap()]);
    if is_encrypted {
        config.data_keys = keys(&place);
    }
    Dayone::start_with(place, config).await
}

/// Orders an image, a boot and a base with the secrets. Returns the URL of the image.
async fn order(dayone: &Dayone) -> String {
    let [file, ignition, unit, ssh, url, name, address] = SECRETS;
    let body = json!({
        "base": "coreos", "format": "iso", "documents": NMSTATE, "hostname": name,
        "files": [{"path": "/etc/secret", "mode": "0600", "contents": BASE64_STANDARD.encode(file)}],
        "ignition": {"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": "core", "passwordHash": ignition}]}},
        "units": [{"name": "a.service", "enabled": true, "contents": format!("[Service]\nExecStart=/bin/echo {unit}\n")}],
        "ssh_authorized_keys": [format!("ssh-ed25519 {ssh} somebody")],
    });
    let answer = Answer::of(dayone.post_json("/v1/images", &body)).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    let image = answer.json()["url"].as_str().unwrap().to_owned();
    let bmc = format!("redfish-virtualmedia+http://{address}/redfish/v1/Systems/1");
    let answer = Answer::of(dayone.post("/v1/boots?base=coreos", host("worker-1", &bmc))).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    let source = format!("http://127.0.0.1:1/a.iso?token={url}");
    let base = json!({"name": "added", "iso": {"url": source, "sha256": "0".repeat(64)}});
    let answer = Answer::of(dayone.post_json("/v1/bases", &base)).await;
    assert!(answer.status.is_success(), "{answer:?}");
    image
}

/// The secret in the forms in which a file could have it: as it is, in hexadecimal, and in base64 wherever it begins.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.as_bytes().to_vec(), data_encoding::HEXLOWER.encode(secret.as_bytes()).into_bytes()];
    for shift in 0..3 {
        let shifted = [vec![0; shift], secret.as_bytes().to_vec()].concat();
        let digits = BASE64_STANDARD_NO_PAD.encode(shifted);
        // What is beside the secret changes the digits at its ends.
        forms.push(digits.as_bytes()[shift + 1..digits.len() - 2].to_vec());
    }
    forms
}

/// The files below a directory in which a secret can be found, without those of bases.
fn files_with(secret: &str, directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(secret, &path));
        } else {
            let Ok(bytes) = fs::read(&path) else { continue };
            let has = |form: &Vec<u8>| bytes.windows(form.len()).any(|window| window == form.as_slice());
            if forms(secret).iter().any(has) || path.to_string_lossy().contains(secret) {
                found.push(path);
            }
        }
    }
    found
}

#[tokio::test]
async fn no_secret_can_be_read_in_an_encrypted_data_directory() {
    let plain = start(false).await;
    order(&plain).await;
    let data = plain.place.path("data");
    for secret in SECRETS {
        assert!(!files_with(secret, &data).is_empty(), "the search does not find {secret} where nothing is encrypted");
    }

    let dayone = start(true).await;
    let url = order(&dayone).await;
    let before = dayone.client.get(&url).send().await.unwrap().bytes().await.unwrap();
    let data = dayone.place.path("data");
    let is_found = |data: &Path| SECRETS.iter().flat_map(|secret| files_with(secret, data)).collect::<Vec<_>>();
    assert_eq!(is_found(&data), Vec::<PathBuf>::new());
    assert_ne!(fs::read(data.join("key")).unwrap().len(), 32, "the installation key is encrypted, too");

    let dayone = {
        let keys = keys(&dayone.place);
        dayone.restart_with(|config| config.data_keys = keys.clone()).await
    };
    assert_eq!(is_found(&data), Vec::<PathBuf>::new());
    assert_eq!(dayone.client.get(&url).send().await.unwrap().bytes().await.unwrap(), before);
    let boots: Value = Answer::of(dayone.get("/v1/boots")).await.ok();
    assert_eq!(boots["boots"].as_array().unwrap().len(), 1, "{boots}");
    let base = Answer::of(dayone.get("/v1/bases/added")).await.ok();
    assert_eq!(base["name"], "added");
}

#[tokio::test]
async fn a_server_that_gets_a_key_encrypts_what_is_there() {
    let plain = start(false).await;
    order(&plain).await;
    let data = plain.place.path("data");
    let keys = keys(&plain.place);
    let dayone = plain.restart_with(|config| config.data_keys = keys.clone()).await;
    for secret in SECRETS {
        assert_eq!(files_with(secret, &data), Vec::<PathBuf>::new(), "{secret}");
    }
    // Without the key, it does not start any more.
    let Dayone { place, server, .. } = dayone;
    server.stop().await;
    let mut error = Server::start(place.config()).await.unwrap_err();
    // The last check of the bases may still have the directory.
    while matches!(error, StartError::Store(OpenError::Directory(DirectoryError::InUse(_)))) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        error = Server::start(place.config()).await.unwrap_err();
    }
    let error = error.to_string();
    assert!(error.contains("data-key-file") && error.contains("data/"), "{error}");
}

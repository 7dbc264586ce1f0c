//! A Redfish emulator (sushy-tools) as the BMC: it inserts what dayone serves, and what it read is what dayone says.

use std::fs;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::peers::{peer, run, run_text};
use acceptance::server::{Server, dayone};
use acceptance::sushy::Emulator;
use reqwest::blocking::Client;
use serde_json::{Value, json};

#[test]
fn a_bmc_inserts_reads_and_ejects_an_image() {
    let base = coreos_iso(&[]);
    let server = Server::start("coreos", &base);
    let bmc = Emulator::start(&server.directory().join("bmc"));
    let host = fixtures("scenarios").join("static-ipv4-baremetalhost.yaml");
    let image = server.image("coreos", &host);
    let url = image["url"].as_str().unwrap();

    // Some BMCs send credentials whether they were asked for or not.
    bmc.media_action("InsertMedia", &json!({"Image": url, "Inserted": true, "UserName": "none", "Password": "none"}));
    let state = bmc.media();
    assert_eq!((&state["Inserted"], state["Image"].as_str()), (&json!(true), Some(url)));

    let fetched = bmc.fetched();
    let [read_by_bmc] = fetched.as_slice() else { panic!("{fetched:?}") };
    let built = server.directory().join("built.iso");
    run(dayone()
        .args(["build", "--format", "iso", "--host"])
        .arg(&host)
        .arg("--base")
        .arg(&base)
        .arg("-o")
        .arg(&built));
    assert!(fs::read(read_by_bmc).unwrap() == fs::read(&built).unwrap(), "the BMC read other bytes than build wrote");

    let keyfiles = run_text(peer("coreos-installer").args(["iso", "network", "extract"]).arg(read_by_bmc));
    let expected = fixtures("nmstate/static-ipv4-baremetalhost/expected/enp2s0.nmconnection");
    let keyfile = fs::read_to_string(expected).unwrap();
    assert!(keyfile.contains("192.168.111.110/24") && keyfiles.contains(&keyfile), "{keyfiles}");

    bmc.media_action("EjectMedia", &json!({}));
    assert_eq!(bmc.media()["Inserted"], json!(false));
    assert_eq!(bmc.fetched(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_url_survives_the_death_of_the_server_and_ends_with_its_release() {
    let mut server = Server::start("coreos", &coreos_iso(&[]));
    let document = fs::read(fixtures("scenarios").join("bond-vlans-nmstate.yaml")).unwrap();
    let client = Client::new();
    let post = |server: &Server| -> (u16, Value) {
        let answer = client
            .post(format!("{}/v1/images?base=coreos", server.api))
            .header("Content-Type", "application/yaml")
            .body(document.clone())
            .send()
            .unwrap();
        (answer.status().as_u16(), answer.json().unwrap())
    };
    let (status, image) = post(&server);
    assert_eq!(status, 201, "{image}");
    let (url, id) = (image["url"].as_str().unwrap(), image["id"].as_str().unwrap());
    let get = || client.get(url).send().unwrap();
    let seen = |answer: reqwest::blocking::Response| {
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        (header("etag"), header("last-modified"), answer.bytes().unwrap())
    };
    let before = seen(get());

    server.kill_and_start_again();
    assert!(before == seen(get()), "ETag, Last-Modified or bytes changed with a restart");
    let (status, again) = post(&server);
    assert_eq!((status, again["url"].as_str()), (200, Some(url)));

    server.release(id);
    assert_eq!(get().status(), 404);
    server.kill_and_start_again();
    assert_eq!(get().status(), 404);
}

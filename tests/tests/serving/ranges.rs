//! Whatever is cut out of an image by ranges, by one reader or by eight at once, is what `dayone build` writes.

use std::fs;
use std::thread;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::peers::run;
use acceptance::server::{Server, dayone};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use reqwest::blocking::Client;
use serde_json::Value;

#[test]
fn any_range_is_the_slice_of_what_build_writes() {
    let base = coreos_iso(&["--size-mib", "8"]);
    let server = Server::start("coreos", &base);
    let host = fixtures("scenarios").join("static-ipv4-baremetalhost.yaml");
    let client = Client::new();
    for format in ["iso", "initrd"] {
        let built = server.directory().join(format);
        let mut build = dayone();
        build.args(["build", "--format", format, "--karg-append", "a=b", "--base"]).arg(&base).arg("--host").arg(&host);
        run(build.arg("-o").arg(&built));
        let image: Value = client
            .post(format!("{}/v1/images?base=coreos&format={format}&karg_append=a%3Db", server.api))
            .body(fs::read(&host).unwrap())
            .send()
            .unwrap()
            .json()
            .unwrap();
        let (url, built) = (image["url"].as_str().unwrap(), fs::read(built).unwrap());
        assert_eq!(image["size"], built.len());

        let readers: Vec<_> = (0..8)
            .map(|_| {
                let url = url.to_owned();
                thread::spawn(move || Client::new().get(url).send().unwrap().bytes().unwrap())
            })
            .collect();
        cuts(&client, url, &built);
        for reader in readers {
            assert!(reader.join().unwrap() == built, "a reader got other bytes than build wrote");
        }
    }
}

/// Any cuts, among them those through the patches, which lie at the places where image and base differ.
fn cuts(client: &Client, url: &str, built: &[u8]) {
    let size = built.len();
    let cut = (0..size, prop_oneof![0..size, 1_usize..5000]);
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&cut, |(start, length)| {
            let end = (start + length).min(size - 1);
            let answer = client.get(url).header("Range", format!("bytes={start}-{end}")).send().unwrap();
            prop_assert_eq!(answer.status().as_u16(), 206);
            let range = answer.headers()["content-range"].to_str().unwrap().to_owned();
            prop_assert_eq!(range, format!("bytes {start}-{end}/{size}"));
            prop_assert!(answer.bytes().unwrap() == built[start..=end]);
            Ok(())
        })
        .unwrap();
}

//! The page in a real browser, while hosts boot behind emulated BMCs.

mod recording;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::bmc::{EmulatedBmc, Failure, Fault, Machine, Options, Vendor};
use acceptance::fleet::Fleet;
use acceptance::peers::{PAGE_MODULES, cache, run_text};
use acceptance::server::{Server, free_address};
use reqwest::Client;
use serde_json::{Value, json};

const TOKEN: &str = "a-token-of-some-length";
const BOOTED: usize = 31;
/// Hosts whose BMCs take no image.
const FAILED: usize = 2;
/// Hosts that read and do not get further while the test looks.
const RUNNING: usize = 7;

async fn fleet() -> Fleet {
    let mut bmcs = Vec::new();
    for number in 0..BOOTED + FAILED + RUNNING {
        let starts_in = if number < RUNNING { Duration::from_hours(1) } else { Duration::from_millis(200) };
        let machine = Machine { reads: 256 << 10, starts_in, ..Machine::default() };
        let bmc = EmulatedBmc::start(&Vendor::named("hpe-ilo6"), Options { machine, ..Options::default() }).await;
        if (RUNNING..RUNNING + FAILED).contains(&number) {
            bmc.inject(Fault::new("POST", "InsertMedia", 1000, Failure::Status(400)));
        }
        bmcs.push(bmc);
    }
    Fleet(bmcs)
}

fn server() -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let tokens = directory.path().join("tokens");
    std::fs::write(&tokens, TOKEN).unwrap();
    std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(0o600)).unwrap();
    let more = ["--api-token-file", tokens.to_str().unwrap(), "--boots-at-once", "64"];
    (Server::start_at(&free_address(), &free_address(), "coreos", &coreos_iso(&[]), &more), directory)
}

/// Waits until so many boots are in each state, and all that run have read their image.
async fn settle(client: &Client, api: &str) {
    let deadline = Instant::now() + Duration::from_mins(3);
    loop {
        let list = client.get(format!("{api}/v1/boots?limit=1000")).bearer_auth(TOKEN).send().await.unwrap();
        let list: Value = list.json().await.unwrap();
        let boots = list["boots"].as_array().unwrap();
        let count = |state: &str| boots.iter().filter(|boot| boot["state"] == state).count();
        let reading = boots.iter().filter(|boot| boot["state"] == "running" && boot["steps"][4]["state"] == "done");
        if (count("booted"), count("failed"), reading.count()) == (BOOTED, FAILED, RUNNING) {
            return;
        }
        assert!(Instant::now() < deadline, "{list:#}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_follows_forty_boots_and_builds_and_boots_from_dropped_documents() {
    let (server, directory) = tokio::task::spawn_blocking(server).await.unwrap();
    let fleet = fleet().await;
    let client = Client::new();
    let url = format!("{}/v1/boots?base=coreos&wait_for=boot-progress", server.api);
    let request = client.post(url).bearer_auth(TOKEN).header("Content-Type", "application/yaml");
    let answer = request.body(fleet.documents()).send().await.unwrap();
    assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
    settle(&client, &server.api).await;

    let documents = directory.path().join("fleet.yaml");
    std::fs::write(&documents, fleet.documents()).unwrap();
    let screenshots = std::env::var("DAYONE_SCREENSHOTS").ok();
    let settings = json!({
        "api": server.api, "token": TOKEN, "modules": cache().join(PAGE_MODULES), "documents": documents, "screenshots": screenshots,
        "booted": BOOTED, "failed": FAILED, "running": RUNNING,
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/page.mjs");
    let browse = move || run_text(Command::new("timeout").args(["300", "node"]).arg(script).arg(settings.to_string()));
    let measured = tokio::task::spawn_blocking(browse).await.unwrap();
    println!("{measured}");
    assert!(!server.log().contains(TOKEN));
}

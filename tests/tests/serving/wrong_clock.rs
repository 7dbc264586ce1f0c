//! The clock of the machine is set back while the server runs, as NTP does to one that came up with a wrong clock.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::server::{dayone, free_address, wait_for};
use acceptance::test_clock::TestClock;
use reqwest::blocking::Client;
use serde_json::Value;

const FIVE_YEARS: i64 = 5 * 365 * 24 * 3600;

struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(directory: &Path, base: &Path, clock: &TestClock, api: &str, media: &str) -> Serving {
    let log = fs::File::create(directory.join("log")).unwrap();
    let mut command: Command = dayone();
    command.arg("serve").arg("--data-dir").arg(directory.join("data"));
    command.arg("--base").arg(format!("coreos={}", base.display()));
    command.args(["--api-listen", api, "--media-listen", media, "--media-url", &format!("http://{media}")]);
    command.envs(clock.environment()).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    Serving(command.spawn().unwrap())
}

#[test]
fn a_base_that_was_new_stays_in_service_when_the_clock_is_set_back() {
    let directory = tempfile::tempdir().unwrap();
    let clock = TestClock::new(directory.path());
    let (api, media) = (free_address(), free_address());
    // Written in this moment, so that the server reads it once more when every further write would be noticed.
    let base = directory.path().join("coreos.iso");
    fs::copy(coreos_iso(&[]), &base).unwrap();
    let _serving = serve(directory.path(), &base, &clock, &api, &media);
    let log = || fs::read_to_string(directory.path().join("log")).unwrap_or_default();
    wait_for(&format!("http://{api}/readyz"), Duration::from_secs(60), log);
    clock.set(-FIVE_YEARS);

    let client = Client::new();
    let document = "interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]";
    let ordered = client.post(format!("http://{api}/v1/images?base=coreos&hostname=a")).body(document).send().unwrap();
    let image: Value = ordered.error_for_status().unwrap().json().unwrap();
    let is_read_again = || directory.path().join("data/base-digests.json").exists();
    let begin = Instant::now();
    while !is_read_again() {
        assert!(begin.elapsed() < Duration::from_secs(30), "the base is not read again:\n{}", log());
        let part = client.get(image["url"].as_str().unwrap()).header("range", "bytes=0-99").send().unwrap();
        assert_eq!(part.status(), 206, "{}", log());
        thread::sleep(Duration::from_millis(20));
    }
    let ready = client.get(format!("http://{api}/readyz")).send().unwrap();
    assert_eq!(ready.status(), 200, "{}", ready.text().unwrap());
}

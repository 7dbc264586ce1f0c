//! Large documents do not hold up small ones.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::server::Server;
use reqwest::blocking::Client;

/// More of them than any machine converts at a time.
const LARGE: usize = 12;

/// Documents of so many hosts that they have nearly 4 MiB.
fn fleet() -> String {
    let mut text = String::new();
    let mut number = 0;
    while text.len() < (4 << 20) - 4096 {
        write!(
            text,
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: worker-{number}-network}}\nstringData:\n  nmstate: |\n    \
             interfaces:\n    - name: eth0\n      type: ethernet\n      state: up\n      ipv4:\n        enabled: true\n        \
             address:\n        - ip: 10.{}.{}.{}\n          prefix-length: 8\n---\napiVersion: metal3.io/v1alpha1\n\
             kind: BareMetalHost\nmetadata: {{name: worker-{number}}}\n\
             spec: {{preprovisioningNetworkDataName: worker-{number}-network}}\n",
            number / 60000 + 1,
            number / 200 % 250,
            number % 200 + 1
        )
        .unwrap();
        number += 1;
    }
    text
}

fn check(api: &str, documents: String) -> u16 {
    let client = Client::builder().timeout(Duration::from_secs(300)).build().unwrap();
    let request = client.post(format!("{api}/v1/check")).header("content-type", "application/yaml");
    request.body(documents).send().map_or(0, |answer| answer.status().as_u16())
}

#[test]
fn a_small_check_does_not_wait_for_large_ones() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let small = "interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]\n";
    let alone = Instant::now();
    assert_eq!(check(&server.api, small.to_owned()), 200);
    let alone = alone.elapsed();

    let (answered, fleet) = (Arc::new(AtomicUsize::new(0)), fleet());
    let threads: Vec<_> = (0..LARGE)
        .map(|_| {
            let (answered, api, fleet) = (Arc::clone(&answered), server.api.clone(), fleet.clone());
            thread::spawn(move || {
                let status = check(&api, fleet);
                answered.fetch_add(1, Ordering::SeqCst);
                status
            })
        })
        .collect();
    // All of them have arrived, and the first is at work.
    thread::sleep(Duration::from_secs(1));
    let (before, start) = (answered.load(Ordering::SeqCst), Instant::now());
    for _ in 0..5 {
        assert_eq!(check(&server.api, small.to_owned()), 200);
    }
    let (each, meanwhile) = (start.elapsed() / 5, answered.load(Ordering::SeqCst) - before);
    println!(
        "a small check: {alone:?} alone, {each:?} beside {LARGE} large ones, of which {meanwhile} ended meanwhile"
    );
    // First come, first served would be most of them for each.
    assert!(meanwhile <= 2, "five small checks took as long as {meanwhile} large ones: {each:?} each, {alone:?} alone");
    // The others are not waited for: the server ends here.
    drop(server);
    threads.into_iter().for_each(|thread| drop(thread.join()));
}

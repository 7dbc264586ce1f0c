//! A thousand PreprovisioningImages, each with a Secret of its own, at a real API server: how long until all are ready, what
//! the API server is asked for, and what that costs. Prints a part of `docs/benchmarks.md`. `DAYONE_BENCH_HOSTS` is another
//! number.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::hosts::bond_and_vlans;
use acceptance::kubernetes::metal3::{PREPROVISIONING_IMAGES, collection};
use acceptance::kubernetes::{ApiServer, Request};
use acceptance::metal3::{AgentBases, PUBLISHED, Replica, Site, image_url, is_true};
use acceptance::usage::{memory, peak_memory, processor_time};
use serde_json::{Value, json};

const BASE_MIB: &str = "64";
/// Who create objects, or fetch images, at a time.
const CLIENTS: usize = 8;
const LIMIT: Duration = Duration::from_mins(2);

fn main() {
    let hosts = std::env::var("DAYONE_BENCH_HOSTS").map_or(1000, |number| number.parse().expect("a number"));
    let server = ApiServer::start();
    println!("## {hosts} PreprovisioningImages\n");
    println!(
        "Each has its own Secret (a bond and two VLANs). kube-apiserver 1.20 and etcd run on the same machine. The base is"
    );
    println!(
        "a CoreOS ISO of {BASE_MIB} MiB. There is one replica, unless a row says otherwise. {CLIENTS} clients create the objects at once.\n"
    );
    println!("| measure | value |\n| --- | --- |");
    let cold = Fleet::new(&server, hosts);
    cold_start(&cold);
    drop(cold);
    let fleet = Fleet::new(&server, hosts);
    let requests = while_they_are_created(&fleet);
    println!("\n| requests to the API server | for all {hosts} | for each image |\n| --- | --- | --- |");
    for (what, count) in requests {
        println!("| {what} | {count} | {:.2} |", count as f64 / hosts as f64);
    }
}

/// The objects are there, and dayone comes.
fn cold_start(fleet: &Fleet<'_>) {
    fleet.create();
    let begin = Instant::now();
    let replica = fleet.start("cold");
    let ready = begin.elapsed();
    fleet.wait_until_ready();
    println!("| dayone starts after the objects exist: all are ready after | {} |", seconds(begin.elapsed()));
    println!("| … `/readyz` reports all images after | {} |", seconds(ready));
    let objects = fleet.objects();
    fleet.assert_all_served(&replica, &objects);
}

/// dayone is there, and the objects come; then it is replaced, and gets a second replica.
fn while_they_are_created(fleet: &Fleet<'_>) -> BTreeMap<String, usize> {
    let mut replica = fleet.start("first");
    let before = memory(replica.id());
    let (asked, begin) = (fleet.requests().len(), Instant::now());
    fleet.create();
    let created = begin.elapsed();
    fleet.wait_until_ready();
    println!("| dayone runs before the objects exist: all are created after | {} |", seconds(created));
    println!("| … all are ready, after the last was created | {} |", seconds(begin.elapsed().saturating_sub(created)));
    let after = memory(replica.id());
    let requests = by_kind(&fleet.requests()[asked..]);
    println!("| dayone's memory without objects (RSS) | {} |", mib(before));
    println!("| dayone's memory with all objects (RSS; peak) | {}; {} |", mib(after), mib(peak_memory(replica.id())));
    println!("| memory for each image | {:.0} KiB |", after.saturating_sub(before) as f64 / fleet.hosts as f64);
    println!("| dayone's processor time | {} |", seconds(processor_time(replica.id())));

    let objects = fleet.objects();
    replica.terminate();
    let code = replica.wait_until_ended(LIMIT);
    assert_eq!(code, 0, "{}", replica.log());
    let (asked, begin) = (fleet.requests().len(), Instant::now());
    let replica = fleet.start("second");
    let ready = begin.elapsed();
    fleet.assert_all_served(&replica, &objects);
    println!("| restart: all images exist again after | {} |", seconds(ready));
    println!("| … and each was requested once after | {} |", seconds(begin.elapsed()));
    // Long enough for it to become the one that writes, and to look at all of them again.
    replica.wait("it writes", LIMIT, || replica.leads());
    thread::sleep(Duration::from_secs(5));
    let since = fleet.requests();
    println!("| … objects written meanwhile | {} |", since[asked..].iter().filter(|one| writes_an_object(one)).count());

    let begin = Instant::now();
    let second = fleet.start("third");
    println!("| second replica: all images exist after | {} |", seconds(begin.elapsed()));
    println!("| … its memory (RSS) | {} |", mib(memory(second.id())));
    fleet.assert_all_served(&second, &objects);
    requests
}

/// A namespace with hosts.
struct Fleet<'a> {
    site: Site<'a>,
    hosts: usize,
}

impl<'a> Fleet<'a> {
    fn new(server: &'a ApiServer, hosts: usize) -> Self {
        let mut site = Site::new(server);
        site.bases = AgentBases::with_iso(&coreos_iso(&["--size-mib", BASE_MIB]));
        Self { site, hosts }
    }

    /// Starts a replica, and waits until it has all images.
    fn start(&self, pod: &str) -> Replica {
        self.site.settings("dayone").with_variable("DAYONE_LOG", "warn,dayone::services=info").start_ready(pod)
    }

    fn create(&self) {
        in_parallel(self.hosts, |number| {
            let name = format!("host-{number}");
            self.site.create_secret(&name, &json!({"nmstate": bond_and_vlans(number)}));
            let spec = json!({"architecture": "x86_64", "acceptFormats": ["iso", "initrd"], "networkDataName": name});
            self.site.create_image(&name, &spec);
        });
    }

    /// From the API server's memory, which costs it little.
    fn objects(&self) -> Vec<Value> {
        let all = collection(&self.site.namespace, PREPROVISIONING_IMAGES);
        self.site.admin().list(&format!("{all}?resourceVersion=0"))
    }

    fn wait_until_ready(&self) {
        let deadline = Instant::now() + LIMIT;
        loop {
            let objects = self.objects();
            if objects.len() == self.hosts && objects.iter().all(|object| is_true(object, "Ready")) {
                return;
            }
            let other = objects.iter().find(|object| !is_true(object, "Ready"));
            assert!(Instant::now() < deadline, "not all are ready within {LIMIT:?}, such as {other:#?}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Every object's own image is served, and no two have the same.
    fn assert_all_served(&self, replica: &Replica, objects: &[Value]) {
        let mut urls: Vec<&str> = objects.iter().map(image_url).collect();
        urls.sort_unstable();
        urls.dedup();
        assert_eq!(urls.len(), self.hosts);
        assert!(urls.iter().all(|url| url.starts_with(PUBLISHED)), "{urls:?}");
        in_parallel(self.hosts, |number| assert_eq!(replica.status(urls[number]), Ok(200), "{}", urls[number]));
    }

    fn requests(&self) -> Vec<Request> {
        self.site.server.requests(&self.site.user("dayone"))
    }
}

fn in_parallel(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count) {
                    work(number);
                }
            });
        }
    });
}

fn writes_an_object(request: &Request) -> bool {
    !["get", "list", "watch"].contains(&&*request.verb)
        && ["preprovisioningimages", "secrets"].contains(&&*request.resource)
}

/// How many there are of each verb and resource, but for those that replicas have among themselves.
fn by_kind(requests: &[Request]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for request in requests.iter().filter(|request| request.resource != "leases") {
        let separator = if request.subresource.is_empty() { "" } else { "/" };
        let refused = if request.code < 400 { String::new() } else { format!(" ({})", request.code) };
        let kind = format!("{} {}{separator}{}{refused}", request.verb, request.resource, request.subresource);
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn mib(kib: u64) -> String {
    format!("{:.1} MiB", kib as f64 / 1024.0)
}

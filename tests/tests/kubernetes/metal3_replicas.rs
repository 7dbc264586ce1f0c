//! Several replicas of `dayone controller`: any of them serves any image, one of them writes, and none is missed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::kubernetes::ApiServer;
use acceptance::metal3::{AgentBases, RIGHTS_OF_REPLICAS, RIGHTS_ON_OBJECTS, Replica, Site, image_url, is_true};
use base64::prelude::*;
use serde_json::{Value, json};

/// The Lease's time, and how often it is looked at.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(15 + 2 + 5);

fn spec(format: &str) -> Value {
    json!({"architecture": "x86_64", "acceptFormats": [format]})
}

fn holder(site: &Site) -> String {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/dayone", site.namespace);
    let lease = site.admin().find(&path).unwrap_or_default();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

/// The one that writes first, and the other.
fn sorted(site: &Site, one: Replica, other: Replica) -> (Replica, Replica) {
    one.wait("one of two leads", Duration::from_secs(20), || one.leads() || other.leads());
    let (leader, follower) = if one.leads() { (one, other) } else { (other, one) };
    assert!(!follower.leads(), "both lead");
    assert_eq!(holder(site), leader.pod);
    (leader, follower)
}

#[test]
fn replicas_serve_the_same_bytes_and_one_of_them_writes() {
    let site = Site::new(ApiServer::shared());
    site.create_image("early", &spec("iso"));
    // Two accounts, so that the API server tells whose requests there were; and both make the key, if they can.
    let settings = ["dayone-a", "dayone-b"].map(|account| site.settings(account));
    let (one, other) = (settings[0].start("dayone-a"), settings[1].start("dayone-b"));
    one.wait_until_ready();
    other.wait_until_ready();
    let key = site.secret("dayone-key");
    let bytes = BASE64_STANDARD.decode(key["data"]["key"].as_str().expect("a key")).unwrap();
    assert_eq!(bytes.len(), 32, "one key");
    assert_eq!(key["metadata"]["resourceVersion"], site.secret("dayone-key")["metadata"]["resourceVersion"]);
    let (leader, follower) = sorted(&site, one, other);

    site.create_secret("network", &json!({"nmstate": "interfaces: [{name: eno1, type: ethernet, state: up}]"}));
    for number in 0..6 {
        let mut spec = spec(if number % 2 == 0 { "iso" } else { "initrd" });
        spec["networkDataName"] = json!("network");
        site.create_image(&format!("host-{number}"), &spec);
    }
    let names: Vec<String> = (0..6).map(|number| format!("host-{number}")).chain(["early".to_owned()]).collect();
    for name in &names {
        let ready = site.wait_until_ready(name);
        // At once: a host may be led to whichever replica.
        let answers = [&follower, &leader].map(|replica| {
            let answer = replica.get(image_url(&ready));
            assert_eq!(answer.status(), 200, "{name}: {}\n{}", replica.pod, replica.log());
            let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
            let headers = ["etag", "last-modified", "content-length", "content-type"].map(header);
            (headers, answer.bytes().unwrap())
        });
        assert!(answers[0].0 == answers[1].0, "{name}: {:?} {:?}", answers[0].0, answers[1].0);
        assert!(answers[0].1 == answers[1].1, "{name}: other bytes");
    }
    thread::sleep(Duration::from_secs(1));
    let of_key = |write: &String| !write.starts_with("create secrets/");
    let written: Vec<_> = site.writes(&follower.pod).into_iter().filter(of_key).collect();
    assert_eq!(written, Vec::<String>::new());
    assert!(site.writes(&leader.pod).len() > names.len());
    let conflicts: Vec<_> = site.writes(&leader.pod).into_iter().filter(|write| write.ends_with("409")).collect();
    assert!(conflicts.len() <= 10, "{conflicts:#?}");
    let writes = [site.writes("dayone-a"), site.writes("dayone-b")].concat();
    let made = writes.iter().filter(|write| write.starts_with("create secrets/") && write.ends_with(" 201")).count();
    assert_eq!(made, 1, "{writes:#?}");
}

#[test]
fn another_replica_takes_over_from_one_that_is_killed_and_a_reader_goes_on_where_it_was() {
    let server = ApiServer::shared();
    let mut site = Site::new(server);
    site.bases = AgentBases::with_iso(&coreos_iso(&["--size-mib", "8"]));
    let settings = site.settings("dayone");
    let (mut leader, follower) = sorted(&site, settings.start_ready("dayone-0"), settings.start_ready("dayone-1"));
    site.create_image("host", &spec("iso"));
    let ready = site.wait_until_ready("host");
    let url = image_url(&ready).to_owned();
    let whole = leader.fetch(&url);

    const PIECE: u64 = 512 << 10;
    let (mut read, mut etags) = (Vec::new(), Vec::new());
    let mut replica = &leader;
    while (read.len() as u64) < whole.len() as u64 {
        if read.len() as u64 == 4 * PIECE {
            replica = &follower;
        }
        let length = PIECE.min(whole.len() as u64 - read.len() as u64);
        let (etag, piece) = replica.fetch_range(&url, read.len() as u64, length);
        etags.push(etag);
        read.extend(piece);
    }
    assert!(read == whole, "other bytes");
    etags.dedup();
    assert_eq!(etags.len(), 1, "{etags:?}");

    leader.kill();
    let killed = Instant::now();
    assert!(follower.fetch(&url) == whole, "serving does not wait for a leader");
    site.create_image("next", &spec("initrd"));
    let path = site.image_path("next");
    let next = server.admin().wait_until_within(TAKEN_OVER_WITHIN + Duration::from_secs(10), &path, "ready", |image| {
        is_true(image, "Ready")
    });
    println!("taken over {:.1} s after the leader was killed", killed.elapsed().as_secs_f64());
    assert!(killed.elapsed() < TAKEN_OVER_WITHIN, "{:?}", killed.elapsed());
    assert_eq!(holder(&site), follower.pod);
    assert_eq!(follower.status(image_url(&next)), Ok(200));
    let same = site.image("host");
    assert_eq!(same["metadata"]["resourceVersion"], ready["metadata"]["resourceVersion"], "{same:#}");
}

/// Reads an answer slowly.
struct SlowReader {
    stream: TcpStream,
    read: Vec<u8>,
}

impl SlowReader {
    fn begin(replica: &Replica, url: &str) -> Self {
        let own = replica.own(url);
        let path = own.strip_prefix(&format!("http://{}", replica.images)).unwrap();
        let stream = TcpStream::connect(&replica.images).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut reader = Self { stream, read: Vec::new() };
        write!(reader.stream, "GET {path} HTTP/1.1\r\nHost: images\r\nConnection: close\r\n\r\n").unwrap();
        reader
    }

    /// Reads on for some time, or to the end; says whether that was the end.
    fn read_for(&mut self, time: Duration, pause: Duration) -> bool {
        let (begin, mut buffer) = (Instant::now(), vec![0; 256 << 10]);
        while begin.elapsed() < time {
            match self.stream.read(&mut buffer).expect("the transfer goes on") {
                0 => return true,
                length => self.read.extend(&buffer[..length]),
            }
            thread::sleep(pause);
        }
        false
    }

    fn body(&self) -> &[u8] {
        let end = self.read.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
        &self.read[end + 4..]
    }
}

#[test]
fn a_replica_that_is_told_to_go_leaves_nobody_without_an_answer() {
    let mut site = Site::new(ApiServer::shared());
    site.bases = AgentBases::with_iso(&coreos_iso(&["--size-mib", "64"]));
    let settings = site.settings("dayone").with_argument("--shutdown-delay-seconds", "3");
    let (mut leader, follower) = sorted(&site, settings.start_ready("dayone-0"), settings.start_ready("dayone-1"));
    site.create_image("host", &spec("iso"));
    let url = image_url(&site.wait_until_ready("host")).to_owned();
    let mut slow = SlowReader::begin(&leader, &url);
    assert!(!slow.read_for(Duration::from_millis(200), Duration::from_millis(20)));

    let told = Instant::now();
    leader.terminate();
    leader.wait("it is not ready any more", Duration::from_secs(1), || {
        leader.probe("readyz").is_some_and(|(status, _)| status == 503)
    });
    assert_eq!(leader.probe("healthz").map(|(status, _)| status), Some(200), "a kubelet would kill it");
    // Until Services have learnt of it.
    while told.elapsed() < Duration::from_millis(2500) {
        assert_eq!(leader.status(&url), Ok(200), "after {:?}", told.elapsed());
        assert!(!slow.read_for(Duration::from_millis(200), Duration::from_millis(20)), "not slow enough");
    }
    // Meanwhile the other one has the Lease: it was given back.
    follower.wait("the other leads", Duration::from_secs(6), || follower.leads());
    site.create_image("next", &spec("initrd"));
    site.wait_until_ready("next");
    println!("the next image was ready {:.1} s after SIGTERM", told.elapsed().as_secs_f64());
    thread::sleep(Duration::from_secs(4).saturating_sub(told.elapsed()));
    assert!(leader.ended().is_none(), "a transfer is running");
    assert!(leader.status(&url).is_err(), "nobody new is served behind the delay");
    assert!(slow.read_for(Duration::from_secs(60), Duration::ZERO), "it comes to its end");
    let whole = follower.fetch(&url);
    assert!(slow.body() == whole, "{} bytes of {}", slow.body().len(), whole.len());
    assert_eq!(leader.wait_until_ended(Duration::from_secs(10)), 0);
}

#[test]
fn a_restart_keeps_urls_and_writes_nothing() {
    let site = Site::new(ApiServer::shared());
    let settings = site.settings("dayone");
    let mut replica = settings.start_ready("dayone-0");
    site.create_secret("network", &json!({"nmstate": "interfaces: [{name: eno1, type: ethernet, state: up}]"}));
    let mut with_network = spec("iso");
    with_network["networkDataName"] = json!("network");
    site.create_image("host", &with_network);
    let ready = site.wait_until_ready("host");
    let (etag, start) = replica.fetch_range(image_url(&ready), 0, 65_536);
    let version = || site.image("host")["metadata"]["resourceVersion"].clone();
    let before = version();

    replica.terminate();
    assert_eq!(replica.wait_until_ended(Duration::from_secs(20)), 0);
    assert_eq!(holder(&site), "", "the Lease is given back");
    let begin = Instant::now();
    let replica = settings.start_ready("dayone-1");
    println!("ready {:.1} s after the start", begin.elapsed().as_secs_f64());
    // Ready means that what was there is there: no BMC has to wait.
    assert_eq!(replica.fetch_range(image_url(&ready), 0, 65_536), (etag, start));
    replica.wait("it leads", Duration::from_secs(5), || replica.leads());
    thread::sleep(Duration::from_secs(1));
    assert_eq!(version(), before, "{:#}", site.image("host"));
}

#[test]
fn without_rights_on_leases_a_single_replica_works_and_says_what_is_missing() {
    let site = Site::new(ApiServer::shared());
    // What the cluster-baremetal-operator gives its service account.
    site.grant(
        "upstream",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: upstream}\nrules:\n\
         - apiGroups: [metal3.io]\n  resources: [preprovisioningimages]\n  \
           verbs: [create, delete, get, list, patch, update, watch]\n\
         - apiGroups: [metal3.io]\n  resources: [preprovisioningimages/status]\n  verbs: [get, patch, update]\n\
         - apiGroups: ['']\n  resources: [secrets]\n  verbs: [create, delete, get, list, patch, update, watch]\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: upstream}\n\
         roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: upstream}\n",
    );
    let replica = site.bare_settings("upstream").start_ready("dayone-0");
    site.create_secret("network", &json!({"nmstate": "interfaces: [{name: eno1, type: ethernet, state: up}]"}));
    let mut with_network = spec("iso");
    with_network["networkDataName"] = json!("network");
    site.create_image("host", &with_network);
    let ready = site.wait_until_ready("host");
    assert_eq!(replica.status(image_url(&ready)), Ok(200));
    let warning = replica.wait_for_log(&["leases", "WARN"]);
    assert!(warning.contains("coordination.k8s.io"), "{warning}");
    site.delete_image("host");
    site.wait_for_image("host", "gone", Value::is_null);
}

/// As when one of two Deployments lacks a setting.
#[test]
fn two_controllers_that_disagree_about_a_failure_do_not_replace_each_others_status_without_an_end() {
    let site = Site::new(ApiServer::shared());
    let first = site.start();
    site.grant("other", RIGHTS_ON_OBJECTS);
    site.grant("other", &RIGHTS_OF_REPLICAS.replace("resourceNames: [dayone]", "resourceNames: [other]"));
    let settings = site.bare_settings("other").with_variable("IRONIC_BASE_URL", "");
    let second = settings.with_argument("--lease", "other").start_ready("other-0");
    second.wait("it leads, too", Duration::from_secs(20), || second.leads() && first.leads());
    site.create_image("host", &spec("iso"));
    let told =
        || site.events("host").into_iter().any(|(kind, reason, _)| kind == "Warning" && reason == "AnotherController");
    second.wait("it is told", Duration::from_secs(20), told);
    let writes = || {
        let all = [site.writes("dayone"), site.writes("other")].concat();
        all.iter().filter(|one| one.starts_with("patch preprovisioningimages/status")).count()
    };
    thread::sleep(Duration::from_secs(1));
    let before = writes();
    assert!(before <= 20, "{before} writes");
    thread::sleep(Duration::from_secs(3));
    assert_eq!(writes(), before, "they go on");
}

/// As when the operator's sidecar and a Deployment of dayone's own look after one namespace.
#[test]
fn two_controllers_with_keys_of_their_own_do_not_replace_each_others_urls_without_an_end() {
    let site = Site::new(ApiServer::shared());
    let first = site.start();
    site.create_image("host", &spec("iso"));
    let ready = site.wait_until_ready("host");
    assert_eq!(first.status(image_url(&ready)), Ok(200));
    let second = site.start_other_installation();
    let told =
        || site.events("host").into_iter().any(|(kind, reason, _)| kind == "Warning" && reason == "AnotherController");
    second.wait("it is told", Duration::from_secs(40), told);
    let count = || {
        let all = [site.writes("dayone"), site.writes("other")].concat();
        all.iter().filter(|one| one.starts_with("patch preprovisioningimages/status")).count()
    };
    second.wait("one of them stands back", Duration::from_secs(10), || {
        [&first, &second].iter().any(|one| one.metric("dayone_kubernetes_contested_objects") == Some(1.0))
    });
    thread::sleep(Duration::from_secs(1));
    let writes = count();
    assert!(writes <= 10, "{writes} writes");
    thread::sleep(Duration::from_secs(3));
    assert_eq!(count(), writes, "they go on");
    let log = format!("{}{}", first.log(), second.log());
    assert!(log.contains("--key-secret"), "{log}");
}

//! DataImages against a real API server: who attaches the drives, the baremetal-operator, is played by what it writes.

use std::path::Path;
use std::time::{Duration, Instant};

use acceptance::bases::fixtures;
use acceptance::drives;
use acceptance::kubernetes::ApiServer;
use acceptance::kubernetes::metal3::{API_VERSION, DATA_IMAGES, collection, object};
use acceptance::metal3::{Replica, Site};
use serde_json::{Value, json};

const KIND: &str = "dayone.metal3.io/data-image";
const NETWORK_DATA: &str = "dayone.metal3.io/network-data";
const USER_DATA: &str = "dayone.metal3.io/user-data";
const META_DATA: &str = "dayone.metal3.io/meta-data";
const FINALIZER: &str = "dataimage.metal3.io";

/// How long nothing more may happen.
const QUIET: Duration = Duration::from_millis(1500);

const NMSTATE: &str = "interfaces:
- name: enp1s0
  type: ethernet
  state: up
  identifier: mac-address
  mac-address: 52:54:00:00:00:01
  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}
";

fn create(site: &Site<'_>, name: &str, annotations: &Value, url: &str) -> Value {
    let object = json!({"apiVersion": API_VERSION, "kind": "DataImage",
        "metadata": {"name": name, "annotations": annotations}, "spec": {"url": url}});
    site.admin().create(&collection(&site.namespace, DATA_IMAGES), &object)
}

/// What the page shows, which names the Secrets `worker-0-network` and `worker-0-user-data`.
fn example() -> Value {
    let page = std::fs::read_to_string(fixtures("..").join("docs/metal3.md")).unwrap();
    let mut blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let block = blocks.find(|block| block.contains("kind: DataImage")).unwrap();
    serde_yaml::from_str(block).unwrap()
}

fn path(site: &Site<'_>, name: &str) -> String {
    object(&site.namespace, DATA_IMAGES, name)
}

fn url(object: &Value) -> &str {
    object["spec"]["url"].as_str().unwrap_or_default()
}

/// The URL that a DataImage has, once it is another than this one.
fn url_after(site: &Site<'_>, name: &str, before: &str) -> String {
    let is_another = |object: &Value| !url(object).is_empty() && url(object) != before;
    url(&site.admin().wait_until(&path(site, name), "another URL", is_another)).to_owned()
}

/// A Secret of which events tell.
fn create_labelled(site: &Site<'_>, name: &str, data: &Value) {
    site.create_secret(name, data);
    site.patch_secret(name, &json!({"metadata": {"labels": {"environment.metal3.io": "baremetal"}}}));
}

/// Writes the drive to a file, and unpacks it.
fn unpacked(replica: &Replica, url: &str, directory: &Path) -> std::path::PathBuf {
    let (iso, tree) = (directory.join("drive.iso"), directory.join("tree"));
    std::fs::write(&iso, replica.fetch(url)).unwrap();
    drives::unpack(&iso, &tree);
    tree
}

#[test]
fn a_drive_is_published_and_cloud_init_reads_from_it_what_the_secrets_say() {
    let site = Site::new(ApiServer::shared());
    let replica = site.start();
    site.create_secret("worker-0-network", &json!({"nmstate": NMSTATE}));
    site.create_secret("worker-0-user-data", &json!({"userData": "#cloud-config\nssh_pwauth: false\n"}));
    // As Cluster API's provider for Metal3 renders it.
    site.create_secret("meta", &json!({"metaData": "rack: 7\n"}));
    let mut example = example();
    example["metadata"]["annotations"][META_DATA] = json!("meta");
    let before = site.admin().create(&collection(&site.namespace, DATA_IMAGES), &example);
    let url = url_after(&site, "worker-0", "");
    assert!(url.ends_with("/data.iso"), "{url}");

    let directory = tempfile::tempdir().unwrap();
    let tree = unpacked(&replica, &url, directory.path());
    assert_eq!(drives::label(&directory.path().join("drive.iso")), "config-2");
    let found = drives::config_drive(&tree);
    assert_eq!(found["metadata"]["local-hostname"], "worker-0");
    assert_eq!(found["metadata"]["rack"], 7);
    assert_eq!(found["userdata"], "#cloud-config\nssh_pwauth: false\n");
    assert_eq!(found["networkdata"]["links"][0]["ethernet_mac_address"], "52:54:00:00:00:01");

    // Nothing else of it is changed.
    let mut after = site.admin().get(&path(&site, "worker-0"));
    for member in ["resourceVersion", "generation", "managedFields"] {
        after["metadata"][member] = before["metadata"][member].clone();
    }
    after["spec"] = before["spec"].clone();
    assert_eq!(after, before);
    replica.wait("an Event", Duration::from_secs(10), || {
        site.events("worker-0").iter().any(|(_, reason, _)| reason == "DataImagePublished")
    });
    let events = site.events("worker-0");
    assert!(events.iter().all(|(_, _, note)| !note.contains("/i/")), "{events:?}");
    let log = replica.log();
    assert!(!log.contains(&url) && !log.contains("ssh_pwauth"), "{log}");
}

#[test]
fn a_changed_secret_is_a_new_url_and_a_changed_label_is_none() {
    let site = Site::new(ApiServer::shared());
    let replica = site.start();
    create_labelled(&site, "net", &json!({"networkData": "version: 2\nethernets: {eth0: {dhcp4: true}}\n"}));
    create(&site, "worker-0", &json!({KIND: "cidata", NETWORK_DATA: "net"}), "http://192.0.2.1/mine.iso");
    let first = url_after(&site, "worker-0", "http://192.0.2.1/mine.iso");
    site.patch_secret("net", &json!({"metadata": {"labels": {"rack": "7"}}}));
    std::thread::sleep(QUIET);
    assert_eq!(url(&site.admin().get(&path(&site, "worker-0"))), first);
    site.patch_secret("net", &json!({"stringData": {"networkData": "version: 2\nethernets: {eth1: {dhcp4: true}}\n"}}));
    let second = url_after(&site, "worker-0", &first);
    let directory = tempfile::tempdir().unwrap();
    let tree = unpacked(&replica, &second, directory.path());
    let found = drives::seed(&tree);
    assert_eq!(found["network-config"]["ethernets"], json!({"eth1": {"dhcp4": true}}));
    assert_eq!(found["meta-data"]["local-hostname"], "worker-0");
    assert_eq!(replica.status(&first), Ok(200), "a host may be reading it");

    // A Secret without the label gets it, so that events tell of its changes.
    site.create_secret("user", &json!({"value": "#!/bin/sh\n"}));
    let annotations = json!({"metadata": {"annotations": {USER_DATA: "user"}}});
    site.admin().patch(&path(&site, "worker-0"), &annotations);
    let third = url_after(&site, "worker-0", &second);
    // Sooner than it would be asked for.
    std::thread::sleep(Duration::from_secs(11));
    let begin = Instant::now();
    site.patch_secret("user", &json!({"stringData": {"value": "#!/bin/bash\n"}}));
    url_after(&site, "worker-0", &third);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let writes = site.writes("dayone");
    let patches = writes.iter().filter(|one| one.starts_with("patch dataimages/ worker-0")).count();
    assert_eq!(patches, 4, "{writes:?}");
    let updates: Vec<_> = writes.iter().filter(|one| one.starts_with("update secrets")).collect();
    assert!(matches!(updates[..], [one] if one.starts_with("update secrets/ user")), "{writes:?}");
    let labelled = site.secret("user");
    assert_eq!(labelled["metadata"]["labels"]["environment.metal3.io"], "baremetal");
    assert!(labelled["metadata"]["ownerReferences"].is_null(), "it may be others' as well: {labelled:#}");
}

#[test]
fn objects_of_others_and_paused_ones_are_left_alone() {
    let site = Site::new(ApiServer::shared());
    let replica = site.start();
    create_labelled(&site, "user", &json!({"userData": "one"}));
    let theirs = create(&site, "theirs", &json!({USER_DATA: "user"}), "");
    let paused = json!({KIND: "cidata", "baremetalhost.metal3.io/paused": ""});
    let paused = create(&site, "paused", &paused, "http://192.0.2.1/mine.iso");
    create(&site, "ours", &json!({KIND: "cidata", USER_DATA: "user"}), "");
    let first = url_after(&site, "ours", "");
    std::thread::sleep(QUIET);
    assert_eq!(site.admin().get(&path(&site, "theirs")), theirs);
    assert_eq!(site.admin().get(&path(&site, "paused")), paused);

    let pause = |value: Value| json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": value}}});
    site.admin().patch(&path(&site, "ours"), &pause(json!("")));
    site.patch_secret("user", &json!({"stringData": {"userData": "two"}}));
    std::thread::sleep(QUIET);
    assert_eq!(url(&site.admin().get(&path(&site, "ours"))), first);
    site.admin().patch(&path(&site, "ours"), &pause(Value::Null));
    let second = url_after(&site, "ours", &first);

    // Given back to its user: the URL is theirs to change, and stands for nothing any more.
    site.admin().patch(&path(&site, "ours"), &json!({"metadata": {"annotations": {KIND: null}}}));
    replica.wait("nothing there", Duration::from_secs(10), || replica.status(&second) == Ok(404));
    assert_eq!(url(&site.admin().get(&path(&site, "ours"))), second);
}

#[test]
fn a_drive_is_there_for_as_long_as_its_object() {
    let site = Site::new(ApiServer::shared());
    let replica = site.start();
    create(&site, "worker-0", &json!({KIND: "config-2"}), "");
    let here = path(&site, "worker-0");
    let url = url_after(&site, "worker-0", "");
    site.admin().patch(&here, &json!({"metadata": {"finalizers": [FINALIZER]}}));
    site.admin().delete(&here);
    std::thread::sleep(QUIET);
    assert_eq!(replica.status(&url), Ok(200), "the host has it until it is detached");

    // A replica that starts now has it, too.
    let other = site.bare_settings("dayone").start_ready("dayone-1");
    assert_eq!(other.status(&url), Ok(200));
    site.admin().patch(&here, &json!({"metadata": {"finalizers": null}}));
    site.admin().wait_until(&here, "gone", Value::is_null);
    for replica in [&replica, &other] {
        replica.wait("nothing there", Duration::from_secs(10), || replica.status(&url) == Ok(404));
    }
    // A PreprovisioningImage's drive is not a DataImage's: neither list drops what belongs to the other.
    create(&site, "worker-1", &json!({KIND: "config-2"}), "");
    let url = url_after(&site, "worker-1", "");
    site.create_image("worker-1", &json!({"architecture": "x86_64", "acceptFormats": ["iso"]}));
    let image = site.wait_until_ready("worker-1");
    let late = site.bare_settings("dayone").start_ready("dayone-2");
    for there in [&url, image["status"]["imageUrl"].as_str().unwrap()] {
        assert_eq!(late.status(there), Ok(200), "{there}");
    }
}

/// dayone keeps drives in memory, and makes them again after a restart.
#[test]
fn a_paused_drive_whose_secret_changes_before_a_restart_is_reported_as_lost_until_the_change_is_undone() {
    let site = Site::new(ApiServer::shared());
    let mut replica = site.start();
    create_labelled(&site, "user", &json!({"userData": "one"}));
    create(&site, "worker-0", &json!({KIND: "cidata", USER_DATA: "user"}), "");
    let first = url_after(&site, "worker-0", "");
    let pause = |value: Value| json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": value}}});
    site.admin().patch(&path(&site, "worker-0"), &pause(json!("")));
    site.patch_secret("user", &json!({"stringData": {"userData": "two"}}));
    std::thread::sleep(QUIET);
    assert_eq!(replica.status(&first), Ok(200), "the host has it");

    replica.kill();
    let replica = site.bare_settings("dayone").start_ready("dayone-1");
    replica.wait("it leads", Duration::from_secs(40), || replica.leads());
    replica.wait("an Event", Duration::from_secs(20), || {
        site.events("worker-0").iter().any(|(kind, reason, _)| kind == "Warning" && reason == "ImageLost")
    });
    let failing = || replica.metric("dayone_kubernetes_failing_objects{reason=\"ImageLost\"}");
    assert_eq!((replica.status(&first), failing()), (Ok(404), Some(1.0)));
    assert_eq!(url(&site.admin().get(&path(&site, "worker-0"))), first, "a host may be reading it");
    let warning = replica.wait_for_log(&["WARN", "ImageLost", "worker-0"]);
    assert!(warning.contains("Fix: undo the change") && !warning.contains("/i/"), "{warning}");

    site.patch_secret("user", &json!({"stringData": {"userData": "one"}}));
    replica.wait("it is back", Duration::from_secs(20), || replica.status(&first) == Ok(200) && failing() == Some(0.0));
    site.patch_secret("user", &json!({"stringData": {"userData": "two"}}));
    site.admin().patch(&path(&site, "worker-0"), &pause(Value::Null));
    let second = url_after(&site, "worker-0", &first);
    assert_eq!(replica.status(&second), Ok(200));
}

#[test]
fn a_label_that_another_controller_removes_each_time_is_left_to_it_and_the_drive_stays() {
    let site = Site::new(ApiServer::shared());
    let replica = site.start();
    site.create_secret("user", &json!({"userData": "one"}));
    create(&site, "worker-0", &json!({KIND: "cidata", USER_DATA: "user"}), "");
    let told = || site.events("worker-0").into_iter().find(|(_, reason, _)| reason == "AnotherController");
    replica.wait("an Event", Duration::from_secs(30), || {
        if !site.secret("user")["metadata"]["labels"].is_null() {
            site.patch_secret("user", &json!({"metadata": {"labels": null}}));
        }
        told().is_some()
    });
    assert!(told().unwrap().2.contains("the Secret user"), "{:?}", told());
    let claims = || site.writes("dayone").iter().filter(|one| one.starts_with("update secrets/")).count();
    let before = claims();
    assert!(before <= 4, "{before} writes");
    let first = url_after(&site, "worker-0", "");
    site.patch_secret("user", &json!({"stringData": {"userData": "two"}}));
    let changed = |object: &Value| url(object) != first;
    site.admin().wait_until_within(Duration::from_secs(60), &path(&site, "worker-0"), "another URL", changed);
    assert_eq!(claims(), before, "dayone leaves the Secret alone");
}

#[test]
fn what_cannot_be_made_is_told_without_what_secrets_hold_and_made_once_it_can() {
    let site = Site::new(ApiServer::shared());
    let replica = site.start();
    let told = |name: &str, reason: &str| {
        let found = || site.events(name).into_iter().find(|(_, found, _)| found == reason);
        replica.wait(reason, Duration::from_secs(20), || found().is_some());
        let (kind, _, note) = found().unwrap();
        assert_eq!(kind, "Warning");
        assert!(!note.contains("hunter2"), "{note}");
        note
    };
    create(&site, "floppy", &json!({KIND: "floppy"}), "");
    assert!(told("floppy", "ConfigurationError").contains("use config-2, cidata or combustion"));

    create(&site, "missing", &json!({KIND: "cidata", USER_DATA: "later"}), "");
    assert_eq!(told("missing", "MissingSecret"), "the Secret later does not exist");
    create_labelled(&site, "later", &json!({"password": "hunter2"}));
    replica.wait("the key", Duration::from_secs(20), || {
        site.events("missing").iter().any(|(_, _, note)| note.contains("keys found: password"))
    });
    site.patch_secret("later", &json!({"stringData": {"userData": "#!/bin/sh\n"}}));
    url_after(&site, "missing", "");

    create_labelled(&site, "wrong", &json!({"nmstate": "interfaces: hunter2\n"}));
    create(&site, "wrong", &json!({KIND: "combustion", NETWORK_DATA: "wrong"}), "");
    let note = told("wrong", "DataImageInvalid");
    assert!(note.contains("Secret/wrong: data.nmstate"), "{note}");
    site.patch_secret("wrong", &json!({"stringData": {"nmstate": NMSTATE}}));
    let url = url_after(&site, "wrong", "");
    let directory = tempfile::tempdir().unwrap();
    let tree = unpacked(&replica, &url, directory.path());
    let keyfile = std::fs::read_to_string(tree.join("combustion/system-connections/enp1s0.nmconnection")).unwrap();
    assert!(keyfile.contains("192.0.2.10/24"), "{keyfile}");
    assert!(!replica.log().contains("hunter2"));
}

#[test]
fn every_replica_has_every_drive_and_one_writes() {
    let site = Site::new(ApiServer::shared());
    let replicas =
        [("one", "dayone-0"), ("two", "dayone-1")].map(|(account, pod)| site.settings(account).start_ready(pod));
    site.create_secret("user", &json!({"userData": "one"}));
    for host in 0..20 {
        create(&site, &format!("worker-{host}"), &json!({KIND: "cidata", USER_DATA: "user"}), "");
    }
    for host in 0..20 {
        let url = url_after(&site, &format!("worker-{host}"), "");
        let [one, two] = &replicas;
        // The other replica sees the object a little later, and lets who asks early wait.
        assert_eq!(one.fetch(&url), two.fetch(&url));
    }
    std::thread::sleep(QUIET);
    let patches = |account: &str| site.writes(account).iter().filter(|one| one.contains("dataimages")).count();
    let (one, two) = (patches("one"), patches("two"));
    assert_eq!((one.min(two), one.max(two)), (0, 20));
}

#[test]
fn a_cluster_without_data_images_is_served_and_gets_them_later() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let definition = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{DATA_IMAGES}.metal3.io");
    site.admin().delete(&definition);
    site.admin().wait_until(&definition, "gone", Value::is_null);
    let replica = site.start();
    replica.wait_for_log(&["dayone cannot watch dataimages"]);
    site.create_image("worker-0", &json!({"architecture": "x86_64", "acceptFormats": ["iso"]}));
    site.wait_until_ready("worker-0");
    let said = |log: &str| log.lines().filter(|line| line.contains("dataimages")).count();
    assert_eq!(said(&replica.log()), 1, "{}", replica.log());

    server.install_metal3();
    create(&site, "worker-0", &json!({KIND: "config-2"}), "");
    let url = url_after(&site, "worker-0", "");
    assert_eq!(replica.status(&url), Ok(200));
}

#[test]
fn two_controllers_with_keys_of_their_own_do_not_replace_each_others_drives_without_an_end() {
    let site = Site::new(ApiServer::shared());
    let _first = site.start();
    create(&site, "worker-0", &json!({KIND: "config-2"}), "");
    url_after(&site, "worker-0", "");
    let second = site.start_other_installation();
    let told = || {
        let events = site.events("worker-0");
        events.into_iter().any(|(kind, reason, _)| kind == "Warning" && reason == "AnotherController")
    };
    second.wait("it is told", Duration::from_secs(40), told);
    let generation = || site.admin().get(&path(&site, "worker-0"))["metadata"]["generation"].as_u64().unwrap();
    std::thread::sleep(QUIET);
    let before = generation();
    assert!(before <= 10, "{before} changes");
    std::thread::sleep(QUIET);
    assert_eq!(generation(), before, "they go on");
}

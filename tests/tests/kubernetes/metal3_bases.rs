//! `dayone controller` without base images or settings: at its start, for a moment, and beside a replica that has them.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use acceptance::kubernetes::ApiServer;
use acceptance::metal3::{Replica, Site, condition, image_url, is_true};
use serde_json::{Value, json};

/// How often dayone looks for bases, and a little longer.
const SCAN: Duration = Duration::from_secs(8);

fn spec(format: &str) -> Value {
    json!({"architecture": "x86_64", "acceptFormats": [format]})
}

fn move_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        fs::rename(from.join(&name), to.join(&name)).unwrap();
    }
}

fn wait_until_not_ready(replica: &Replica, reason: &str) -> String {
    replica.wait(reason, Duration::from_secs(40), || {
        replica.probe("readyz").is_some_and(|(status, why)| status == 503 && why.contains(reason))
    });
    replica.probe("readyz").unwrap().1
}

fn holder(site: &Site) -> Value {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/dayone", site.namespace);
    site.admin().get(&path)["spec"]["holderIdentity"].clone()
}

#[test]
fn an_empty_folder_of_bases_is_not_ready_and_says_so_until_they_come() {
    let site = Site::new(ApiServer::shared());
    let folder = site.bases.path("");
    let elsewhere = tempfile::tempdir_in(folder.parent().unwrap()).unwrap();
    move_all(&folder, elsewhere.path());
    let replica = site.settings("dayone").start("dayone-0");
    let why = wait_until_not_ready(&replica, "there are no base images");
    assert!(why.contains("ironic-python-agent.iso") && why.contains("ironic-python-agent.initramfs"), "{why}");
    assert_eq!(replica.probe("healthz").map(|(status, _)| status), Some(200));
    move_all(elsewhere.path(), &folder);
    replica.wait_until_ready();
}

#[test]
fn if_nobody_has_bases_the_objects_say_so_and_deleted_ones_go() {
    let site = Site::new(ApiServer::shared());
    let folder = site.bases.path("");
    let elsewhere = tempfile::tempdir_in(folder.parent().unwrap()).unwrap();
    site.create_image("host", &spec("iso"));
    site.create_image("leaving", &spec("iso"));
    let mut replica = site.start();
    let ready = site.wait_until_ready("host");
    site.wait_until_ready("leaving");
    replica.terminate();
    replica.wait_until_ended(Duration::from_secs(20));
    move_all(&folder, elsewhere.path());
    site.delete_image("leaving");

    let replica = site.settings("dayone").start("dayone-0");
    let why = |image: &Value| condition(image, "Ready")["message"].as_str().unwrap_or_default().to_owned();
    replica.wait("the reason in the object", Duration::from_secs(120), || {
        why(&site.image("host")).contains("there are no base images")
    });
    let image = site.image("host");
    assert_eq!((image_url(&image), is_true(&image, "Ready")), (image_url(&ready), false), "{image}");
    // The alert about a missing leader goes on while it holds the Lease to write such reasons.
    replica.wait("its next turn", Duration::from_secs(60), || holder(&site) != "");
    assert_eq!(replica.metric("dayone_kubernetes_leader"), Some(0.0), "{}", replica.log());
    replica.wait("the deleted object goes", Duration::from_secs(10), || {
        site.admin().find(&site.image_path("leaving")).is_none()
    });
    replica.wait("it leaves the Lease to others", Duration::from_secs(20), || !replica.leads() && holder(&site) == "");
    move_all(elsewhere.path(), &folder);
    replica.wait_until_ready();
    assert_eq!(image_url(&site.wait_until_ready("host")), image_url(&ready));
}

#[test]
fn a_replica_whose_base_is_still_to_come_is_not_ready_and_takes_nothing_back() {
    let site = Site::new(ApiServer::shared());
    site.create_image("host", &spec("iso"));
    let mut replica = site.start();
    let ready = site.wait_until_ready("host");
    replica.kill();
    let iso = site.bases.path("ironic-python-agent.iso");
    let whole = fs::read(&iso).unwrap();
    fs::write(&iso, "the first bytes of an ISO").unwrap();

    let replica = site.settings("dayone").start("dayone-0");
    wait_until_not_ready(&replica, "not all images");
    sleep(Duration::from_secs(1));
    assert!(!replica.is_ready());
    assert_eq!(site.image("host")["status"], ready["status"], "the image will be the same");
    fs::write(&iso, whole).unwrap();
    replica.wait_until_ready();
    assert_eq!(replica.status(image_url(&ready)), Ok(200));
}

#[test]
fn a_replica_without_bases_leaves_the_lease_and_takes_nothing_back() {
    let site = Site::new(ApiServer::shared());
    site.create_image("host", &spec("iso"));
    let settings = site.settings("dayone");
    let mut whole = settings.start_ready("dayone-0");
    let ready = site.wait_until_ready("host");

    let folder = tempfile::tempdir().unwrap();
    let of_folder = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut others = settings.clone();
    for (variable, value) in site.bases.environment() {
        let name = Path::new(&value).file_name().unwrap().to_str().unwrap();
        let value = if variable == "IMAGE_SHARED_DIR" { of_folder("") } else { of_folder(name) };
        others = others.with_variable(variable, value);
    }
    let without = others.start("dayone-1");
    wait_until_not_ready(&without, "there are no base images");
    whole.terminate();
    assert_eq!(whole.wait_until_ended(Duration::from_secs(20)), 0);
    sleep(Duration::from_secs(5));
    assert!(!without.leads(), "{}", without.log());
    assert_eq!(holder(&site), "");
    assert_eq!(site.image("host")["status"], ready["status"]);
    without.wait_for_log(&["WARN", "can make no images"]);

    // With bases, it does.
    for entry in fs::read_dir(site.bases.path("")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    without.wait("it leads", Duration::from_secs(30), || without.leads());
    without.wait_until_ready();
    assert_eq!(without.status(image_url(&ready)), Ok(200));
    assert_eq!(site.image("host")["status"], ready["status"]);
}

/// As in a roll-out with a path that is mistyped: the replicas before it must stay, and keep the Lease.
#[test]
fn a_replica_that_cannot_read_its_settings_is_not_ready_and_leaves_the_lease() {
    let site = Site::new(ApiServer::shared());
    site.create_image("host", &spec("iso"));
    let settings = site.settings("dayone");
    let mut whole = settings.start_ready("dayone-0");
    let ready = site.wait_until_ready("host");

    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("ca.crt");
    let without = settings.with_variable("IRONIC_CA_BUNDLE", bundle.display().to_string()).start("dayone-1");
    wait_until_not_ready(&without, "failed to read Ironic's CA bundle");
    without.wait_for_log(&["WARN", "can make no images"]);
    // As a ConfigMap that nothing has filled yet.
    fs::write(&bundle, "").unwrap();
    wait_until_not_ready(&without, "IRONIC_CA_BUNDLE holds no certificate");
    // Longer than dayone assumes that an image will be ready in a moment.
    sleep(Duration::from_secs(66));
    let why = without.probe("readyz").expect("an answer");
    assert!(why.0 == 503 && why.1.contains("IRONIC_CA_BUNDLE holds no certificate"), "{why:?}");
    whole.terminate();
    assert_eq!(whole.wait_until_ended(Duration::from_secs(20)), 0);
    sleep(Duration::from_secs(3));
    assert!(!without.leads(), "{}", without.log());
    assert_eq!(holder(&site), "");
    assert_eq!(site.image("host")["status"], ready["status"]);

    fs::write(&bundle, "-----BEGIN CERTIFICATE-----\nZmlyc3Q=\n-----END CERTIFICATE-----\n").unwrap();
    without.wait_until_ready();
    without.wait("it leads", Duration::from_secs(30), || without.leads());
    let other = site.wait_for_image("host", "an image with the bundle", |image| {
        is_true(image, "Ready") && image_url(image) != image_url(&ready)
    });
    assert_eq!(without.status(image_url(&other)), Ok(200));

    // It serves its images, whatever happens to the file later.
    fs::remove_file(&bundle).unwrap();
    without.wait("it does not lead", Duration::from_secs(20), || !without.leads() && holder(&site) == "");
    assert!(without.is_ready(), "{}", without.log());
    assert_eq!(without.status(image_url(&other)), Ok(200));
}

#[test]
fn a_folder_of_bases_that_is_away_for_a_moment_takes_no_image_away() {
    let site = Site::new(ApiServer::shared());
    let replica = site.start();
    site.create_image("host", &spec("iso"));
    site.create_image("next", &spec("initrd"));
    let before = ["host", "next"].map(|name| site.wait_until_ready(name));
    let folder = site.bases.path("");
    let away = tempfile::tempdir_in(folder.parent().unwrap()).unwrap();
    let away = away.path().join("bases");
    let is_as_before = || {
        before.iter().all(|image| site.image(image["metadata"]["name"].as_str().unwrap())["status"] == image["status"])
    };

    // It cannot be read.
    fs::rename(&folder, &away).unwrap();
    wait_until_not_ready(&replica, "no base image is usable");
    replica.wait("it does not lead", Duration::from_secs(10), || !replica.leads() && holder(&site) == "");
    sleep(SCAN);
    assert!(is_as_before(), "{}", replica.log());
    fs::rename(&away, &folder).unwrap();
    replica.wait_until_ready();
    replica.wait("it leads again", Duration::from_secs(10), || replica.leads());
    assert!(is_as_before());

    // It is empty, as the mount point of a file system that is away.
    fs::create_dir(&away).unwrap();
    move_all(&folder, &away);
    wait_until_not_ready(&replica, "there are no base images");
    sleep(SCAN);
    // An alert looks at the bases that are not available.
    let metrics = replica.probe("metrics").expect("an answer").1;
    let is_away = |line: &str| line.starts_with("dayone_base_available{") && line.ends_with(" 0");
    assert!(metrics.lines().any(is_away), "{metrics}");
    move_all(&away, &folder);
    replica.wait_until_ready();
    replica.wait("it leads again", Duration::from_secs(10), || replica.leads());
    assert!(is_as_before());

    // One of the files is not there.
    let iso = site.bases.path("ironic-python-agent.iso");
    fs::rename(&iso, away.join("iso")).unwrap();
    sleep(SCAN);
    assert!(is_as_before());
    fs::rename(away.join("iso"), &iso).unwrap();
    sleep(SCAN);
    assert!(is_as_before());
    for image in &before {
        assert_eq!(replica.status(image_url(image)), Ok(200));
    }
}

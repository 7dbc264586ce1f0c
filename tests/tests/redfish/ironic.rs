//! Ironic as the client: it hands dayone's URLs to BMCs, or takes the image itself and publishes what it got.

use std::fs;
use std::thread;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::ironic::{DownloadSource, Ironic};
use acceptance::peers::run;
use acceptance::server::{Server, dayone};
use acceptance::sushy::Emulator;
use serde_json::{Value, json};

/// One Ironic for all: what is tested is how it takes images, and each case has a dayone and a BMC of its own.
#[test]
fn ironic_deploys_what_dayone_serves() {
    let ironic = Ironic::start();
    thread::scope(|scope| {
        scope.spawn(|| the_bmc_is_given_our_url(&ironic));
        scope.spawn(|| ironic_downloads_once_and_publishes_our_bytes(&ironic));
        scope.spawn(|| an_agent_is_booted_from_our_url_and_ejected(&ironic));
        scope.spawn(|| a_released_image_is_told(&ironic, DownloadSource::Http));
        scope.spawn(|| a_released_image_is_told(&ironic, DownloadSource::Local));
    });
}

/// dayone with one image, and the same image written by `dayone build`.
struct Published {
    server: Server,
    id: String,
    url: String,
    bytes: Vec<u8>,
}

impl Published {
    fn new() -> Self {
        let base = coreos_iso(&[]);
        let host = fixtures("scenarios").join("static-ipv4-baremetalhost.yaml");
        let server = Server::start("coreos", &base);
        let image = server.image("coreos", &host);
        let built = server.directory().join("built.iso");
        run(dayone()
            .args(["build", "--format", "iso", "--host"])
            .arg(&host)
            .arg("--base")
            .arg(&base)
            .arg("-o")
            .arg(&built));
        let text = |name: &str| image[name].as_str().unwrap().to_owned();
        Self { id: text("id"), url: text("url"), bytes: fs::read(built).unwrap(), server }
    }

    fn bmc(&self, name: &str) -> Emulator {
        Emulator::start(&self.server.directory().join(name))
    }

    /// How often the image was asked for by HEAD and by GET since dayone started, and how many bytes of it were sent.
    fn asked(&self) -> (u64, u64, u64) {
        let url = format!("{}/v1/images/{}/reading", self.server.api, self.id);
        let reading: Value = reqwest::blocking::get(url).unwrap().json().unwrap();
        let clients = reading.pointer("/files/0/clients").and_then(Value::as_array).cloned().unwrap_or_default();
        let sum = |name: &str| clients.iter().map(|client| client[name].as_u64().unwrap()).sum();
        (sum("heads"), sum("gets"), sum("sent"))
    }

    fn size(&self) -> u64 {
        u64::try_from(self.bytes.len()).unwrap()
    }

    #[track_caller]
    fn assert_read_by(&self, bmc: &Emulator) {
        let fetched = bmc.fetched();
        let [image] = fetched.as_slice() else { panic!("the BMC has read {fetched:?}") };
        assert!(fs::read(image).unwrap() == self.bytes, "{image:?} has other bytes than dayone build writes");
    }
}

fn the_bmc_is_given_our_url(ironic: &Ironic) {
    let ours = Published::new();
    let bmc = ours.bmc("bmc");
    let node = ironic.ramdisk_node("raw-url", &bmc, &ours.url, DownloadSource::Http);
    node.provision("active", "active");
    let media = bmc.media();
    assert_eq!((&media["Inserted"], &media["Image"]), (&json!(true), &json!(ours.url)));
    ours.assert_read_by(&bmc);
    assert_eq!(ours.asked(), (0, 1, ours.size()), "the BMC, and nobody else, reads the image once");

    node.provision("deleted", "available");
    assert_eq!(bmc.media()["Inserted"], json!(false));
}

fn ironic_downloads_once_and_publishes_our_bytes(ironic: &Ironic) {
    let mut ours = Published::new();
    let (first, second) = (ours.bmc("first"), ours.bmc("second"));
    let node = ironic.ramdisk_node("republished", &first, &ours.url, DownloadSource::Local);
    node.provision("active", "active");
    let published = ironic.republishes(&node);
    assert!(published.is_some() && first.media()["Image"].as_str() == published.as_deref(), "{}", first.media());
    ours.assert_read_by(&first);
    let (heads, gets, sent) = ours.asked();
    assert!(
        heads > 0 && (gets, sent) == (1, ours.size()),
        "Ironic asks, and reads the image once: {heads} {gets} {sent}"
    );

    // It keeps an image for as long as Last-Modified is not after what it has, which a restart of ours must not change.
    ours.server.kill_and_start_again();
    let node = ironic.ramdisk_node("from-cache", &second, &ours.url, DownloadSource::Local);
    node.provision("active", "active");
    ours.assert_read_by(&second);
    let (heads, gets, sent) = ours.asked();
    assert!(heads > 0 && (gets, sent) == (0, 0), "Ironic asks, and has the image: {heads} {gets} {sent}");
}

fn an_agent_is_booted_from_our_url_and_ejected(ironic: &Ironic) {
    let ours = Published::new();
    let bmc = ours.bmc("bmc");
    let node = ironic.direct_node("agent", &bmc, &ours.url);
    node.provision("active", "wait call-back");
    let media = bmc.media();
    assert_eq!((&media["Inserted"], &media["Image"]), (&json!(true), &json!(ours.url)));
    ours.assert_read_by(&bmc);
    assert_eq!(node.show()["power_state"], "power on");
    let boot = &bmc.system_state()["Boot"];
    assert_eq!(boot["BootSourceOverrideTarget"], "Cd", "{boot}");

    node.provision("deleted", "available");
    assert_eq!(bmc.media()["Inserted"], json!(false));
    assert_eq!(bmc.fetched(), Vec::<std::path::PathBuf>::new());
}

fn a_released_image_is_told(ironic: &Ironic, source: DownloadSource) {
    let ours = Published::new();
    let bmc = ours.bmc("bmc");
    ours.server.release(&ours.id);
    let node = ironic.ramdisk_node(&format!("released-{source:?}"), &bmc, &ours.url, source);
    let error = node.deploy_fails();
    assert!(error.contains("404") && error.contains(&ours.url), "{error}");
    assert_eq!(bmc.media()["Inserted"], json!(false));
}

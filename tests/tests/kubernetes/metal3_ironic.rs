//! Ironic with what a PreprovisioningImage's status says, as the baremetal-operator hands it on. Ironic downloads images
//! itself, which is its default: every boot of a host costs a download of the whole image, unless Ironic sees that it has it.

use std::fs;
use std::thread;

use acceptance::bases::extracted;
use acceptance::ironic::{DownloadSource, Ironic, Node};
use acceptance::kubernetes::ApiServer;
use acceptance::metal3::{Replica, Site};
use acceptance::server::free_address;
use acceptance::sushy::Emulator;
use serde_json::{Value, json};

const NMSTATE: &str = "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  ipv4: {enabled: true, dhcp: true}\n";

/// A host of the site: its PreprovisioningImage, and its BMC.
struct Host<'a> {
    name: &'a str,
    site: &'a Site<'a>,
    bmc: Emulator,
}

impl<'a> Host<'a> {
    fn new(site: &'a Site<'a>, ironic: &Ironic, name: &'a str, format: &str) -> Self {
        let secret = format!("{name}-network");
        site.create_secret(&secret, &json!({"nmstate": NMSTATE}));
        let spec = json!({"architecture": "x86_64", "acceptFormats": [format], "networkDataName": secret});
        site.create_image(name, &spec);
        Self { name, site, bmc: Emulator::start(&ironic.directory().join(name)) }
    }

    /// What the status says once the image is ready.
    fn status(&self, field: &str) -> String {
        let image = self.site.wait_until_ready(self.name);
        image["status"][field].as_str().unwrap_or_else(|| panic!("no {field}: {image:#}")).to_owned()
    }

    /// The image that its BMC has read.
    fn inserted(&self, ironic: &Ironic, node: &Node<'_>) -> std::path::PathBuf {
        let published = ironic.republishes(node);
        assert!(
            published.is_some() && self.bmc.media()["Image"].as_str() == published.as_deref(),
            "{}",
            self.bmc.media()
        );
        let mut images = self.bmc.fetched();
        assert_eq!(images.len(), 1, "{images:?}");
        images.remove(0)
    }
}

/// How often a replica was asked for a file by HEAD, and how many bytes each answer to a GET had.
fn asked(replica: &Replica, file: &str) -> (usize, Vec<u64>) {
    let log = replica.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines: Vec<_> = lines.filter(|line| line["message"] == "media" && line["file"] == file).collect();
    assert!(lines.iter().all(|line| line["status"] == 200), "{lines:#?}");
    let by = |method: &'static str| lines.iter().filter(move |line| line["method"] == method);
    (by("HEAD").count(), by("GET").map(|line| line["length"].as_u64().unwrap()).collect())
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap()
}

#[test]
fn ironic_downloads_an_image_once_however_often_a_host_boots_it() {
    let site = Site::new(ApiServer::shared());
    let address = free_address();
    let settings = site.settings("dayone").with_argument("--images-bind-addr", &address);
    let settings = settings.with_argument("--images-publish-addr", &format!("http://{address}"));
    let settings = settings.with_variable("DAYONE_LOG", "info,dayone::media=debug");
    let mut replica = settings.start_ready("dayone-0");
    let ironic = Ironic::start_with(DownloadSource::Local);
    let by_iso = Host::new(&site, &ironic, "virtual-media", "iso");
    let by_network = Host::new(&site, &ironic, "network", "initrd");

    let url = by_iso.status("imageUrl");
    let node = ironic.agent_node(by_iso.name, &by_iso.bmc, json!({"deploy_iso": url}));
    thread::scope(|scope| {
        scope.spawn(|| node.provision("active", "wait call-back"));
        scope.spawn(|| an_iso_is_made_of_kernel_and_initramfs(&ironic, &replica, &by_network));
    });
    let image = fs::read(by_iso.inserted(&ironic, &node)).unwrap();
    let (heads, gets) = asked(&replica, "boot.iso");
    assert!(heads > 0 && gets == [length(&image)], "Ironic asks, and reads the image once: {heads} {gets:?}");

    // The host is deprovisioned, dayone is updated meanwhile, and the host is provisioned again.
    node.provision("deleted", "available");
    replica.kill();
    let replica = settings.start_ready("dayone-1");
    assert_eq!(by_iso.status("imageUrl"), url);
    node.set_instance();
    node.provision("active", "wait call-back");
    assert!(fs::read(by_iso.inserted(&ironic, &node)).unwrap() == image);
    let (heads, gets) = asked(&replica, "boot.iso");
    assert!(heads > 0 && gets.is_empty(), "Ironic asks, and has the image: {heads} {gets:?}");
    let ours = reqwest::blocking::get(&url).unwrap().bytes().unwrap();
    assert!(ours == image, "the BMC has read something else than dayone serves");
}

/// What the baremetal-operator gives where the status has an initramfs: Ironic makes the ISO.
fn an_iso_is_made_of_kernel_and_initramfs(ironic: &Ironic, replica: &Replica, host: &Host<'_>) {
    let [ramdisk, kernel, parameters] = ["imageUrl", "kernelUrl", "extraKernelParams"].map(|field| host.status(field));
    assert!(parameters.starts_with("coreos.live.rootfs_url=http"), "{parameters}");
    let driver = json!({
        "deploy_kernel": kernel,
        "deploy_ramdisk": ramdisk,
        "kernel_append_params": format!("%default% {parameters}"),
        "bootloader": ironic.publish("esp.img", &[0; 1 << 16]),
    });
    let node = ironic.agent_node(host.name, &host.bmc, driver);
    node.provision("active", "wait call-back");
    let iso = host.inserted(ironic, &node);
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str| fs::read(extracted(&iso, path, directory.path())).unwrap();
    for (url, path, name) in [(&ramdisk, "/initrd", "initrd.img"), (&kernel, "/vmlinuz", "vmlinuz")] {
        let on_iso = file(path);
        // It keeps no kernels and no initramfs images, and so asks for nothing but the whole.
        assert_eq!(asked(replica, name), (0, vec![length(&on_iso)]), "{path}");
        assert!(reqwest::blocking::get(url).unwrap().bytes().unwrap() == on_iso, "{path} is not what dayone serves");
    }
    let menu = String::from_utf8(file("/EFI/BOOT/grub.cfg")).unwrap();
    assert!(menu.contains(&parameters), "{menu}");
}

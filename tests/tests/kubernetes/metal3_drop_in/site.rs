//! Where image-customization-controller runs: the files, the rights and the environment that it is given.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::coreos_iso;
use acceptance::container::{Container, Program};
use acceptance::kubernetes::ApiServer;
use acceptance::metal3::Site;
use acceptance::one_host::NMSTATE;
use acceptance::peers::run_text;
use acceptance::server::{free_address, wait_for};
use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};

/// Where the operator has the images put.
const IMAGES: &str = "/shared/html/images";

/// Where a Pod finds its service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDvSCYUhGduzFdqUcE1zxjdSIlvJN/I3Vknp8ot8UKId ops@example";

/// What the pull secret is, once it is decoded.
pub const PULL_SECRET: &str = r#"{"auths":{"registry.example.com":{"auth":"dXNlcjp0b3BzM2NyZXQ="}}}"#;

/// As `base64` writes it, with its line breaks.
const ENCODED_PULL_SECRET: &str =
    "eyJhdXRocyI6eyJyZWdpc3RyeS5leGFtcGxlLmNvbSI6eyJhdXRoIjoiZFhObGNqcDBiM0J6TTJO\neVpYUT0ifX19\n";

const REGISTRIES: &str = "[[registry]]\n  location = \"registry.example.com\"\n  insecure = false\n";

pub const CERTIFICATES: &str = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUexample\n-----END CERTIFICATE-----\n";

pub const CA_BUNDLE: &str = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt";

/// What the cluster-baremetal-operator's account may do.
const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: operator}
rules:
- {apiGroups: [metal3.io], resources: [preprovisioningimages], verbs: [create, delete, get, list, patch, update, watch]}
- {apiGroups: [metal3.io], resources: [preprovisioningimages/status], verbs: [get, patch, update]}
- {apiGroups: [''], resources: [secrets], verbs: [create, delete, get, list, patch, update, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: operator}
";

pub const OPERATOR: &str = "cluster-baremetal-operator";

/// A namespace with bases of two architectures in two streams.
pub fn site() -> Site<'static> {
    let site = Site::new(ApiServer::shared());
    site.bases.put("-rhel-10", "x86_64", &coreos_iso(&["--size-mib", "8"]));
    site.bases.put("-rhel-10", "aarch64", &coreos_iso(&["--layout", "aarch64", "--size-mib", "8"]));
    site
}

/// Asks for an image of a host, whose network is [`NMSTATE`].
pub fn ask(site: &Site<'_>, host: &str, labels: &Value, architecture: &str, formats: &[&str]) {
    let secret = format!("{host}-network");
    site.create_secret(&secret, &json!({"nmstate": NMSTATE}));
    let spec = json!({"architecture": architecture, "acceptFormats": formats, "networkDataName": secret});
    site.create_image_with(host, &json!({"labels": labels}), &spec);
}

/// A container with the images where `copy-metal` of machine-os-images puts them.
pub fn with_copied_images(site: &Site<'_>) -> Container {
    let mut container = Container::new();
    let image = site.bases.path("ironic-python-agent.iso");
    container.mount(image.parent().unwrap(), IMAGES);
    container
}

/// The environment that cluster-baremetal-operator gives, and the files that it mounts.
pub fn operator_environment(container: &Container) -> Vec<(&'static str, &'static str)> {
    container.write("/etc/containers/registries.conf", REGISTRIES);
    container.write(CA_BUNDLE, CERTIFICATES);
    container.write("/run/secrets/pull-secret", ENCODED_PULL_SECRET);
    vec![
        ("DEPLOY_ISO", "/shared/html/images/ironic-python-agent.iso"),
        ("DEPLOY_INITRD", "/shared/html/images/ironic-python-agent.initramfs"),
        ("DEPLOY_KERNEL", "/shared/html/images/ironic-python-agent.kernel"),
        ("IMAGE_SHARED_DIR", IMAGES),
        ("IRONIC_BASE_URL", "https://192.0.2.10:6385,https://[2001:db8::10]:6385"),
        ("IRONIC_AGENT_IMAGE", "registry.example.com/ironic-agent@sha256:00ff"),
        ("REGISTRIES_CONF_PATH", "/etc/containers/registries.conf"),
        ("IP_OPTIONS", "ip=dhcp,dhcp6"),
        ("ADDITIONAL_NTP_SERVERS", "ntp.example.com,192.0.2.123"),
        ("CA_BUNDLE", CA_BUNDLE),
        ("IRONIC_ROOTFS_URL", "http://192.0.2.10:6180/images/ironic-python-agent.rootfs"),
        ("IRONIC_RAMDISK_SSH_KEY", KEY),
        ("HTTP_PROXY", "http://proxy.example.com:3128"),
        ("HTTPS_PROXY", "http://user:p%41ss@proxy.example.com:3128"),
        ("NO_PROXY", ".cluster.local,.svc,localhost"),
    ]
}

/// The operator's service account with its rights and no others, as Kubernetes mounts it. Returns the variables that
/// Kubernetes adds.
pub fn in_cluster(site: &Site<'_>, container: &Container) -> [(&'static str, &'static str); 2] {
    site.grant(OPERATOR, RIGHTS);
    container.write(&format!("{ACCOUNT}/token"), site.server.token(&site.user(OPERATOR)));
    container.write(&format!("{ACCOUNT}/ca.crt"), site.server.authority());
    container.write(&format!("{ACCOUNT}/namespace"), &site.namespace);
    let port = site.server.origin.rsplit(':').next().unwrap().to_owned();
    [("KUBERNETES_SERVICE_HOST", "127.0.0.1"), ("KUBERNETES_SERVICE_PORT", port.leak())]
}

/// A controller that serves, and the addresses that were found for it.
pub struct Running {
    pub program: Program,
    pub images: String,
    client: Client,
}

impl Running {
    /// Starts it with the line that `line` makes of two addresses, for images and for metrics, and waits until it is ready.
    pub fn start(
        container: &Container,
        environment: &[(&str, &str)],
        line: impl FnOnce(&str, &str) -> Vec<String>,
    ) -> Self {
        let (images, metrics) = (free_address(), free_address());
        let line = line(&images, &metrics);
        let program = container.start(&line.iter().map(String::as_str).collect::<Vec<_>>(), environment);
        wait_for(&format!("http://{metrics}/readyz"), std::time::Duration::from_secs(60), || program.log());
        let client = Client::builder().no_proxy().tls_danger_accept_invalid_certs(true).build().unwrap();
        Self { program, images, client }
    }

    /// What is answered to whoever gets here by this URL.
    pub fn get(&self, url: &str) -> Response {
        let (scheme, rest) = url.split_once("://").unwrap();
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        self.client.get(format!("{scheme}://{}/{path}", self.images)).send().unwrap()
    }

    /// The bytes behind a URL.
    pub fn fetch(&self, url: &str) -> Vec<u8> {
        let answer = self.get(url);
        assert_eq!(answer.status(), 200, "{url}\n{}", self.program.log());
        answer.bytes().unwrap().to_vec()
    }

    /// The image behind a URL, as a file.
    pub fn fetch_to(&self, url: &str, directory: &Path) -> PathBuf {
        let path = directory.join("image");
        fs::write(&path, self.fetch(url)).unwrap();
        path
    }
}

/// A block device with the content of a file, which it is gone with.
pub struct LoopDevice(pub PathBuf);

impl LoopDevice {
    /// None where there are no such devices, or where only others than this user may have one.
    pub fn of(file: &Path) -> Option<Self> {
        let mut losetup = Command::new("losetup");
        let output = losetup.args(["--find", "--show", "--read-only"]).arg(file).output().unwrap();
        let device = String::from_utf8(output.stdout).unwrap();
        output.status.success().then(|| Self(device.trim().into()))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        run_text(Command::new("losetup").arg("--detach").arg(&self.0));
    }
}

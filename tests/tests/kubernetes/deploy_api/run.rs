//! dayone as the manifests start it, with the rights that they give it and no others.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use acceptance::bases::coreos_iso;
use acceptance::kubernetes::ApiServer;
use acceptance::kubernetes::metal3::{API_VERSION, PREPROVISIONING_IMAGES, collection};
use acceptance::kustomize::{each, kustomization, named, object};
use acceptance::server::{dayone, free_address, wait_for};
use imagelib::cpio::Archive;
use serde_json::{Value, json};

use super::sites::ONE_NAMESPACE;
use super::{access, create};

const ACCOUNT: &str = "system:serviceaccount:one:dayone";

/// What else a cluster would say: the kubelet's values, and places on this machine.
struct Machine<'a> {
    directory: &'a Path,
    images: String,
    metrics: String,
}

impl Machine<'_> {
    /// A variable of the Pod.
    fn variable(&self, variable: &Value) -> String {
        match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
            Some("metadata.name") => "dayone-0".to_owned(),
            Some("metadata.namespace") => "one".to_owned(),
            Some(other) => panic!("{other}"),
            None if variable["name"] == "IMAGES_PUBLISH_ADDR" => format!("http://{}", self.images),
            None => self.here(variable["value"].as_str().expect("a value")),
        }
    }

    fn here(&self, text: &str) -> String {
        let directory = self.directory.to_str().expect("a path");
        let places = [
            ("addr=:8084", format!("addr={}", self.images)),
            ("addr=:8080", format!("addr={}", self.metrics)),
            ("/shared/html/images", format!("{directory}/bases")),
            ("/var/cache/dayone", format!("{directory}/cache")),
        ];
        places.iter().fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
    }
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(server: &ApiServer, machine: &Machine<'_>) -> Running {
    let objects = kustomization(ONE_NAMESPACE);
    let pod = &object(&objects, "Deployment", "dayone")["spec"]["template"]["spec"];
    let container = named(&pod["containers"], "dayone");
    let name = |variable: &Value| variable["name"].as_str().expect("a name").to_owned();
    let variables: HashMap<_, _> =
        each(&container["env"]).map(|variable| (name(variable), machine.variable(variable))).collect();
    let expanded = |argument: &Value| {
        let argument = machine.here(argument.as_str().expect("a text"));
        variables.iter().fold(argument, |argument, (name, value)| argument.replace(&format!("$({name})"), value))
    };
    let mut command = dayone();
    command.arg(container["command"][1].as_str().expect("a command")).args(each(&container["args"]).map(expanded));
    command.envs(&variables).envs([("IRONIC_BASE_URL", "https://192.0.2.5:6385"), ("IRONIC_AGENT_IMAGE", "agent")]);
    command.env("KUBECONFIG", server.kubeconfig(ACCOUNT)).stdin(Stdio::null());
    command.stderr(File::create(machine.directory.join("log")).expect("a file"));
    Running(command.spawn().expect("dayone"))
}

#[test]
fn its_rights_are_enough() {
    let server = ApiServer::start();
    server.install_metal3();
    create(server.admin(), access(&kustomization(ONE_NAMESPACE)), "one");
    let directory = tempfile::tempdir().expect("a directory");
    for name in ["bases", "cache"] {
        fs::create_dir(directory.path().join(name)).expect("a directory");
    }
    let base = |suffix: &str| directory.path().join(format!("bases/ironic-python-agent.{suffix}"));
    fs::copy(coreos_iso(&["--tiny"]), base("iso")).expect("a copy");
    // There to be found: no host asks for it.
    let mut archive = Archive::new();
    archive.file("init".parse().expect("a path"), 0o755, "").expect("a file");
    fs::write(base("initramfs"), archive.to_bytes()).expect("a file");
    let machine = Machine { directory: directory.path(), images: free_address(), metrics: free_address() };
    let log = || fs::read_to_string(directory.path().join("log")).unwrap_or_default();
    let _running = start(&server, &machine);
    wait_for(&format!("http://{}/readyz", machine.metrics), Duration::from_secs(60), log);

    let admin = server.admin();
    let network = "interfaces:\n- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}\n";
    let secret = json!({"metadata": {"name": "network"}, "stringData": {"nmstate": network}});
    admin.create("/api/v1/namespaces/one/secrets", &secret);
    let images = collection("one", PREPROVISIONING_IMAGES);
    let order = json!({"apiVersion": API_VERSION, "kind": "PreprovisioningImage", "metadata": {"name": "worker-0"},
        "spec": {"architecture": std::env::consts::ARCH, "acceptFormats": ["iso"], "networkDataName": "network"}});
    admin.create(&images, &order);
    let image = format!("{images}/worker-0");
    let ready = |object: &Value| {
        each(&object["status"]["conditions"])
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    };
    let object = admin.wait_until(&image, "ready", ready);
    let url = object["status"]["imageUrl"].as_str().expect("a URL");
    assert!(reqwest::blocking::get(url).expect("an answer").status().is_success(), "{url}");
    let events = "/apis/events.k8s.io/v1/namespaces/one/events";
    admin.wait_until(events, "that the image is ready", |list| {
        each(&list["items"]).any(|one| one["reason"] == "ImageReady")
    });
    let lease = admin.get("/apis/coordination.k8s.io/v1/namespaces/one/leases/dayone");
    assert!(lease["spec"]["holderIdentity"].as_str().expect("a holder").contains("dayone-0"), "{lease}");
    admin.get("/api/v1/namespaces/one/secrets/dayone-key");
    admin.delete(&image);
    admin.wait_until(&image, "gone", Value::is_null);

    let refused: Vec<_> = server.requests(ACCOUNT).into_iter().filter(|request| request.code == 403).collect();
    assert_eq!(refused, [], "{}", log());
}

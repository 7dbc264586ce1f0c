//! A controller under test: its rights, its images and the objects that it is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use acceptance::kubernetes::metal3::{API_VERSION, PREPROVISIONING_IMAGES, collection, object};
use acceptance::kubernetes::{ApiServer, Client, Request};
use dayone::audit::Audit;
use dayone::host_images::{
    BuildError, DriveRequest, ImageProvider, ImageRequest, NetworkSource, PublishedImage, Support,
};
use dayone::kubernetes::{Config, Controller, KubernetesMetrics, Leadership};
use imagelib::recipe::RecipeId;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use vocabulary::report::{DocumentPath, Report};

/// Images that are only noted. An image's URL follows from its content.
pub struct Images {
    published: Mutex<BTreeMap<String, String>>,
    changes: watch::Sender<u64>,
    salt: Mutex<String>,
}

impl Images {
    fn new() -> Self {
        Self { published: Mutex::default(), changes: watch::channel(0).0, salt: Mutex::default() }
    }

    /// The URLs that are published, by the names of their owners.
    pub fn urls(&self) -> BTreeMap<String, String> {
        let published = self.published.lock().unwrap();
        let name = |owner: &str| owner.split('/').nth(2).unwrap_or_default().to_owned();
        published.iter().map(|(owner, url)| (name(owner), url.clone())).collect()
    }

    /// Has all images become others, as another base does.
    pub fn salt(&self, salt: &str) {
        salt.clone_into(&mut self.salt.lock().unwrap());
        self.changes.send_modify(|count| *count += 1);
    }
}

/// What a network Secret holds under its only key.
fn text_of(network: &NetworkSource<'_>) -> String {
    let bytes = match network {
        NetworkSource::Nmstate(document) => document.bytes,
        NetworkSource::Secret { data, .. } => data.first().map_or(&[][..], |(_, bytes)| bytes),
    };
    String::from_utf8_lossy(bytes).into_owned()
}

impl ImageProvider for Images {
    fn supports(&self, architecture: &str) -> Support {
        if ["", "x86_64"].contains(&architecture) { Support::Supported } else { Support::Unsupported }
    }

    fn publish(&self, request: &ImageRequest<'_>) -> Result<PublishedImage, BuildError> {
        let network = request.network.as_ref().map(text_of);
        let text = network.clone().unwrap_or_default();
        match text.as_str() {
            "invalid" => return Err(BuildError::invalid("it is invalid")),
            "panic" => panic!("a panic that a test wants"),
            _ => {}
        }
        let content = format!("{} {} {text} {}", request.host, request.format.as_str(), self.salt.lock().unwrap());
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(content));
        let url = format!("http://192.0.2.1/i/{digest}/boot.iso");
        self.published.lock().unwrap().insert(request.owner.to_owned(), url.clone());
        let mut report = Report::new();
        if text == "odd" {
            for index in 0..12 {
                report.warning("interface-down", &DocumentPath::root().key("interfaces").index(index), "is odd");
            }
        }
        Ok(PublishedImage { url, report, ..PublishedImage::default() })
    }

    fn publish_drive(&self, _: &DriveRequest<'_>) -> Result<PublishedImage, BuildError> {
        Err(BuildError::invalid("there are no drives here"))
    }

    fn drive(&self, _: &str) -> Option<PublishedImage> {
        None
    }

    fn discard(&self, owner: &str) -> Option<RecipeId> {
        self.published.lock().unwrap().remove(owner);
        None
    }

    fn retain(&self, keep: &dyn Fn(&str) -> bool) {
        self.published.lock().unwrap().retain(|owner, _| keep(owner));
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

/// What a controller may do.
pub const RIGHTS: &[(&str, &str, &str)] = &[
    ("metal3.io", "preprovisioningimages", "get, list, watch, patch"),
    ("metal3.io", "preprovisioningimages/status", "patch"),
    ("", "secrets", "get, list, watch, update, create"),
    ("events.k8s.io", "events", "create, patch"),
    ("coordination.k8s.io", "leases", "get, create, update"),
];

/// A namespace, and one who looks after it.
pub struct Namespace<'a> {
    pub server: &'a ApiServer,
    pub name: String,
}

impl<'a> Namespace<'a> {
    pub fn new(server: &'a ApiServer) -> Self {
        server.install_metal3();
        Self { server, name: server.admin().new_namespace("hosts") }
    }

    pub fn admin(&self) -> &Client {
        self.server.admin()
    }

    /// A service account with these rights, and no others.
    pub fn account(&self, name: &str, rights: &[(&str, &str, &str)]) -> String {
        let user = format!("system:serviceaccount:{}:{name}", self.name);
        self.server.token(&user);
        let rules: Vec<String> = rights
            .iter()
            .map(|(group, resource, verbs)| {
                format!("{{apiGroups: ['{group}'], resources: ['{resource}'], verbs: [{verbs}]}}")
            })
            .collect();
        let metadata = format!("metadata: {{name: {name}, namespace: {}}}", self.name);
        self.admin().apply(&format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{metadata}\nrules: [{}]\n---\n\
             apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n{metadata}\n\
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {name}}}\n\
             subjects: [{{kind: ServiceAccount, name: {name}, namespace: {}}}]\n",
            rules.join(", "),
            self.name
        ));
        user
    }

    pub fn image(&self, name: &str) -> String {
        object(&self.name, PREPROVISIONING_IMAGES, name)
    }

    pub fn secret(&self, name: &str) -> String {
        format!("/api/v1/namespaces/{}/secrets/{name}", self.name)
    }

    pub fn create_secret(&self, name: &str, key: &str, value: &str, labels: &Value) {
        let secret = json!({"metadata": {"name": name, "labels": labels}, "stringData": {key: value}});
        self.admin().create(&format!("/api/v1/namespaces/{}/secrets", self.name), &secret);
    }

    pub fn change_secret(&self, name: &str, key: &str, value: &str) {
        self.admin().patch(&self.secret(name), &json!({"stringData": {key: value}}));
    }

    pub fn create_image(&self, name: &str, metadata: &Value, spec: &Value) {
        let mut image = json!({"apiVersion": API_VERSION, "kind": "PreprovisioningImage",
            "metadata": {"name": name}, "spec": spec});
        for (key, value) in metadata.as_object().into_iter().flatten() {
            image["metadata"][key] = value.clone();
        }
        self.admin().create(&collection(&self.name, PREPROVISIONING_IMAGES), &image);
    }

    /// Waits until the baremetal-operator would take the image.
    pub fn accepted(&self, name: &str) -> Value {
        let path = self.image(name);
        let is_accepted = |image: &Value| {
            let name = image["spec"]["networkDataName"].as_str().filter(|name| !name.is_empty());
            let secret = name.map(|name| self.secret(name));
            let version =
                secret.map(|path| self.admin().find(&path).unwrap_or_default()["metadata"]["resourceVersion"].clone());
            is_accepted(image, version.as_ref())
        };
        self.admin().wait_until(&path, "taken by the baremetal-operator", is_accepted)
    }

    /// Waits for the error condition with this reason.
    pub fn refused(&self, name: &str, reason: &str) -> Value {
        let has = |image: &Value| {
            let error = condition(image, "Error");
            error["status"] == "True" && error["reason"] == reason
        };
        self.admin().wait_until(&self.image(name), reason, has)
    }

    /// The notes of Events on an object with this reason.
    pub fn events(&self, name: &str, reason: &str) -> Vec<Value> {
        let events = self.admin().events(&self.name).into_iter();
        events.filter(|event| event["involvedObject"]["name"] == name && event["reason"] == reason).collect()
    }

    /// What the user has asked for, watches and lists apart, as `verb resource/subresource`.
    pub fn asked(&self, user: &str) -> Vec<String> {
        let requests = self.server.requests(user);
        requests.iter().filter(|one| !["watch", "list"].contains(&one.verb.as_str())).map(shown).collect()
    }
}

fn shown(request: &Request) -> String {
    let resource = match request.subresource.as_str() {
        "" => request.resource.clone(),
        subresource => format!("{}/{subresource}", request.resource),
    };
    match request.code {
        200..300 => format!("{} {resource}", request.verb),
        code => format!("{} {resource} {code}", request.verb),
    }
}

pub fn condition(image: &Value, kind: &str) -> Value {
    let conditions = image["status"]["conditions"].as_array();
    conditions.and_then(|all| all.iter().find(|one| one["type"] == kind)).cloned().unwrap_or_default()
}

/// The baremetal-operator's rule.
fn is_accepted(image: &Value, secret_version: Option<&Value>) -> bool {
    let (spec, status, ready) = (&image["spec"], &image["status"], condition(image, "Ready"));
    let formats = spec["acceptFormats"].as_array().cloned().unwrap_or_default();
    let network = &status["networkData"];
    status["architecture"] == spec["architecture"]
        && formats.contains(&status["format"])
        && secret_version
            .is_none_or(|version| network["version"] == *version && network["name"] == spec["networkDataName"])
        && condition(image, "Error")["status"] != "True"
        && ready["status"] == "True"
        && ready["observedGeneration"] == image["metadata"]["generation"]
}

/// A controller that runs.
pub struct Running {
    pub runtime: Runtime,
    pub images: Arc<Images>,
    controller: Option<Controller>,
}

impl Running {
    /// As this user, in this namespace. With a name in an election, of which all that have the same Lease are part.
    pub fn start(namespace: &Namespace<'_>, user: &str, replica: Option<&str>) -> Self {
        Self::start_by(&namespace.server.kubeconfig(user), &namespace.name, replica)
    }

    /// By this kubeconfig, whether there is an API server or not.
    pub fn start_by(kubeconfig: &Path, namespace: &str, replica: Option<&str>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let images = Arc::new(Images::new());
        let controller = runtime.block_on(async {
            let client = client(kubeconfig).await;
            let leadership = match replica {
                Some(replica) => {
                    Leadership::elect(client.clone(), namespace, "dayone", replica, watch::channel(true).1)
                }
                None => Leadership::always(),
            };
            Controller::start(Config {
                client,
                namespace: Some(namespace.to_owned()),
                identity: replica.unwrap_or("alone").to_owned(),
                concurrency: 8,
                images: Arc::clone(&images) as Arc<dyn ImageProvider>,
                leadership,
                metrics: KubernetesMetrics::unexported(),
                audit: Audit::default(),
            })
        });
        Self { runtime, images, controller: Some(controller) }
    }

    pub fn is_ready(&self) -> bool {
        self.controller.as_ref().unwrap().ready()
    }

    pub fn leads(&self) -> bool {
        self.controller.as_ref().unwrap().is_leader()
    }

    /// Stops it, and says how long that took.
    pub fn stop(&mut self) -> Duration {
        let started = Instant::now();
        self.runtime.block_on(self.controller.take().unwrap().stop());
        started.elapsed()
    }
}

/// A client by this kubeconfig.
pub async fn client(kubeconfig: &Path) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

/// Waits until something is so.
pub fn wait_for(what: &str, limit: Duration, is: impl Fn() -> bool) -> Duration {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    started.elapsed()
}

/// Each with the number of times it is there.
pub fn counted(all: &[String]) -> BTreeMap<&str, usize> {
    let distinct: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    distinct.into_iter().map(|one| (one, all.iter().filter(|other| *other == one).count())).collect()
}

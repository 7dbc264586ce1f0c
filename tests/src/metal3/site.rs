//! A namespace with hosts: their PreprovisioningImages, the Secrets with their network data, and the rights of accounts.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AgentBases, History, Replica, ReplicaSettings, condition, is_true};
use crate::kubernetes::metal3::{PREPROVISIONING_IMAGES, collection, object};
use crate::kubernetes::{ApiServer, Client};

/// The rights on hosts' objects. A Deployment of upstream has no others.
pub const RIGHTS_ON_OBJECTS: &str = include_str!("../../../deploy/common/role.yaml");

/// The rights on the objects that replicas share.
pub const RIGHTS_OF_REPLICAS: &str = include_str!("../../../deploy/common/replicas-role.yaml");

/// A namespace of an API server, and bases.
pub struct Site<'a> {
    /// The API server.
    pub server: &'a ApiServer,
    /// The namespace.
    pub namespace: String,
    /// The bases of images.
    pub bases: AgentBases,
}

impl<'a> Site<'a> {
    /// Creates a namespace in which nobody has rights.
    pub fn new(server: &'a ApiServer) -> Self {
        server.install_metal3();
        let namespace = server.admin().new_namespace("hosts");
        Self { server, namespace, bases: AgentBases::new() }
    }

    /// Returns the client of the user who may do everything.
    pub fn admin(&self) -> &Client {
        self.server.admin()
    }

    /// Returns the user name of a service account of the namespace.
    pub fn user(&self, account: &str) -> String {
        format!("system:serviceaccount:{}:{account}", self.namespace)
    }

    /// Returns settings of replicas that run as this account, and grants it the rights in `deploy/`.
    pub fn settings(&self, account: &str) -> ReplicaSettings {
        self.grant(account, RIGHTS_ON_OBJECTS);
        self.grant(account, RIGHTS_OF_REPLICAS);
        self.bare_settings(account)
    }

    /// Returns settings of replicas that run as this account, with its present rights.
    pub fn bare_settings(&self, account: &str) -> ReplicaSettings {
        ReplicaSettings::new(&self.kubeconfig(account), &self.namespace, &self.bases)
    }

    /// Starts a controller of another installation in the same namespace: with a key and a Lease of its own.
    pub fn start_other_installation(&self) -> Replica {
        self.grant("other", RIGHTS_ON_OBJECTS);
        let rights = RIGHTS_OF_REPLICAS
            .replace("dayone-key", "other-key")
            .replace("resourceNames: [dayone]", "resourceNames: [other]");
        self.grant("other", &rights);
        let settings = self.bare_settings("other").with_argument("--key-secret", "other-key");
        settings.with_argument("--lease", "other").start("other-0")
    }

    /// Starts a replica with the rights in `deploy/`, and waits until it is ready.
    pub fn start(&self) -> Replica {
        self.settings("dayone").start_ready("dayone-0")
    }

    fn kubeconfig(&self, account: &str) -> PathBuf {
        self.server.kubeconfig(&self.user(account))
    }

    /// Applies a Role and its RoleBinding, with this account in place of the written one, and waits until they
    /// are in force.
    pub fn grant(&self, account: &str, documents: &str) {
        let mut rule = Value::Null;
        for document in serde_yaml::Deserializer::from_str(documents) {
            let mut document = Value::deserialize(document).expect("YAML");
            if document.is_null() {
                continue;
            }
            document["metadata"]["namespace"] = json!(self.namespace);
            let name = format!("{}-{account}", document["metadata"]["name"].as_str().expect("a name"));
            document["metadata"]["name"] = json!(name);
            if document["kind"] == "RoleBinding" {
                document["roleRef"]["name"] = json!(name);
                document["subjects"] =
                    json!([{"kind": "ServiceAccount", "name": account, "namespace": self.namespace}]);
            } else {
                rule = document["rules"][0].clone();
            }
            self.admin().apply(&document.to_string());
        }
        let resource = json!({"namespace": self.namespace, "group": rule["apiGroups"][0],
            "resource": rule["resources"][0], "name": rule["resourceNames"][0], "verb": rule["verbs"][0]});
        let review = json!({"spec": {"user": self.user(account), "resourceAttributes": resource}});
        let deadline = Instant::now() + Duration::from_secs(20);
        let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        while self.admin().create(reviews, &review)["status"]["allowed"] != true {
            assert!(Instant::now() < deadline, "{review} is not allowed");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Creates a PreprovisioningImage.
    pub fn create_image(&self, name: &str, spec: &Value) -> Value {
        self.create_image_with(name, &json!({}), spec)
    }

    /// Creates a PreprovisioningImage with additional metadata.
    pub fn create_image_with(&self, name: &str, metadata: &Value, spec: &Value) -> Value {
        let mut object = json!({"apiVersion": crate::kubernetes::metal3::API_VERSION, "kind": "PreprovisioningImage",
            "metadata": metadata, "spec": spec});
        object["metadata"]["name"] = json!(name);
        if spec.is_null() {
            object.as_object_mut().expect("an object").remove("spec");
        }
        self.admin().create(&collection(&self.namespace, PREPROVISIONING_IMAGES), &object)
    }

    /// Returns the path of a PreprovisioningImage.
    pub fn image_path(&self, name: &str) -> String {
        object(&self.namespace, PREPROVISIONING_IMAGES, name)
    }

    /// Returns the present version of a PreprovisioningImage.
    pub fn image(&self, name: &str) -> Value {
        self.admin().get(&self.image_path(name))
    }

    /// Changes a PreprovisioningImage by a merge patch.
    pub fn patch_image(&self, name: &str, patch: &Value) -> Value {
        self.admin().patch(&self.image_path(name), patch)
    }

    /// Waits until a PreprovisioningImage meets the predicate.
    pub fn wait_for_image(&self, name: &str, what: &str, predicate: impl Fn(&Value) -> bool) -> Value {
        self.admin().wait_until(&self.image_path(name), what, predicate)
    }

    /// Waits until the present version of a PreprovisioningImage is ready.
    pub fn wait_until_ready(&self, name: &str) -> Value {
        self.wait_for_image(name, "ready", |image| {
            is_true(image, "Ready")
                && condition(image, "Ready")["observedGeneration"] == image["metadata"]["generation"]
        })
    }

    /// Waits until a PreprovisioningImage has an error with this reason, and returns it.
    pub fn wait_for_error(&self, name: &str, reason: &str) -> Value {
        self.wait_for_image(name, reason, |image| {
            let error = condition(image, "Error");
            error["status"] == "True"
                && error["reason"] == reason
                && error["observedGeneration"] == image["metadata"]["generation"]
        })
    }

    /// Watches a PreprovisioningImage from now on, and asks `replica` for its image whenever it is ready.
    pub fn follow(&self, name: &str, replica: &Replica) -> History {
        History::follow(self.admin(), &self.namespace, name, replica)
    }

    /// Creates a Secret, without a label.
    pub fn create_secret(&self, name: &str, data: &Value) -> Value {
        let secret = json!({"metadata": {"name": name}, "stringData": data});
        self.admin().create(&format!("/api/v1/namespaces/{}/secrets", self.namespace), &secret)
    }

    /// Returns the path of a Secret.
    pub fn secret_path(&self, name: &str) -> String {
        format!("/api/v1/namespaces/{}/secrets/{name}", self.namespace)
    }

    /// Returns the present version of a Secret.
    pub fn secret(&self, name: &str) -> Value {
        self.admin().get(&self.secret_path(name))
    }

    /// Changes a Secret by a merge patch.
    pub fn patch_secret(&self, name: &str, patch: &Value) -> Value {
        self.admin().patch(&self.secret_path(name), patch)
    }

    /// Returns the events about an object, oldest first: type, reason, note.
    pub fn events(&self, name: &str) -> Vec<(String, String, String)> {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events", self.namespace);
        let mut all = self.admin().list(&path);
        all.retain(|event| event["regarding"]["name"] == name);
        all.sort_by_key(|event| event["eventTime"].to_string());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        all.iter().map(|event| (text(&event["type"]), text(&event["reason"]), text(&event["note"]))).collect()
    }

    /// Returns the write requests of an account, without those for Leases: verb, resource, subresource, name.
    pub fn writes(&self, account: &str) -> Vec<String> {
        let reading = ["get", "list", "watch"];
        let all = self.server.requests(&self.user(account)).into_iter();
        let writes = all.filter(|one| !reading.contains(&one.verb.as_str()) && one.resource != "leases");
        let shown = |one: crate::kubernetes::Request| {
            format!("{} {}/{} {} {}", one.verb, one.resource, one.subresource, one.name, one.code)
        };
        writes.map(shown).collect()
    }

    /// Deletes a PreprovisioningImage, which stays until it has no finalizers.
    pub fn delete_image(&self, name: &str) {
        let answer = self.admin().request(Method::DELETE, &self.image_path(name), None);
        assert_eq!(answer.status, 200, "{:#}", answer.body);
    }
}

//! A client of an API server, with plain JSON and the rights of one user.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

/// The time limit of [`Client::wait_until`].
const LIMIT: Duration = Duration::from_secs(60);

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// An answer of the API server.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The object, the list, or the error. Text that is not JSON is a string.
    pub body: Value,
}

impl Answer {
    /// Returns the message of an error.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

/// A user of an API server. Paths are those of the API, such as
/// `/apis/metal3.io/v1alpha1/namespaces/NAMESPACE/preprovisioningimages/NAME`. Methods that do not return an [`Answer`] panic if the
/// request fails.
pub struct Client {
    http: reqwest::blocking::Client,
    origin: String,
    token: String,
    /// The plural names of resources, by API version and kind.
    resources: Mutex<HashMap<String, Resource>>,
}

#[derive(Debug, Clone)]
struct Resource {
    plural: String,
    namespaced: bool,
}

impl Client {
    pub(super) fn new(origin: &str, authority: &str, token: &str) -> Self {
        let http = reqwest::blocking::Client::builder().tls_certs_only([super::certificate(authority)]).no_proxy();
        let http = http.timeout(Duration::from_secs(60)).build().expect("a client");
        Self { http, origin: origin.to_owned(), token: token.to_owned(), resources: Mutex::default() }
    }

    /// Returns an object.
    pub fn get(&self, path: &str) -> Value {
        self.succeed(Method::GET, path, None)
    }

    /// Returns an object, or `None` if it does not exist.
    pub fn find(&self, path: &str) -> Option<Value> {
        let answer = self.request(Method::GET, path, None);
        (answer.status != 404).then(|| success(answer, &Method::GET, path))
    }

    /// Returns the objects of a collection.
    pub fn list(&self, path: &str) -> Vec<Value> {
        match self.get(path)["items"].take() {
            Value::Array(items) => items,
            other => panic!("{path} is no list: {other}"),
        }
    }

    /// Creates an object in a collection. `apiVersion` and `kind` may be left out.
    pub fn create(&self, path: &str, object: &Value) -> Value {
        self.succeed(Method::POST, path, Some(object))
    }

    /// Replaces an object; with a `metadata.resourceVersion`, only that version.
    pub fn replace(&self, path: &str, object: &Value) -> Value {
        self.succeed(Method::PUT, path, Some(object))
    }

    /// Changes an object by a merge patch (RFC 7386).
    pub fn patch(&self, path: &str, patch: &Value) -> Value {
        self.succeed(Method::PATCH, path, Some(patch))
    }

    /// Changes the status of an object by a merge patch of the whole object: `{"status": …}`.
    pub fn patch_status(&self, path: &str, patch: &Value) -> Value {
        self.patch(&format!("{path}/status"), patch)
    }

    /// Deletes an object. It stays until it has no finalizers.
    pub fn delete(&self, path: &str) -> Value {
        self.succeed(Method::DELETE, path, None)
    }

    /// Sends a request, and returns the answer whatever its status is.
    pub fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let content_type = if method == Method::PATCH { MERGE_PATCH } else { JSON };
        let sent = self.send(method.clone(), path, body, content_type);
        sent.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Returns the answer to a GET, or `None` if the server does not answer.
    pub fn try_get(&self, path: &str) -> Option<Answer> {
        self.send(Method::GET, path, None, JSON).ok()
    }

    /// Applies the documents of a YAML file (server-side apply, with force). Documents of namespaced kinds need a
    /// `metadata.namespace`.
    pub fn apply(&self, documents: &str) -> Vec<Value> {
        let documents = serde_yaml::Deserializer::from_str(documents);
        let objects = documents.map(|document| Value::deserialize(document).expect("YAML"));
        objects.filter(|object| !object.is_null()).map(|object| self.apply_object(&object)).collect()
    }

    fn apply_object(&self, object: &Value) -> Value {
        let path = format!("{}?fieldManager=tests&force=true", self.path_of(object));
        let sent = self.send(Method::PATCH, &path, Some(object), APPLY_PATCH);
        success(sent.unwrap_or_else(|error| panic!("{path}: {error}")), &Method::PATCH, &path)
    }

    /// Returns the path of an object. The object must have an API version, a kind, a name and, if its kind is namespaced, a namespace.
    pub fn path_of(&self, object: &Value) -> String {
        let text =
            |value: &Value, what: &str| value.as_str().unwrap_or_else(|| panic!("no {what}: {object}")).to_owned();
        let version = text(&object["apiVersion"], "apiVersion");
        let group = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let resource = self.resource(&group, &text(&object["kind"], "kind"));
        let name = text(&object["metadata"]["name"], "name");
        if resource.namespaced {
            let namespace = text(&object["metadata"]["namespace"], "namespace");
            format!("{group}/namespaces/{namespace}/{}/{name}", resource.plural)
        } else {
            format!("{group}/{}/{name}", resource.plural)
        }
    }

    fn resource(&self, group: &str, kind: &str) -> Resource {
        let key = format!("{group} {kind}");
        if let Some(known) = self.resources.lock().expect("no panic").get(&key) {
            return known.clone();
        }
        let list = self.get(group);
        let mut resources = list["resources"].as_array().expect("a list").iter();
        let is_it = |resource: &&Value| resource["kind"] == kind && !resource["name"].to_string().contains('/');
        let found = resources.find(is_it).unwrap_or_else(|| panic!("{group} has no {kind}"));
        let plural = found["name"].as_str().expect("a name").to_owned();
        let resource = Resource { plural, namespaced: found["namespaced"] == true };
        self.resources.lock().expect("no panic").insert(key, resource.clone());
        resource
    }

    /// Creates an object unless one of this name exists.
    pub fn ensure(&self, path: &str, object: &Value) {
        let answer = self.request(Method::POST, path, Some(object));
        if answer.status != 409 {
            success(answer, &Method::POST, path);
        }
    }

    /// Creates a namespace that no other test has, and returns its name, which begins with `prefix`.
    pub fn new_namespace(&self, prefix: &str) -> String {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{prefix}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        self.create("/api/v1/namespaces", &json!({"metadata": {"name": name}}));
        name
    }

    /// Returns the events of a namespace, oldest first.
    pub fn events(&self, namespace: &str) -> Vec<Value> {
        self.list(&format!("/api/v1/namespaces/{namespace}/events"))
    }

    /// Waits until an object or a list meets the predicate, and returns it. Panics after a minute. `what` describes the predicate in
    /// messages.
    /// An object that does not exist is `null`, so that a test can wait for its deletion.
    pub fn wait_until(&self, path: &str, what: &str, predicate: impl Fn(&Value) -> bool) -> Value {
        self.wait_until_within(LIMIT, path, what, predicate)
    }

    /// Waits like [`Self::wait_until`], with another time limit.
    pub fn wait_until_within(
        &self,
        limit: Duration,
        path: &str,
        what: &str,
        predicate: impl Fn(&Value) -> bool,
    ) -> Value {
        let deadline = Instant::now() + limit;
        let mut last = String::from("no answer");
        loop {
            // A server that is just starting again does not answer, or refuses everybody.
            match self.try_get(path) {
                Some(Answer { status: 200, body }) if predicate(&body) => return body,
                Some(Answer { status: 404, .. }) if predicate(&Value::Null) => return Value::Null,
                Some(answer) => last = format!("{} {:#}", answer.status, shown(answer.body)),
                None => {}
            }
            assert!(Instant::now() < deadline, "{path} within {limit:?}: {what}. It is:\n{last}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends a GET, and returns the answer before its body is read. `limit` includes the time to read the body.
    pub(super) fn open(&self, path: &str, limit: Duration) -> reqwest::blocking::Response {
        let request = self.http.get(format!("{}{path}", self.origin)).bearer_auth(&self.token).timeout(limit);
        request.send().unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn succeed(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let answer = self.request(method.clone(), path, body);
        success(answer, &method, path)
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        content_type: &str,
    ) -> Result<Answer, reqwest::Error> {
        let mut request = self.http.request(method, format!("{}{path}", self.origin)).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.header("Content-Type", content_type).body(body.to_string());
        }
        let answer = request.send()?;
        let status = answer.status().as_u16();
        let text = answer.text()?;
        Ok(Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) })
    }
}

fn success(answer: Answer, method: &Method, path: &str) -> Value {
    assert!((200..300).contains(&answer.status), "{method} {path}: {} {:#}", answer.status, answer.body);
    answer.body
}

/// Returns an object for the messages of failed tests, without uninteresting metadata.
fn shown(mut body: Value) -> Value {
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    body
}

//! A server of this process that boots the machine of an emulated BMC.

use std::path::Path;
use std::time::{Duration, Instant};

use acceptance::bmc::{EmulatedBmc, PASSWORD, USERNAME};
use base64::prelude::*;
use dayone::services::Server;
use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::own_server;

/// A server of this process, and what is needed to talk to it.
pub(super) struct Dayone {
    pub(super) directory: TempDir,
    server: Server,
    pub(super) client: Client,
}

impl Dayone {
    pub(super) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = own_server::config(directory.path(), None);
        let server = Server::start(config).await.unwrap();
        Self { directory, server, client: Client::new() }
    }

    /// Stops the server, as at the end of its process.
    pub(super) async fn stop(self) {
        self.server.stop().await;
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}/v1/boots{path}", self.server.api_address())
    }

    /// Boots the machine of a BMC with a medium that calls home.
    pub(super) async fn begin(&self, bmc: &EmulatedBmc, name: &str) -> Value {
        let boot = self.begin_with(bmc, name, "").await;
        bmc.call_home(&call_home(self.directory.path(), boot["image"].as_str().unwrap()));
        boot
    }

    pub(super) async fn begin_with(&self, bmc: &EmulatedBmc, name: &str, query: &str) -> Value {
        let request = self.client.post(self.url(&format!("?base=coreos{query}"))).body(documents(bmc, name));
        let answer = request.header("content-type", "application/yaml").send().await.unwrap();
        let (status, body): (_, Value) = (answer.status(), answer.json().await.unwrap());
        assert_eq!(status, 201, "{body:#}");
        body["boots"][0].clone()
    }

    pub(super) async fn until(&self, boot: &Value, what: &str, is: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let url = self.url(&format!("/{}", boot["id"].as_str().unwrap()));
        let deadline = Instant::now() + Duration::from_secs(40);
        loop {
            let boot: Value = self.client.get(&url).send().await.unwrap().json().await.unwrap();
            if is(&boot) {
                return Ok(boot);
            }
            if Instant::now() > deadline || boot["ended"] == true {
                return Err(format!("not {what}: {boot:#}"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(super) async fn delete(&self, boot: &Value) {
        let url = self.url(&format!("/{}", boot["id"].as_str().unwrap()));
        assert_eq!(self.client.delete(url).send().await.unwrap().status(), 202);
    }
}

pub(super) fn documents(bmc: &EmulatedBmc, name: &str) -> String {
    let address = format!("redfish-virtualmedia+{}", bmc.origin());
    // JSON is YAML.
    let nmstate = json!({"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up", "ipv4": {
        "enabled": true, "address": [{"ip": "192.0.2.20", "prefix-length": 24}],
    }}]});
    let documents = [
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "network"},
            "stringData": {"nmstate": nmstate.to_string()}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc"},
            "stringData": {"username": USERNAME, "password": PASSWORD}}),
        json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": name},
            "spec": {"preprovisioningNetworkDataName": "network", "bmc": {"address": address, "credentialsName": "bmc"}}}),
    ];
    documents.map(|document| document.to_string()).join("\n---\n")
}

/// What the system of an image calls, as its script says.
pub(super) fn call_home(directory: &Path, image: &str) -> String {
    let record = std::fs::read(directory.join(format!("data/images/{image}.json"))).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    let mut texts = Vec::new();
    collect(&record, &mut texts);
    let decoded = texts.iter().filter_map(|text| String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok());
    let script = decoded.into_iter().find(|text| text.contains("/h/")).unwrap();
    let url = script.lines().find_map(|line| line.strip_prefix("url='")?.strip_suffix('\''));
    url.unwrap().to_owned()
}

fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(members) => members.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

//! Admission webhooks: one that refuses some objects, and the configurations of webhooks.

use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use base64::prelude::*;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use reqwest::Method;
use serde_json::{Value, json};

use super::ApiServer;
use crate::bmc::Identity;
use crate::bmc::listen::{Dropped, listen};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// Starts a webhook that refuses the objects for which `refuses` returns true, with this message and without a status code. Returns its
/// `clientConfig`. It runs until the process ends.
pub fn refusing(message: &'static str, refuses: fn(&Value) -> bool) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket that does not block");
    let url = format!("https://{}/", listener.local_addr().expect("an address"));
    let identity = Identity::of("127.0.0.1");
    let authority = BASE64_STANDARD.encode(identity.pem());
    let handler = move |request: Request<Incoming>| async move {
        let body = request.into_body().collect().await.map_err(|_| Dropped)?.to_bytes();
        let review: Value = serde_json::from_slice(&body).map_err(|_| Dropped)?;
        let (id, allowed) = (&review["request"]["uid"], !refuses(&review["request"]["object"]));
        let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {"uid": id, "allowed": allowed, "status": {"message": message}}});
        let response = Response::builder().header("content-type", "application/json");
        Ok::<_, Dropped>(response.body(Full::new(Bytes::from(answer.to_string()))).expect("an answer"))
    };
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            listen(listener, Some(identity.acceptor()), handler).await;
        });
    });
    json!({"url": url, "caBundle": authority})
}

impl ApiServer {
    /// Has a webhook validate the updates of a resource (group and plural), and waits until the updates of the object under `path` are
    /// answered with this status.
    pub fn add_webhook(&self, (group, plural): (&str, &str), client: &Value, path: &str, status: u16) {
        let rule = json!({"apiGroups": [group], "apiVersions": ["*"], "resources": [plural], "operations": ["UPDATE"]});
        let webhook = json!({"name": "guard.example.test", "clientConfig": client, "rules": [rule],
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 10});
        self.admin().create(CONFIGURATIONS, &json!({"metadata": {"name": "guard"}, "webhooks": [webhook]}));
        let (object, deadline) = (self.admin().get(path), Instant::now() + Duration::from_secs(60));
        let update = format!("{path}?dryRun=All");
        while self.admin().request(Method::PUT, &update, Some(&object)).status != status {
            assert!(Instant::now() < deadline, "the webhook is not in force");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Removes the webhook.
    pub fn remove_webhook(&self) {
        self.admin().delete(&format!("{CONFIGURATIONS}/guard"));
    }
}

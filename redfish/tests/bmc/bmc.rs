//! A BMC on loopback that answers as a test tells it to.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use redfish::{Client, ClientOptions, Credentials, RedfishError, Target, Verification};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A request that the BMC was sent.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// What the BMC is to answer.
#[derive(Debug, Clone)]
pub(crate) struct Canned {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Canned {
    pub(crate) fn new(status: u16, body: &Value) -> Self {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        Self { status, headers: Vec::new(), body }
    }

    pub(crate) fn raw(status: u16, body: &[u8]) -> Self {
        Self { status, headers: Vec::new(), body: body.to_vec() }
    }

    /// No answer.
    pub(crate) fn silence() -> Self {
        Self { status: 0, headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Answers by method and path: one after the other, the last one again and again.
#[derive(Default)]
struct Script {
    answers: HashMap<(Method, String), VecDeque<Canned>>,
    seen: Vec<Seen>,
}

impl Script {
    fn next(&mut self, key: &(Method, String), seen: Seen) -> Canned {
        self.seen.push(seen);
        match self.answers.get_mut(key) {
            Some(answers) if answers.len() > 1 => answers.pop_front().unwrap(),
            Some(answers) => answers[0].clone(),
            None => Canned::new(404, &json!({"error": {"code": "Base.1.8.ResourceMissingAtURI"}})),
        }
    }
}

pub(crate) struct Bmc {
    pub(crate) url: String,
    script: Arc<Mutex<Script>>,
    server: JoinHandle<()>,
}

impl Bmc {
    /// With a service root that names these session collections, or none.
    pub(crate) async fn start(sessions: bool) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script: Arc<Mutex<Script>> = Arc::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&script));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let bmc = Self { url, script, server };
        let links = if sessions {
            json!({"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}})
        } else {
            json!({})
        };
        bmc.on("GET", "/redfish/v1/", Canned::new(200, &json!({"RedfishVersion": "1.6.0", "Links": links})));
        bmc
    }

    pub(crate) fn on(&self, method: &str, path: &str, canned: Canned) {
        let key = (method.parse().unwrap(), path.to_owned());
        self.script.lock().unwrap().answers.entry(key).or_default().push_back(canned);
    }

    /// From now on, the BMC answers only this.
    pub(crate) fn only(&self, method: &str, path: &str, canned: Canned) {
        let key = (method.parse().unwrap(), path.to_owned());
        self.script.lock().unwrap().answers.insert(key, VecDeque::from([canned]));
    }

    /// The requests to a path.
    pub(crate) fn seen(&self, method: &str, path: &str) -> Vec<Seen> {
        let script = self.script.lock().unwrap();
        script.seen.iter().filter(|seen| seen.method == method && seen.path == path).cloned().collect()
    }

    pub(crate) fn target(&self, credentials: bool) -> Target {
        let credentials =
            credentials.then(|| Credentials::new("root".to_owned(), "hunter2".to_owned().into()).unwrap());
        Target { address: self.url.parse().unwrap(), credentials, verification: Verification::System }
    }

    pub(crate) async fn connect(&self, credentials: bool) -> Result<Client, RedfishError> {
        Client::connect(&self.target(credentials), &ClientOptions::default()).await
    }
}

impl Drop for Bmc {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(script): State<Arc<Mutex<Script>>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let path = parts.uri.path_and_query().unwrap().to_string();
    let key = (parts.method.clone(), path.clone());
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let canned = script.lock().unwrap().next(&key, Seen { method: parts.method, path, headers: parts.headers, body });
    if canned.status == 0 {
        return std::future::pending().await;
    }
    let mut response = Response::builder().status(StatusCode::from_u16(canned.status).unwrap());
    for (name, value) in canned.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(canned.body)).unwrap()
}

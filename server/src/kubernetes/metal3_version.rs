//! The version of Metal3's API that requests use. Later baremetal-operators keep their objects as `v1beta1`: each request for another
//! version then needs their conversion webhook. The objects have the same fields in both versions.
//!
//! Objects from before the update of the operator are still kept as `v1alpha1`. A list of them in the later version needs the webhook, too.
//! If it fails, dayone lists them in the earlier version: the operator may be waiting for a sidecar that waits for the list.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::json;

/// What the paths of requests begin with.
const PREFIX: &str = "/apis/metal3.io/v1alpha1/";

/// The version that requests are written for.
const EARLIER: &str = "metal3.io/v1alpha1";
/// The version that they use if the API server has it.
const LATER: &str = "metal3.io/v1beta1";

/// How often dayone asks for the versions.
const LOOK: Duration = Duration::from_mins(1);

/// How long it waits for the answer. The request that it asks for goes on without one.
const PATIENCE: Duration = Duration::from_secs(5);

/// For how long the earlier version is used after a list in the later one failed. Not longer: the operator's conversion to the earlier
/// version prefers what a client of that version wrote once.
const FALL_BACK: Duration = Duration::from_mins(1);

/// What the API server says if it cannot convert an object.
const CONVERSION: &str = "conversion webhook for metal3.io/";

/// Wraps a client: the new one sends the requests for Metal3's objects in the version that the API server has.
pub fn with_metal3_version(client: Client) -> Client {
    following(client, LOOK)
}

fn following(client: Client, interval: Duration) -> Client {
    let namespace = client.default_namespace().to_owned();
    let versions =
        Arc::new(Versions { client, interval, turn: tokio::sync::Mutex::default(), state: Mutex::default() });
    let service = tower::service_fn(move |request: Request<Body>| {
        let versions = Arc::clone(&versions);
        async move { versions.send(request).await }
    });
    Client::new(service, namespace)
}

struct Versions {
    client: Client,
    interval: Duration,
    /// One request at a time asks for the versions.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When the API server last named its resources. `None`: the next list or watch asks again.
    looked: Option<Instant>,
    /// The resources of the later version.
    later: HashSet<String>,
    /// By resource, the version of the last list.
    listed: HashMap<String, &'static str>,
    /// By resource, when a list in the later version failed.
    failed: HashMap<String, Instant>,
}

impl State {
    /// Writes never use the earlier version instead of the later one: a conversion could undo what the operator has changed since.
    fn version(&self, resource: &str, verb: Verb) -> &'static str {
        let has_failed = || self.failed.get(resource).is_some_and(|failed| failed.elapsed() < FALL_BACK);
        let falls_back = || verb != Verb::Other && has_failed();
        if self.later.contains(resource) && !falls_back() { LATER } else { EARLIER }
    }
}

/// What a request for Metal3's objects is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    List,
    Watch,
    Other,
}

impl Versions {
    async fn send(&self, mut request: Request<Body>) -> Result<Response<Body>, kube::Error> {
        let Some((resource, verb)) = asked(&request) else { return self.client.send(request).await };
        if verb != Verb::Other {
            self.look().await;
        }
        let (version, listed) = {
            let state = self.state.lock();
            (state.version(&resource, verb), state.listed.get(&resource).copied())
        };
        // A conversion may have left something out of what was listed in the other version.
        if let (Verb::Watch, Some(listed)) = (verb, listed)
            && listed != version
        {
            return Ok(list_again(version));
        }
        if version == LATER {
            rewrite(request.uri_mut());
        }
        let answer = self.client.send(request).await;
        if verb == Verb::Other {
            return answer;
        }
        let succeeds = answer.as_ref().is_ok_and(|answer| answer.status().is_success());
        let (answer, needs_conversion) = match answer {
            Ok(answer) if verb == Verb::List && !succeeds => needs_conversion(answer).await,
            answer => (answer, false),
        };
        let mut state = self.state.lock();
        if !succeeds {
            state.looked = None;
            if version == EARLIER {
                state.failed.remove(&resource);
            } else if needs_conversion {
                state.failed.insert(resource, Instant::now());
            }
        } else if verb == Verb::List {
            if listed.unwrap_or(EARLIER) != version {
                tracing::info!("dayone reads {resource} as {version}");
            }
            state.listed.insert(resource, version);
        }
        answer
    }

    /// Asks which resources the API server has in the later version. If it does not say, the ones that dayone knows of stay.
    async fn look(&self) {
        let _turn = self.turn.lock().await;
        if self.state.lock().looked.is_some_and(|looked| looked.elapsed() < self.interval) {
            return;
        }
        let answer = tokio::time::timeout(PATIENCE, self.client.list_api_group_resources(LATER)).await;
        let later = match answer {
            Ok(Ok(list)) => list.resources.into_iter().map(|resource| resource.name).collect(),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => HashSet::new(),
            Ok(Err(_)) | Err(_) => return,
        };
        let mut state = self.state.lock();
        (state.looked, state.later) = (Some(Instant::now()), later);
    }
}

/// Returns a refusal again, and whether the API server refuses because it cannot convert an object.
async fn needs_conversion(refusal: Response<Body>) -> (Result<Response<Body>, kube::Error>, bool) {
    let (head, body) = refusal.into_parts();
    match body.collect().await {
        Ok(body) => {
            let body = body.to_bytes();
            let needs_conversion = String::from_utf8_lossy(&body).contains(CONVERSION);
            (Ok(Response::from_parts(head, Body::from(body))), needs_conversion)
        }
        Err(error) => (Err(error), false),
    }
}

/// Returns the resource and the verb of a request for Metal3's objects.
fn asked(request: &Request<Body>) -> Option<(String, Verb)> {
    let uri = request.uri();
    let mut parts = uri.path().strip_prefix(PREFIX)?.split('/').filter(|part| !part.is_empty());
    let mut resource = parts.next()?;
    if resource == "namespaces" {
        parts.next()?;
        resource = parts.next()?;
    }
    let verb = if request.method() != Method::GET || parts.next().is_some() {
        Verb::Other
    } else if uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true")) {
        Verb::Watch
    } else {
        Verb::List
    };
    Some((resource.to_owned(), verb))
}

/// Puts the later version into a path.
fn rewrite(uri: &mut Uri) {
    let Some(rest) = uri.path_and_query().and_then(|path| path.as_str().strip_prefix(PREFIX)) else { return };
    let Ok(path) = PathAndQuery::try_from(format!("/apis/{LATER}/{rest}")) else { return };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path);
    if let Ok(rewritten) = Uri::from_parts(parts) {
        *uri = rewritten;
    }
}

/// What the API server answers to a watch from a version of the objects that it does not know any more. The watcher lists them again.
fn list_again(version: &str) -> Response<Body> {
    let status = json!({
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": format!("the objects are now {version}"),
        "reason": "Expired",
        "code": 410,
    });
    let mut answer = Response::new(Body::from(status.to_string().into_bytes()));
    *answer.status_mut() = StatusCode::GONE;
    answer
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use kube::Api;
    use kube::api::{ListParams, Patch, PatchParams, WatchParams};

    use super::*;
    use crate::kubernetes::resources::PreprovisioningImage;

    /// An API server that notes the paths. It does not know the version in `missing`, and cannot list in the version in `broken`,
    /// for this reason.
    #[derive(Clone, Default)]
    struct ApiServer {
        asked: Arc<Mutex<Vec<String>>>,
        missing: Arc<Mutex<Option<&'static str>>>,
        broken: Arc<Mutex<Option<(&'static str, &'static str)>>>,
    }

    impl ApiServer {
        fn client(&self) -> Client {
            let server = self.clone();
            let service = tower::service_fn(move |request: Request<Body>| {
                let answer = server.answer(&request);
                std::future::ready(Ok::<_, Infallible>(answer))
            });
            following(Client::new(service, "hosts"), Duration::ZERO)
        }

        fn answer(&self, request: &Request<Body>) -> Response<Body> {
            let path = request.uri().path().to_owned();
            self.asked.lock().push(path.clone());
            let (missing, broken) = (*self.missing.lock(), *self.broken.lock());
            let failure = |code, message: &str| {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message,
                    "code": code});
                (code, status)
            };
            let (status, body) = if missing.is_some_and(|version| path.contains(version)) {
                failure(404, "")
            } else if let Some((_, message)) =
                broken.filter(|(version, _)| path.contains(version) && path.contains("images"))
            {
                failure(500, message)
            } else if path.ends_with(LATER) {
                let resource = json!({"name": "preprovisioningimages", "singularName": "", "namespaced": true,
                    "kind": "PreprovisioningImage", "verbs": ["list"]});
                (200, json!({"kind": "APIResourceList", "groupVersion": LATER, "resources": [resource]}))
            } else if path.ends_with("/preprovisioningimages") {
                let metadata = json!({"resourceVersion": "1"});
                (200, json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": []}))
            } else {
                (200, json!({"metadata": {"name": "a"}}))
            };
            let mut answer = Response::new(Body::from(body.to_string().into_bytes()));
            *answer.status_mut() = StatusCode::from_u16(status).unwrap();
            answer
        }

        fn asked(&self) -> Vec<String> {
            std::mem::take(&mut *self.asked.lock())
        }
    }

    const LATER_LIST: &str = "/apis/metal3.io/v1beta1/namespaces/hosts/preprovisioningimages";
    const EARLIER_LIST: &str = "/apis/metal3.io/v1alpha1/namespaces/hosts/preprovisioningimages";

    #[tokio::test]
    async fn requests_use_the_later_version_if_the_api_server_has_it() {
        let server = ApiServer::default();
        let images: Api<PreprovisioningImage> = Api::namespaced(server.client(), "hosts");
        images.list(&ListParams::default()).await.unwrap();
        let patch = Patch::Merge(json!({}));
        images.patch_status("a", &PatchParams::default(), &patch).await.unwrap();
        let status = format!("{LATER_LIST}/a/status");
        assert_eq!(server.asked(), ["/apis/metal3.io/v1beta1", LATER_LIST, &status]);
    }

    #[tokio::test]
    async fn after_the_version_has_changed_the_objects_are_listed_again() {
        let server = ApiServer::default();
        *server.missing.lock() = Some("v1beta1");
        let images: Api<PreprovisioningImage> = Api::namespaced(server.client(), "hosts");
        images.list(&ListParams::default()).await.unwrap();
        assert_eq!(server.asked(), ["/apis/metal3.io/v1beta1", EARLIER_LIST]);

        *server.missing.lock() = Some("v1alpha1");
        let refused = images.watch(&WatchParams::default(), "1").await.err();
        assert!(matches!(&refused, Some(kube::Error::Api(status)) if status.code == 410), "{refused:?}");
        assert_eq!(server.asked(), ["/apis/metal3.io/v1beta1"]);
        images.list(&ListParams::default()).await.unwrap();
        assert!(images.watch(&WatchParams::default(), "1").await.is_ok());
        assert_eq!(server.asked().last().map(String::as_str), Some(LATER_LIST));
    }

    #[tokio::test]
    async fn while_a_conversion_fails_each_list_tries_the_other_version() {
        let server = ApiServer::default();
        let reason = "conversion webhook for metal3.io/v1alpha1, Kind=PreprovisioningImage failed";
        *server.broken.lock() = Some(("v1beta1", reason));
        let images: Api<PreprovisioningImage> = Api::namespaced(server.client(), "hosts");
        let refused = images.list(&ListParams::default()).await.err();
        assert!(matches!(&refused, Some(kube::Error::Api(status)) if status.message == reason), "{refused:?}");
        images.list(&ListParams::default()).await.unwrap();
        assert!(images.watch(&WatchParams::default(), "1").await.is_ok());
        let look = "/apis/metal3.io/v1beta1";
        assert_eq!(server.asked(), [look, LATER_LIST, look, EARLIER_LIST, look, EARLIER_LIST]);
        let patch = Patch::Merge(json!({}));
        assert!(images.patch_status("a", &PatchParams::default(), &patch).await.is_err());
        assert_eq!(server.asked(), [format!("{LATER_LIST}/a/status")]);
        *server.broken.lock() = Some(("v1alpha1", reason));
        assert!(images.list(&ListParams::default()).await.is_err());
        images.list(&ListParams::default()).await.unwrap();
        assert_eq!(server.asked(), [look, EARLIER_LIST, look, LATER_LIST]);
    }

    #[tokio::test]
    async fn a_list_that_fails_for_another_reason_is_tried_again_in_the_same_version() {
        let server = ApiServer::default();
        *server.broken.lock() = Some(("v1beta1", "etcdserver: request timed out"));
        let images: Api<PreprovisioningImage> = Api::namespaced(server.client(), "hosts");
        assert!(images.list(&ListParams::default()).await.is_err());
        assert!(images.list(&ListParams::default()).await.is_err());
        let look = "/apis/metal3.io/v1beta1";
        assert_eq!(server.asked(), [look, LATER_LIST, look, LATER_LIST]);
    }

    #[tokio::test]
    async fn other_requests_are_sent_as_they_are() {
        let server = ApiServer::default();
        let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(server.client(), "hosts");
        secrets.get("a").await.unwrap();
        assert_eq!(server.asked(), ["/api/v1/namespaces/hosts/secrets/a"]);
    }
}

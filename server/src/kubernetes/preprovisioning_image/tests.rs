use std::convert::Infallible;
use std::sync::Mutex;

use http::{Method, Request, Response};
use imagelib::recipe::RecipeId;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::client::Body;
use kube::runtime::reflector;
use kube::runtime::watcher::Event;
use prometheus_client::registry::Registry;
use serde_json::Value;
use tokio::sync::watch;

use super::super::context::StaleVersions;
use super::super::events::EventRecorder;
use super::super::failing::Failing;
use super::super::metrics::KubernetesMetrics;
use super::super::readiness::Readiness;
use super::super::resources::FINALIZER;
use super::super::retries::Retries;
use super::*;
use crate::audit::Audit;
use crate::host_images::{DriveRequest, ImageProvider, PublishedImage, Support};

/// Images whose replica may begin to lead while it makes one.
struct Images {
    leads: watch::Sender<bool>,
    begins_to_lead: bool,
}

impl ImageProvider for Images {
    fn supports(&self, _: &str) -> Support {
        Support::Supported
    }

    fn publish(&self, _: &ImageRequest<'_>) -> Result<PublishedImage, BuildError> {
        self.leads.send_replace(self.begins_to_lead);
        Ok(PublishedImage { url: "http://192.0.2.1/i/a/boot.iso".to_owned(), ..PublishedImage::default() })
    }

    fn publish_drive(&self, _: &DriveRequest<'_>) -> Result<PublishedImage, BuildError> {
        Err(BuildError::invalid("there are no drives here"))
    }

    fn drive(&self, _: &str) -> Option<PublishedImage> {
        None
    }

    fn discard(&self, _: &str) -> Option<RecipeId> {
        None
    }

    fn retain(&self, _: &dyn Fn(&str) -> bool) {}

    fn changed(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }
}

/// An object as the API server has it.
fn json_of_object(version: u32, finalizers: &[&str]) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "PreprovisioningImage",
        "metadata": {"namespace": "n", "name": "worker-0", "uid": "u", "generation": 1,
            "resourceVersion": version.to_string(), "finalizers": finalizers},
        "spec": {"architecture": "x86_64", "acceptFormats": ["iso"]},
    })
}

fn object(version: u32, finalizers: &[&str]) -> PreprovisioningImage {
    serde_json::from_value(json_of_object(version, finalizers)).unwrap()
}

/// The context of a replica that does not lead yet, and what it has asked the API server for. Secrets have no label.
fn context(begins_to_lead: bool) -> (Context, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let client = Client::new(
        tower::service_fn(move |request: Request<Body>| {
            log.lock().unwrap().push(request.uri().path().rsplit('/').next().unwrap_or_default().to_owned());
            let answer = match *request.method() {
                Method::GET => json!({
                    "apiVersion": "v1", "kind": "Secret", "data": {"nmstate": "YQ=="},
                    "metadata": {"namespace": "n", "name": "net", "uid": "s", "resourceVersion": "7"},
                }),
                Method::PATCH => json_of_object(2, &[FINALIZER]),
                _ => panic!("{}", request.method()),
            };
            let answer = answer.to_string();
            async move { Ok::<_, Infallible>(Response::new(Body::from(answer.into_bytes()))) }
        }),
        "n",
    );
    let (objects, mut known) = reflector::store();
    let (secrets, mut secrets_known) = reflector::store::<Secret>();
    for event in [Event::Init, Event::InitApply(object(1, &[])), Event::InitDone] {
        known.apply_watcher_event(&event);
    }
    for event in [Event::Init, Event::InitDone] {
        secrets_known.apply_watcher_event(&event);
    }
    let leads = watch::Sender::new(false);
    let metrics = KubernetesMetrics::new(&mut Registry::default());
    let (events, _) = EventRecorder::new(client.clone(), "dayone-0", metrics.clone());
    let context = Context {
        leads: leads.subscribe(),
        images: Arc::new(Images { leads, begins_to_lead }),
        client,
        objects,
        secrets,
        events,
        failing: Arc::new(Failing::new(metrics.clone())),
        metrics,
        audit: Audit::default(),
        readiness: Readiness::default(),
        retries: Retries::new(1),
        stale: StaleVersions::default(),
        contention: Arc::default(),
        owner_permission: Arc::default(),
        memory: super::super::unready::Unready::default(),
    };
    (context, asked)
}

#[tokio::test]
async fn a_replica_that_begins_to_lead_adds_its_finalizer_before_it_says_that_the_image_is_ready() {
    let (context, asked) = context(true);
    let owner = object(1, &[]).owner();
    let reconciled = |object: PreprovisioningImage| {
        let (object, context, owner) = (Arc::new(object), &context, &owner);
        async move { PreprovisioningImage::reconcile(&object, owner, context).await.unwrap().result }
    };
    assert_eq!(reconciled(object(1, &[])).await, "settled");
    assert!(context.leads(), "since the image was made");
    assert_eq!(*asked.lock().unwrap(), [""; 0]);
    assert_eq!(reconciled(object(1, &[])).await, "written");
    assert_eq!(*asked.lock().unwrap(), ["worker-0"]);
    assert_eq!(reconciled(object(2, &[FINALIZER])).await, "written");
    assert_eq!(*asked.lock().unwrap(), ["worker-0", "status"]);
}

/// Each of thousands of Secrets would be read by each replica every few seconds, until the lease holder has labelled all of them.
#[tokio::test]
async fn a_replica_that_does_not_lead_waits_for_an_event_about_a_secret_without_the_label() {
    let (context, asked) = context(false);
    let mut object = object(1, &[FINALIZER]);
    object.spec.network_data_name = "net".to_owned();
    let owner = object.owner();
    let reconciled = PreprovisioningImage::reconcile(&Arc::new(object), &owner, &context).await.unwrap();
    assert_eq!((reconciled.result, reconciled.again), ("followed", RESYNC));
    assert_eq!(*asked.lock().unwrap(), ["net"]);
    assert!(context.memory.read_again(&owner, Instant::now()).is_some(), "the lease holder reads it again");
}

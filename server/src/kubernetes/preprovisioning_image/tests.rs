use std::convert::Infallible;
use std::sync::Mutex;

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;

use super::super::resources::FINALIZER;
use super::super::test_replica;
use super::*;

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

/// The context of a replica that does not lead yet, or not until it makes an image, and what it has asked the API server for. Secrets have
/// no label.
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
    let leads = watch::Sender::new(false);
    let subscribed = leads.subscribe();
    let publishing = move |_: &str| {
        leads.send_replace(begins_to_lead);
    };
    let context = test_replica::context(client, [object(1, &[])], subscribed, publishing);
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

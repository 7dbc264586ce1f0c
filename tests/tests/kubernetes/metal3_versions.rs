//! `dayone controller` beside a baremetal-operator that keeps its objects as `metal3.io/v1beta1`.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use acceptance::kubernetes::ApiServer;
use acceptance::metal3::{Site, is_true};
use base64::prelude::*;
use serde_json::{Value, json};

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/preprovisioningimages.metal3.io";
const LATER: &str = "/apis/metal3.io/v1beta1";

/// Adds `v1beta1`, in which the API server keeps new objects from now on, and waits until it has objects of that version.
fn add_later_version(server: &ApiServer, serves_earlier: bool, conversion: &Value) {
    let mut definition = server.admin().get(DEFINITION);
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    let mut later = versions[0].clone();
    later["name"] = json!("v1beta1");
    versions[0]["storage"] = json!(false);
    versions[0]["served"] = json!(serves_earlier);
    versions.push(later);
    definition["spec"]["conversion"] = conversion.clone();
    server.admin().replace(DEFINITION, &definition);
    server.admin().wait_until(LATER, "served", |list| list["resources"].is_array());
}

/// The conversion by a webhook of an operator that does not run.
fn conversion_by_nobody(server: &ApiServer) -> Value {
    // Nothing listens there any more.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = json!({"url": format!("https://{nobody}/convert"),
        "caBundle": BASE64_STANDARD.encode(server.authority())});
    json!({"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}})
}

/// Where the site's PreprovisioningImages are in the later version.
fn images(site: &Site<'_>) -> String {
    format!("{LATER}/namespaces/{}/preprovisioningimages", site.namespace)
}

/// Creates a PreprovisioningImage as the operator does.
fn create_image(site: &Site<'_>, name: &str) {
    let object = json!({"apiVersion": "metal3.io/v1beta1", "kind": "PreprovisioningImage", "metadata": {"name": name},
        "spec": {"architecture": "x86_64", "acceptFormats": ["iso"]}});
    site.admin().create(&images(site), &object);
}

fn wait_until_ready(site: &Site<'_>, name: &str, format: &str) {
    let is_ready = |image: &Value| is_true(image, "Ready") && image["status"]["format"] == format;
    site.admin().wait_until(&format!("{}/{name}", images(site)), "ready", is_ready);
}

#[test]
fn images_are_made_while_the_operators_conversion_webhook_is_away() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    add_later_version(&server, true, &conversion_by_nobody(&server));
    create_image(&site, "host");
    let earlier = server.admin().try_get(&site.image_path("host")).expect("an answer");
    assert!(earlier.status >= 500, "it would need the webhook: {:#}", earlier.body);

    let replica = site.start();
    wait_until_ready(&site, "host", "iso");
    create_image(&site, "next");
    wait_until_ready(&site, "next", "iso");
    assert!(!replica.log().contains("conversion webhook"), "{}", replica.log());
}

/// As in a sidecar: the operator's webhook waits for the Pod, and the Pod for dayone.
#[test]
fn objects_from_before_the_operators_update_are_read_while_the_webhook_is_away() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let replica = site.start();
    site.create_image("host", &json!({"architecture": "x86_64", "acceptFormats": ["iso"]}));
    let url = site.wait_until_ready("host")["status"]["imageUrl"].clone();
    drop(replica);

    add_later_version(&server, true, &conversion_by_nobody(&server));
    let later = server.admin().try_get(&format!("{}/host", images(&site))).expect("an answer");
    assert!(later.status >= 500, "it would need the webhook: {:#}", later.body);
    let replica = site.start();
    assert_eq!(replica.status(url.as_str().unwrap()), Ok(200));
}

#[test]
fn an_operator_that_takes_the_earlier_version_away_needs_no_restart_of_dayone() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let replica = site.start();
    site.create_image("host", &json!({"architecture": "x86_64", "acceptFormats": ["iso"]}));
    site.wait_until_ready("host");

    add_later_version(&server, false, &json!({"strategy": "None"}));
    let begun = Instant::now();
    create_image(&site, "next");
    wait_until_ready(&site, "next", "iso");
    assert!(begun.elapsed() < Duration::from_mins(1), "it took {:?}", begun.elapsed());
    site.admin().patch(&format!("{}/host", images(&site)), &json!({"spec": {"acceptFormats": ["initrd"]}}));
    wait_until_ready(&site, "host", "initrd");
    replica.wait_for_log(&["dayone reads preprovisioningimages as metal3.io/v1beta1"]);
}

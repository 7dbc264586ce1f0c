//! `dayone controller` beside an API server that goes away, refuses, or holds what nobody has thought of.

use std::fs;
use std::time::Duration;

use acceptance::black_hole::BlackHole;
use acceptance::kubernetes::ApiServer;
use acceptance::metal3::{
    FINALIZER, RIGHTS_OF_REPLICAS, RIGHTS_ON_OBJECTS, ReplicaSettings, Site, Verdict, condition, image_url, is_true,
    verdict,
};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

const NMSTATE: &str = "interfaces: [{name: eno1, type: ethernet, state: up}]";

fn spec(format: &str) -> Value {
    json!({"architecture": "x86_64", "acceptFormats": [format]})
}

fn with_network(secret: &str) -> Value {
    json!({"architecture": "x86_64", "acceptFormats": ["iso"], "networkDataName": secret})
}

#[test]
fn while_the_api_server_is_away_images_are_served_and_afterwards_changes_are_taken_up() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let replica = site.start();
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    site.create_image("host", &with_network("network"));
    let first = image_url(&site.wait_until_ready("host")).to_owned();
    let whole = replica.fetch(&first);

    server.stop_api_server();
    replica.wait_for_log(&["WARN", "cannot watch preprovisioningimages"]);
    assert!(replica.fetch(&first) == whole);
    assert!(replica.is_ready(), "what is known is served on");
    assert_eq!(replica.probe("healthz").map(|(status, _)| status), Some(200));

    server.start_api_server();
    site.patch_secret("network", &json!({"stringData": {"nmstate": NMSTATE.replace("eno1", "eno2")}}));
    site.create_image("next", &spec("initrd"));
    let changed =
        site.wait_for_image("host", "another image", |image| is_true(image, "Ready") && image_url(image) != first);
    assert_eq!(replica.status(image_url(&changed)), Ok(200));
    site.wait_until_ready("next");
    assert!(replica.fetch(&first) == whole, "what a BMC reads comes to its end");
    replica.wait_for_log(&["dayone watches preprovisioningimages again"]);
    let log = replica.log();
    let complaints: Vec<_> = log.lines().filter(|line| line.contains("\"ERROR\"")).collect();
    assert!(complaints.is_empty(), "an attempt that fails is not news: {complaints:#?}");
}

#[test]
fn a_replica_that_starts_before_the_api_server_waits_for_it() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    site.create_image("host", &spec("iso"));
    let settings = site.settings("dayone");
    server.stop_api_server();
    let mut replica = settings.start("dayone-0");
    std::thread::sleep(Duration::from_secs(3));
    assert!(replica.ended().is_none(), "{}", replica.log());
    let (status, why) = replica.probe("readyz").expect("an answer");
    assert_eq!(status, 503);
    assert!(why.contains("API server"), "{why}");
    assert_eq!(replica.probe("healthz").map(|(status, _)| status), Some(200));
    server.start_api_server();
    replica.wait_until_ready();
    let ready = site.wait_until_ready("host");
    assert_eq!(replica.status(image_url(&ready)), Ok(200));
}

#[test]
fn what_nobody_has_thought_of_does_not_hide_the_other_objects() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    // A definition of another time: formats that are not known here, and what is no object where one should be.
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/preprovisioningimages.metal3.io";
    let mut definition = server.admin().get(path);
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        version["schema"]["openAPIV3Schema"] = open.clone();
    }
    server.admin().replace(path, &definition);
    // It is in force a moment later.
    let strange = json!({"architecture": "x86_64", "acceptFormats": ["floppy", "iso"], "later": {"a": 1}});
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    let images = format!("/apis/metal3.io/v1alpha1/namespaces/{}/preprovisioningimages", site.namespace);
    let object = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "PreprovisioningImage",
        "metadata": {"name": "strange"}, "spec": strange});
    while server.admin().request(reqwest::Method::POST, &images, Some(&object)).status != 201 {
        assert!(std::time::Instant::now() < deadline, "the definition does not change");
        std::thread::sleep(Duration::from_millis(100));
    }
    site.create_image("no-spec", &Value::Null);
    site.create_image("text", &json!("no object"));
    site.create_image("number", &json!({"acceptFormats": 7}));
    site.create_image("ours", &spec("iso"));

    // They are there at the start, and come later.
    let replica = site.start();
    let ready = site.wait_until_ready("ours");
    assert_eq!(replica.status(image_url(&ready)), Ok(200));
    assert_eq!(site.wait_until_ready("strange")["spec"], strange, "what is not known is kept");
    let image = site.wait_for_error("no-spec", "ConfigurationError");
    assert_eq!(condition(&image, "Error")["message"], "No acceptable image format supported");
    let warning = replica.wait_for_log(&["WARN", "cannot read this object", "number"]);
    assert!(warning.contains(&site.namespace), "{warning}");
    site.create_image("later", &json!("neither"));
    site.create_image("ours-too", &spec("initrd"));
    site.wait_until_ready("ours-too");
    for name in ["text", "number", "later"] {
        assert!(site.image(name)["metadata"]["finalizers"].is_null(), "{name} is left alone");
    }
    // Mended, it is an object as others are.
    site.patch_image("number", &json!({"spec": spec("iso")}));
    site.wait_until_ready("number");
    // And spoilt, its image is not taken away from who reads it.
    let url = image_url(&ready).to_owned();
    site.patch_image("ours", &json!({"spec": {"acceptFormats": 7}}));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(replica.status(&url), Ok(200));
    assert_eq!(site.image("ours")["metadata"]["finalizers"], json!([FINALIZER]));
}

#[test]
fn without_rights_on_secrets_it_is_not_ready_and_says_which_are_missing() {
    let server = ApiServer::shared();
    let site = Site::new(server);
    let without = |rules: &str| rules.replace("resources: [secrets]", "resources: [no-secrets]");
    // None at all.
    site.grant("none", &without(RIGHTS_ON_OBJECTS));
    site.grant("none", &without(RIGHTS_OF_REPLICAS));
    let mut none = site.bare_settings("none").start("dayone-none");
    // None on hosts' network data.
    site.grant("key-only", &without(RIGHTS_ON_OBJECTS));
    site.grant("key-only", RIGHTS_OF_REPLICAS);
    let mut key_only = site.bare_settings("key-only").start("dayone-key-only");

    key_only.wait_for_log(&["secrets", "forbidden", "Role"]);
    none.wait_for_log(&["secrets", "forbidden", "dayone-key", "Role"]);
    std::thread::sleep(Duration::from_secs(1));
    for replica in [&none, &key_only] {
        assert!(!replica.is_ready());
        // Not one a millisecond.
        assert!(replica.log().lines().count() < 60, "{}", replica.log());
    }
    // Waiting for the right, or over with an error: not in between.
    assert!(none.ended().is_none_or(|status| !status.success()));
    assert!(key_only.ended().is_none());
    // What was missing may be given while it runs.
    site.grant("key-only", RIGHTS_ON_OBJECTS);
    key_only.wait_until_ready();
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    site.create_image("host", &with_network("network"));
    let ready = site.wait_until_ready("host");
    assert_eq!(key_only.status(image_url(&ready)), Ok(200));
}

/// OpenShift's API servers demand the right to delete an object of whoever sets its owner.
#[test]
fn an_api_server_that_guards_owners_has_secrets_labelled_without_them() {
    let server = ApiServer::start_with(&["OwnerReferencesPermissionEnforcement"]);
    let site = Site::new(&server);
    let replica = site.start();
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    site.create_image("host", &with_network("network"));
    let ready = site.wait_until_ready("host");
    assert_eq!(replica.status(image_url(&ready)), Ok(200));
    let secret = site.secret("network");
    assert_eq!(secret["metadata"]["labels"]["environment.metal3.io"], "baremetal");
    assert!(secret["metadata"]["ownerReferences"].is_null(), "{secret:#}");
    assert_eq!(replica.metric("dayone_kubernetes_owner_references_refused"), Some(1.0));
    let warning = replica.wait_for_log(&["WARN", "can't delete"]);
    assert!(warning.contains("grant the right to delete Secrets"), "{warning}");
    // It is asked once for all Secrets, and the label is enough to hear of changes.
    site.create_secret("second", &json!({"nmstate": NMSTATE}));
    site.create_image("second", &with_network("second"));
    site.wait_until_ready("second");
    let refused =
        site.writes("dayone").into_iter().filter(|one| one.starts_with("update secrets") && one.ends_with("403"));
    assert_eq!(refused.count(), 1);
    site.patch_secret("network", &json!({"stringData": {"nmstate": NMSTATE.replace("eno1", "eno2")}}));
    site.wait_for_image("host", "another image", |image| {
        is_true(image, "Ready") && image_url(image) != image_url(&ready)
    });

    let site = Site::new(&server);
    let rights =
        RIGHTS_ON_OBJECTS.replace("verbs: [get, list, watch, update]", "verbs: [get, list, watch, update, delete]");
    site.grant("dayone", &rights);
    site.grant("dayone", RIGHTS_OF_REPLICAS);
    let replica = site.bare_settings("dayone").start_ready("dayone-0");
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    site.create_image("host", &with_network("network"));
    site.wait_until_ready("host");
    assert_eq!(site.secret("network")["metadata"]["ownerReferences"][0]["name"], "host");
    assert_eq!(replica.metric("dayone_kubernetes_owner_references_refused"), Some(0.0));
}

#[test]
fn a_secret_that_may_not_be_labelled_is_an_error_of_its_image_until_the_right_is_there() {
    let site = Site::new(ApiServer::shared());
    site.grant("dayone", &RIGHTS_ON_OBJECTS.replace("verbs: [get, list, watch, update]", "verbs: [get, list, watch]"));
    site.grant("dayone", RIGHTS_OF_REPLICAS);
    let replica = site.bare_settings("dayone").start_ready("dayone-0");
    site.create_secret("network", &json!({"nmstate": NMSTATE}));
    site.create_image("host", &with_network("network"));
    let image = site.wait_for_error("host", "SecretForbidden");
    let message = condition(&image, "Error")["message"].as_str().unwrap();
    assert!(message.contains("label the Secret network") && message.contains("Role"), "{message}");
    let path = site.secret_path("network");
    assert!(matches!(verdict(&image, site.admin().find(&path).as_ref()), Verdict::Error(_)), "{image:#}");
    replica.wait("an Event", Duration::from_secs(10), || {
        site.events("host").iter().any(|(kind, reason, _)| kind == "Warning" && reason == "SecretForbidden")
    });
    assert_eq!(replica.metric("dayone_kubernetes_failures_total{reason=\"SecretForbidden\"}"), Some(1.0));
    // The right that was missing is not the right to set owners.
    assert_eq!(replica.metric("dayone_kubernetes_owner_references_refused"), Some(0.0));
    assert!(!replica.log().contains("grant the right to delete Secrets"), "{}", replica.log());
    site.grant("dayone", RIGHTS_ON_OBJECTS);
    site.wait_until_ready("host");
    assert_eq!(site.secret("network")["metadata"]["ownerReferences"][0]["name"], "host");
}

#[test]
fn a_webhook_that_holds_up_the_lease_is_in_the_log_and_in_the_metrics() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    // Nothing listens there.
    let webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let rule = json!({"apiGroups": ["coordination.k8s.io"], "apiVersions": ["v1"], "resources": ["leases"],
        "operations": ["CREATE", "UPDATE"]});
    let webhook = json!({"name": "down.example.test", "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [rule],
        "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 1});
    server.admin().create(webhooks, &json!({"metadata": {"name": "down"}, "webhooks": [webhook]}));
    // It is in force a moment later.
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases?dryRun=All", site.namespace);
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    let lease = json!({"metadata": {"name": "dayone"}});
    while server.admin().request(reqwest::Method::POST, &leases, Some(&lease)).status != 500 {
        assert!(std::time::Instant::now() < deadline, "the webhook is not in force");
        std::thread::sleep(Duration::from_millis(100));
    }
    let replica = site.start();
    replica.wait_for_log(&["WARN", "cannot take or renew the Lease dayone", "down.example.test"]);
    let refused = || replica.metric("dayone_kubernetes_api_requests_total{method=\"POST\",status=\"5xx\"}");
    replica.wait("a second attempt", Duration::from_secs(20), || refused() >= Some(2.0));
    assert!(!replica.leads());
    let warnings = replica.log().lines().filter(|line| line.contains("cannot take or renew the Lease")).count();
    assert_eq!(warnings, 1, "{}", replica.log());

    server.admin().delete(&format!("{webhooks}/down"));
    replica.wait_for_log(&["INFO", "answers requests for the Lease dayone again"]);
    replica.wait("it leads", Duration::from_secs(20), || replica.leads());
}

/// The settings of a replica that reaches the API server by this proxy. The file must stay.
fn behind(proxy: &BlackHole, site: &Site) -> (ReplicaSettings, NamedTempFile) {
    let settings = site.settings("dayone");
    let direct = fs::read_to_string(site.server.kubeconfig(&site.user("dayone"))).unwrap();
    let kubeconfig = NamedTempFile::new().unwrap();
    fs::write(kubeconfig.path(), direct.replace(upstream(site.server), &proxy.address)).unwrap();
    (settings.with_variable("KUBECONFIG", kubeconfig.path().to_str().unwrap()), kubeconfig)
}

fn upstream(server: &ApiServer) -> &str {
    server.origin.strip_prefix("https://").unwrap()
}

/// After a restart, the API server does not know the changes before it: dayone lists the objects again.
#[test]
fn an_object_that_is_gone_from_a_new_list_is_not_waited_for() {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let proxy = BlackHole::before(upstream(&server));
    let (settings, _kubeconfig) = behind(&proxy, &site);
    site.create_image("host", &spec("iso"));
    // An image that is not ready yet.
    fs::write(site.bases.path("ironic-python-agent.iso"), "the first bytes of an ISO").unwrap();
    let replica = settings.start("dayone-0");
    replica.wait("it waits for the image", Duration::from_secs(40), || {
        replica.probe("readyz").is_some_and(|(status, why)| status == 503 && why.contains("not all images"))
    });
    site.wait_for_image("host", "its finalizer", |image| image["metadata"]["finalizers"] == json!([FINALIZER]));
    proxy.silence();
    site.patch_image("host", &json!({"metadata": {"finalizers": null}}));
    site.delete_image("host");
    server.restart();
    proxy.close();
    replica.wait_until_ready();
    replica.wait_for_log(&["cannot watch preprovisioningimages", "too old resource version"]);
    replica.wait("the new list", Duration::from_secs(10), || replica.metric("dayone_kubernetes_objects") == Some(0.0));
}

/// Such a connection shows no error, and the kernel does not notice it while nothing is sent.
#[test]
fn a_silent_connection_to_the_api_server_is_noticed_within_a_minute() {
    let site = Site::new(ApiServer::shared());
    let proxy = BlackHole::before(upstream(site.server));
    let (settings, _kubeconfig) = behind(&proxy, &site);
    let replica = settings.start_ready("dayone-0");
    replica.wait("it leads", Duration::from_secs(20), || replica.leads());
    proxy.silence();
    let begun = std::time::Instant::now();
    site.create_image("host", &spec("iso"));
    let path = site.image_path("host");
    site.admin().wait_until_within(Duration::from_secs(80), &path, "ready", |image| is_true(image, "Ready"));
    println!("ready {:.0} s after the connections went silent", begun.elapsed().as_secs_f64());
}

/// Certificates are renewed in their files, and kubectl reads these each time.
#[test]
fn renewed_files_that_the_kubeconfig_names_are_used() {
    let server = ApiServer::shared();
    let site = Site::new(server);
    let settings = site.settings("dayone");
    // Another user, so that it shows whose certificate is used.
    site.grant("renewed", RIGHTS_ON_OBJECTS);
    site.grant("renewed", RIGHTS_OF_REPLICAS);
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    let issue = |account: &str| {
        let (certificate, key) = server.client_certificate(&site.user(account));
        write("client.crt", &certificate);
        write("client.key", &key);
    };
    let direct = fs::read_to_string(server.kubeconfig(&site.user("dayone"))).unwrap();
    let mut config: Value = serde_json::from_str(&direct).unwrap();
    config["clusters"][0]["cluster"] = json!({"server": server.origin, "certificate-authority": "ca.crt"});
    config["users"][0]["user"] = json!({"client-certificate": "client.crt", "client-key": "client.key"});
    write("kubeconfig", &config.to_string());
    write("ca.crt", &rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap().cert.pem());
    issue("dayone");

    let settings = settings.with_variable("KUBECONFIG", directory.path().join("kubeconfig").to_str().unwrap());
    let replica = settings.start("dayone-0");
    replica.wait_for_log(&["WARN", "invalid peer certificate"]);
    write("ca.crt", server.authority());
    replica.wait_until_ready();
    replica.wait("it leads", Duration::from_secs(20), || replica.leads());

    issue("renewed");
    let asks = || !server.requests(&site.user("renewed")).is_empty();
    replica.wait("it uses the new certificate", Duration::from_secs(30), asks);
    site.create_image("host", &spec("iso"));
    let ready = site.wait_until_ready("host");
    assert!(site.writes("renewed").iter().any(|one| one.starts_with("patch preprovisioningimages/status")));
    // The API server names who wrote after the program.
    let mut managers = ready["metadata"]["managedFields"].as_array().unwrap().iter().map(|one| &one["manager"]);
    assert!(managers.any(|manager| manager == "dayone"), "{ready:#}");
    assert!(!replica.log().contains("Unauthorized"), "{}", replica.log());
}

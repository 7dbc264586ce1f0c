//! The API server that other tests rely on is a real one: it checks, counts versions, refuses and remembers.

use std::time::{Duration, Instant};

use acceptance::kubernetes::metal3::{API_VERSION, DATA_IMAGES, PREPROVISIONING_IMAGES, collection, object};
use acceptance::kubernetes::{ADMIN, ApiServer, Client, STRANGER};
use reqwest::Method;
use serde_json::{Value, json};

const ACCOUNT: &str = "system:serviceaccount:baremetal-operator-system:dayone";

/// The shared server with Metal3's definitions, and a new namespace.
fn with_metal3() -> (&'static ApiServer, String) {
    let server = ApiServer::shared();
    server.install_metal3();
    (server, server.admin().new_namespace("images"))
}

fn image(name: &str) -> Value {
    json!({"apiVersion": API_VERSION, "kind": "PreprovisioningImage", "metadata": {"name": name},
        "spec": {"architecture": "x86_64", "acceptFormats": ["iso", "initrd"]}})
}

fn condition(kind: &str, reason: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": reason, "message": "", "observedGeneration": 1,
        "lastTransitionTime": "2026-01-02T03:04:05Z"})
}

#[test]
fn what_the_definition_does_not_allow_is_refused() {
    let (server, namespace) = with_metal3();
    let images = collection(&namespace, PREPROVISIONING_IMAGES);
    let refused = |method: Method, path: &str, body: &Value| {
        let answer = server.admin().request(method, path, Some(body));
        assert_eq!(answer.status, 422, "{body}: {:#}", answer.body);
        answer.message().to_owned()
    };
    let mut wrong = image("wrong");
    wrong["spec"]["acceptFormats"] = json!(["iso", "usb"]);
    let message = refused(Method::POST, &images, &wrong);
    assert!(message.contains("spec.acceptFormats") && message.contains("\"usb\""), "{message}");

    server.admin().create(&images, &image("right"));
    let status = format!("{images}/right/status");
    for (spoil, path) in [
        (json!({"format": "usb"}), "status.format"),
        (json!({"conditions": [condition("Ready", "2nd try")]}), "status.conditions.reason"),
        (json!({"conditions": [condition("Ready", "")]}), "status.conditions.reason"),
        (json!({"conditions": [{"type": "Ready", "status": "True"}]}), "lastTransitionTime"),
    ] {
        let message = refused(Method::PATCH, &status, &json!({"status": spoil}));
        assert!(message.contains(path), "{path}: {message}");
    }
    // An empty message, as a host without an error has, is a string.
    let body = json!({"status": {"imageUrl": "", "conditions": [condition("Ready", "ImageSuccess")]}});
    assert_eq!(server.admin().patch(&status, &body)["status"]["conditions"][0]["message"], "");

    let message = refused(
        Method::POST,
        &collection(&namespace, DATA_IMAGES),
        &json!({"apiVersion": API_VERSION,
        "kind": "DataImage", "metadata": {"name": "empty"}, "spec": {}}),
    );
    assert!(message.contains("spec.url"), "{message}");
}

#[test]
fn every_definition_takes_a_good_object() {
    let (server, namespace) = with_metal3();
    let documents = format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: host, namespace: {namespace}}}\n\
         spec: {{online: true, bootMode: UEFI, bootMACAddress: '52:54:00:00:00:01', raid: {{a: 1}},\n  \
         bmc: {{address: 'redfish://192.0.2.1', credentialsName: bmc}}, rootDeviceHints: {{deviceName: /dev/sda}}}}\n\
         ---\napiVersion: metal3.io/v1alpha1\nkind: DataImage\nmetadata: {{name: host, namespace: {namespace}}}\n\
         spec: {{url: 'http://192.0.2.2/data.iso'}}\n\
         ---\napiVersion: v1\nkind: Secret\nmetadata: {{name: bmc, namespace: {namespace}}}\nstringData: {{username: a}}\n"
    );
    let applied = server.admin().apply(&documents);
    assert_eq!(applied[0]["spec"]["raid"]["a"], 1, "what the definition does not name is kept");
    assert_eq!(applied[2]["data"]["username"], "YQ==");
    // Again, and nothing changes.
    let again = server.admin().apply(&documents);
    assert_eq!(applied[0]["metadata"]["resourceVersion"], again[0]["metadata"]["resourceVersion"]);
}

#[test]
fn a_status_is_apart_from_its_object() {
    let (server, namespace) = with_metal3();
    let admin = server.admin();
    let mut with_status = image("host");
    with_status["status"] = json!({"imageUrl": "http://192.0.2.1/a.iso"});
    let created = admin.create(&collection(&namespace, PREPROVISIONING_IMAGES), &with_status);
    assert_eq!((&created["metadata"]["generation"], &created["status"]), (&json!(1), &Value::Null));

    let path = object(&namespace, PREPROVISIONING_IMAGES, "host");
    let change = json!({"spec": {"architecture": "aarch64"}, "status": {"imageUrl": "http://192.0.2.1/b.iso"}});
    let after = admin.patch_status(&path, &change);
    assert_eq!(after["status"]["imageUrl"], "http://192.0.2.1/b.iso");
    assert_eq!((&after["metadata"]["generation"], &after["spec"]["architecture"]), (&json!(1), &json!("x86_64")));
    assert_ne!(after["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);

    let after = admin.patch(&path, &change);
    assert_eq!((&after["metadata"]["generation"], &after["spec"]["architecture"]), (&json!(2), &json!("aarch64")));
}

#[test]
fn of_two_writers_the_second_has_a_conflict() {
    let (server, namespace) = with_metal3();
    let admin = server.admin();
    let mut first = admin.create(&collection(&namespace, PREPROVISIONING_IMAGES), &image("host"));
    let mut second = first.clone();
    let path = object(&namespace, PREPROVISIONING_IMAGES, "host");
    first["spec"]["architecture"] = json!("aarch64");
    admin.replace(&path, &first);
    second["spec"]["networkDataName"] = json!("network");
    let answer = admin.request(Method::PUT, &path, Some(&second));
    assert_eq!((answer.status, &answer.body["reason"]), (409, &json!("Conflict")), "{:#}", answer.body);
}

#[test]
fn an_object_with_a_finalizer_stays_until_it_is_gone() {
    let (server, namespace) = with_metal3();
    let mut host = image("host");
    host["metadata"]["finalizers"] = json!(["preprovisioningimage.metal3.io"]);
    server.admin().create(&collection(&namespace, PREPROVISIONING_IMAGES), &host);
    let path = object(&namespace, PREPROVISIONING_IMAGES, "host");
    server.admin().delete(&path);
    assert!(server.admin().get(&path)["metadata"]["deletionTimestamp"].is_string());
    server.admin().patch(&path, &json!({"metadata": {"finalizers": null}}));
    server.admin().wait_until(&path, "gone", Value::is_null);
    assert_eq!(server.admin().find(&path), None);
}

#[test]
fn a_user_has_the_rights_of_its_roles_and_no_others() {
    let (server, namespace) = with_metal3();
    let images = collection(&namespace, PREPROVISIONING_IMAGES);
    let refused = |client: &Client, user: &str| {
        let answer = client.request(Method::GET, &images, None);
        assert_eq!(answer.status, 403, "{:#}", answer.body);
        assert!(answer.message().contains(user), "{}", answer.message());
    };
    refused(&server.client(STRANGER), STRANGER);
    let account = server.client(ACCOUNT);
    refused(&account, ACCOUNT);
    server.admin().apply(&format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: dayone, namespace: {namespace}}}\n\
         rules: [{{apiGroups: [metal3.io], resources: [preprovisioningimages], verbs: [list]}}]\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: dayone, namespace: {namespace}}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: dayone}}\n\
         subjects: [{{kind: ServiceAccount, name: dayone, namespace: baremetal-operator-system}}]\n"
    ));
    let deadline = Instant::now() + Duration::from_secs(10);
    while account.request(Method::GET, &images, None).status != 200 {
        assert!(Instant::now() < deadline, "the role has no effect");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(account.request(Method::GET, &format!("{images}/host"), None).status, 403);
    assert_eq!(account.request(Method::POST, &images, Some(&image("host"))).status, 403);
    refused(&server.client(STRANGER), STRANGER);
}

#[test]
fn requests_are_counted_by_user() {
    let (server, namespace) = with_metal3();
    let user = format!("system:serviceaccount:{namespace}:counted");
    let client = server.client(&user);
    let images = collection(&namespace, PREPROVISIONING_IMAGES);
    client.request(Method::GET, &images, None);
    client.request(Method::PATCH, &format!("{images}/host/status"), Some(&json!({})));
    // A watch ends here by its own limit.
    client.request(Method::GET, "/api/v1/namespaces?watch=true&timeoutSeconds=1", None);
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut requests = server.requests(&user);
    while requests.len() < 3 {
        assert!(Instant::now() < deadline, "{requests:#?}");
        std::thread::sleep(Duration::from_millis(50));
        requests = server.requests(&user);
    }
    let seen: Vec<_> = requests.iter().map(|one| (&*one.verb, &*one.resource, &*one.subresource, one.code)).collect();
    let expected = [
        ("list", "preprovisioningimages", "", 403),
        ("patch", "preprovisioningimages", "status", 403),
        ("watch", "namespaces", "", 403),
    ];
    assert_eq!(seen, expected);
    assert_eq!((&*requests[1].namespace, &*requests[1].name), (&*namespace, "host"));
    assert!(server.requests(STRANGER).iter().all(|one| one.namespace != namespace || one.code == 403));
    assert!(server.requests(ADMIN).iter().any(|one| one.verb == "create" && one.resource == "namespaces"));
}

#[test]
fn a_restart_keeps_objects_tokens_and_kubeconfigs() {
    let server = ApiServer::start();
    server.install_metal3();
    let namespace = server.admin().new_namespace("images");
    let created = server.admin().create(&collection(&namespace, PREPROVISIONING_IMAGES), &image("host"));
    let account = server.client(ACCOUNT);
    let kubeconfig = std::fs::read_to_string(server.kubeconfig(ACCOUNT)).unwrap();

    server.stop_api_server();
    let path = object(&namespace, PREPROVISIONING_IMAGES, "host");
    assert!(server.admin().try_get(&path).is_none(), "a stopped server answers");
    server.start_api_server();
    let found = server.admin().wait_until(&path, "there", |found| !found.is_null());
    assert_eq!(found["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    assert_eq!(account.request(Method::GET, &path, None).status, 403, "the token is known");
    assert!(server.requests(ADMIN).iter().any(|one| one.verb == "create" && one.resource == "preprovisioningimages"));
    let kubeconfig: Value = serde_json::from_str(&kubeconfig).unwrap();
    assert_eq!(kubeconfig["clusters"][0]["cluster"]["server"], server.origin);
    assert_eq!(kubeconfig["contexts"][0]["context"]["namespace"], "baremetal-operator-system");
    let review = json!({"spec": {"token": kubeconfig["users"][0]["user"]["token"]}});
    let review = server.admin().create("/apis/authentication.k8s.io/v1/tokenreviews", &review);
    assert_eq!(review["status"]["user"]["username"], ACCOUNT);

    let directory = server.directory().to_owned();
    let origin = server.origin.clone();
    drop(server);
    assert!(!directory.exists(), "its directory stays");
    assert!(std::net::TcpStream::connect(origin.trim_start_matches("https://")).is_err(), "it is still there");
}

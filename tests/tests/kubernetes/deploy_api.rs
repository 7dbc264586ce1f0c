//! `deploy/` against a real API server: it takes every object and keeps every field, and the accounts may do what they
//! must and nothing else.
//!
//! The server is 1.20: it has no policy/v1, so a PodDisruptionBudget is shown to it as policy/v1beta1, which has the same
//! fields; and nothing of the Prometheus operator, whose resources are rendered only.

use std::collections::BTreeSet;

use acceptance::kubernetes::{ApiServer, Client, STRANGER};
use acceptance::kustomize::{directory, each, kustomization, of_kind};
use reqwest::Method;
use serde_json::{Value, json};

mod run;
use crate::deploy::sites;

use sites::{EVERYTHING, ONE_NAMESPACE, SIDECAR};

/// What the server can be shown.
fn known(objects: Vec<Value>) -> impl Iterator<Item = Value> {
    let known = objects.into_iter().filter(|object| object["apiVersion"] != "monitoring.coreos.com/v1");
    known.map(|mut object| {
        if object["kind"] == "PodDisruptionBudget" {
            assert_eq!(object["apiVersion"], "policy/v1");
            object["apiVersion"] = json!("policy/v1beta1");
        }
        object
    })
}

/// Where an object is created.
fn collection(client: &Client, object: &Value) -> String {
    let path = client.path_of(object);
    path.rsplit_once('/').expect("a path").0.to_owned()
}

/// Creates the objects of a site, each in the namespace it names or else in `namespace`.
pub(crate) fn create(client: &Client, objects: Vec<Value>, namespace: &str) {
    for mut object in known(objects) {
        if object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!(namespace);
        }
        let place = object["metadata"]["namespace"].as_str().expect("a name").to_owned();
        client.ensure("/api/v1/namespaces", &json!({"metadata": {"name": place}}));
        let path = collection(client, &object);
        if !path.contains("/namespaces/") {
            object["metadata"].as_object_mut().expect("an object").remove("namespace");
        }
        let created = client.create(&path, &object);
        assert_eq!(lost(&object, &created, ""), Vec::<String>::new(), "{path}: {created:#}");
    }
}

/// What was sent and did not arrive: a field that the server does not know is dropped without a word.
fn lost(sent: &Value, kept: &Value, path: &str) -> Vec<String> {
    match (sent, kept) {
        (Value::Object(sent), Value::Object(kept)) => {
            let fields = sent
                .iter()
                .flat_map(|(key, value)| lost(value, kept.get(key).unwrap_or(&Value::Null), &format!("{path}/{key}")));
            fields.collect()
        }
        (Value::Array(sent), Value::Array(kept)) if sent.len() == kept.len() => {
            let elements = sent.iter().zip(kept).enumerate();
            elements.flat_map(|(at, (sent, kept))| lost(sent, kept, &format!("{path}/{at}"))).collect()
        }
        // An empty value of a variable is none.
        (Value::String(text), Value::Null) if text.is_empty() => Vec::new(),
        (Value::Object(members), Value::Null) if members.is_empty() => Vec::new(),
        _ if sent == kept => Vec::new(),
        _ => vec![format!("{path}: {sent} has become {kept}")],
    }
}

#[test]
fn the_server_keeps_what_is_sent() {
    let server = ApiServer::start();
    let namespace = server.admin().new_namespace("base");
    create(server.admin(), directory("deploy/base"), &namespace);
    create(server.admin(), kustomization(ONE_NAMESPACE), "default");
    create(server.admin(), kustomization(EVERYTHING), "default");
}

#[test]
fn a_field_that_is_lost_is_seen() {
    let sent = json!({"a": [{"b": 1, "c": "x"}], "d": {}, "e": ""});
    assert_eq!(lost(&sent, &json!({"a": [{"b": 1, "c": "x", "new": 1}], "d": {}}), ""), Vec::<String>::new());
    assert_eq!(lost(&sent, &json!({"a": [{"b": 1}], "d": {}}), ""), ["/a/0/c: \"x\" has become null"]);
}

/// `verb resource[/name]` of all that an account may do in a namespace, beyond what everybody may.
fn rights(server: &ApiServer, user: &str, namespace: &str) -> BTreeSet<String> {
    let of = |user: &str| -> BTreeSet<String> {
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace}});
        let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
        let answer = server.client(user).create(path, &review);
        assert_eq!(answer["status"]["incomplete"], false);
        each(&answer["status"]["resourceRules"]).flat_map(rule).collect()
    };
    of(user).difference(&of(STRANGER)).cloned().collect()
}

fn rule(rule: &Value) -> Vec<String> {
    let texts = |key: &str| -> Vec<&str> { each(&rule[key]).map(|text| text.as_str().expect("a text")).collect() };
    let names = texts("resourceNames");
    let names = if names.is_empty() { vec![""] } else { names };
    let mut all = Vec::new();
    for group in texts("apiGroups") {
        for resource in texts("resources") {
            for verb in texts("verbs") {
                all.extend(names.iter().map(|name| format!("{verb} {group}/{resource} {name}").trim_end().to_owned()));
            }
        }
    }
    all
}

/// What an account may do with the objects that images come from.
fn images() -> BTreeSet<String> {
    let rights = [
        ("metal3.io/preprovisioningimages", "get list watch patch"),
        ("metal3.io/preprovisioningimages/status", "patch"),
        ("metal3.io/dataimages", "get list watch patch"),
        ("/secrets", "get list watch update"),
        ("events.k8s.io/events", "create patch"),
    ];
    let each = |(resource, verbs): (&str, &str)| -> Vec<String> {
        verbs.split(' ').map(|verb| format!("{verb} {resource}")).collect()
    };
    rights.into_iter().flat_map(each).collect()
}

/// What an account may do in its own namespace, so that replicas agree.
fn replicas() -> BTreeSet<String> {
    let rights = [
        "get coordination.k8s.io/leases dayone",
        "update coordination.k8s.io/leases dayone",
        "create coordination.k8s.io/leases",
        "get /secrets dayone-key",
        "get /secrets dayone-key-rotation",
        "create /secrets",
    ];
    rights.map(str::to_owned).into()
}

fn both() -> BTreeSet<String> {
    images().union(&replicas()).cloned().collect()
}

/// Only the account and its rights: a cluster has one ClusterRole of a name.
fn access(objects: &[Value]) -> Vec<Value> {
    let kinds = ["ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
    kinds.into_iter().flat_map(|kind| of_kind(objects, kind).cloned()).collect()
}

#[test]
fn an_account_of_one_namespace_may_do_nothing_in_others() {
    let server = ApiServer::start();
    create(server.admin(), access(&kustomization(ONE_NAMESPACE)), "default");
    let account = "system:serviceaccount:one:dayone";
    assert_eq!(rights(&server, account, "one"), both());
    assert_eq!(rights(&server, account, "default"), BTreeSet::new());

    // The same, asked of the objects themselves.
    let (admin, dayone) = (server.admin(), server.client(account));
    let lease = |name: &str| json!({"metadata": {"name": name}, "spec": {"holderIdentity": "test"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/one/leases";
    for name in ["dayone", "other"] {
        dayone.create(leases, &lease(name));
    }
    assert_eq!(dayone.request(Method::GET, &format!("{leases}/dayone"), None).status, 200);
    assert_eq!(dayone.request(Method::GET, &format!("{leases}/other"), None).status, 403);
    dayone.create("/api/v1/namespaces/one/secrets", &json!({"metadata": {"name": "dayone-key"}}));
    assert_eq!(dayone.request(Method::DELETE, "/api/v1/namespaces/one/secrets/dayone-key", None).status, 403);
    admin.create("/api/v1/namespaces/default/secrets", &json!({"metadata": {"name": "theirs"}}));
    assert_eq!(dayone.request(Method::GET, "/api/v1/namespaces/default/secrets/theirs", None).status, 403);
}

#[test]
fn an_account_of_all_namespaces_has_the_same_rights_there() {
    let server = ApiServer::start();
    create(server.admin(), access(&kustomization(EVERYTHING)), "default");
    let account = "system:serviceaccount:everything:dayone";
    assert_eq!(rights(&server, account, "everything"), both());
    assert_eq!(rights(&server, account, "default"), images());
}

#[test]
fn the_operators_account_gets_the_rights_of_its_sidecar() {
    let server = ApiServer::start();
    create(server.admin(), kustomization(SIDECAR), "default");
    let account = "system:serviceaccount:baremetal-operator-system:baremetal-operator-controller-manager";
    assert_eq!(rights(&server, account, "baremetal-operator-system"), both());
    assert_eq!(rights(&server, account, "default"), images());
}

//! The Helm chart against the kustomize tree: for the same choices, both make the same objects.

use std::fs;

use acceptance::bases::fixtures;
use acceptance::helm::{Helm, RELEASE};
use acceptance::kustomize::{directory, kustomization, object, objects};
use acceptance::nginx::Nginx;
use acceptance::peers::{run, run_text};
use acceptance::server::dayone;
use imagelib::digest::Digest;
use serde_json::{Map, Value, json};

use crate::deploy::restricted::violations;
use crate::deploy::sites::{EVERYTHING, ONE_NAMESPACE};

/// What Helm adds to the labels of every object.
const LABELS: [&str; 4] =
    ["app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"];

/// With a URL of the site's own, and nothing else.
const PUBLISHED: &str = "
namespace: published
resources: [dayone/deploy/base]
patches:
- target: {kind: Deployment, labelSelector: dayone.metal3.io/image-server=true}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: any}
    spec:
      template:
        spec:
          containers:
          - name: dayone
            env:
            - name: IMAGES_PUBLISH_ADDR
              value: http://192.0.2.20:8084/
";

/// The same choices, for both: what kustomize makes, the namespace, and the values.
fn choices() -> Vec<(&'static str, Vec<Value>, &'static str, Value)> {
    let everything = json!({
        "clusterWide": true,
        "bases": {"machineOsImages": {"image": "machine-os-images"}},
        "tls": {"secret": "dayone-tls"},
        "siteKey": {"secret": "dayone-site-key"},
        "monitoring": {"enabled": true},
    });
    let example = json!({
        "clusterWide": true,
        "bases": {"claim": "dayone-bases"},
        "image": {"repository": "registry.example.com/dayone", "tag": "0.2.0"},
        "settings": {
            "IRONIC_BASE_URL": "https://192.0.2.5:6385",
            "IRONIC_AGENT_IMAGE": "registry.example.com/ironic-agent:1",
            "IP_OPTIONS": "ip=dhcp",
        },
    });
    let published = json!({"publishUrl": "http://192.0.2.20:8084/"});
    vec![
        ("defaults", kustomization("{namespace: plain, resources: [dayone/deploy/base]}"), "plain", json!({})),
        ("one namespace", kustomization(ONE_NAMESPACE), "one", json!({"bases": {"claim": "dayone-bases"}})),
        ("everything", kustomization(EVERYTHING), "everything", everything),
        ("example", directory("deploy/example"), "baremetal-operator-system", example),
        ("published", kustomization(PUBLISHED), "published", published),
    ]
}

/// An object without what the two tools have each in their own way: Helm's labels, and how Pods follow the ConfigMap. With
/// kustomize the name changes with the content, with Helm an annotation does.
fn comparable(mut object: Value) -> Value {
    if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
        LABELS.iter().for_each(|label| _ = labels.remove(*label));
    }
    if object["kind"] == "ConfigMap" {
        shorten(&mut object["metadata"]["name"]);
    }
    if object["kind"] == "Deployment" {
        let template = &mut object["spec"]["template"];
        let metadata = template["metadata"].as_object_mut().expect("an object");
        if let Some(Value::Object(mut annotations)) = metadata.remove("annotations") {
            annotations.remove("checksum/settings");
            assert!(annotations.is_empty(), "{annotations:?}");
        }
        shorten(&mut template["spec"]["containers"][0]["envFrom"][0]["configMapRef"]["name"]);
    }
    by_name(object)
}

/// Lists of named elements are in the order of the names: kustomize moves what it patches to the front. That variables know
/// those before them is a test of its own.
fn by_name(value: Value) -> Value {
    match value {
        Value::Array(elements) => {
            let mut elements: Vec<Value> = elements.into_iter().map(by_name).collect();
            if elements.iter().all(|element| element["name"].is_string()) {
                elements.sort_by_key(|element| element["name"].as_str().map(str::to_owned));
            }
            Value::Array(elements)
        }
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (key, by_name(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

/// `dayone-settings` without the digest behind it.
fn shorten(name: &mut Value) {
    let text = name.as_str().expect("a name");
    assert!(text.starts_with("dayone-settings"), "{text}");
    *name = json!("dayone-settings");
}

fn sorted(objects: Vec<Value>) -> Vec<(String, Value)> {
    let key = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["name"]);
    let mut objects: Vec<_> = objects.into_iter().map(comparable).map(|object| (key(&object), object)).collect();
    objects.sort_by(|(one, _), (other, _)| one.cmp(other));
    objects
}

#[test]
fn the_chart_makes_what_kustomize_makes() {
    let helm = Helm::new();
    for (choice, kustomized, namespace, values) in choices() {
        let rendered = helm.template(namespace, &values);
        for object in &rendered {
            for label in LABELS {
                assert!(object["metadata"]["labels"][label].is_string(), "{choice}: no {label} in {object:#}");
            }
        }
        let (rendered, kustomized) = (sorted(rendered), sorted(kustomized));
        let names = |objects: &[(String, Value)]| objects.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&rendered), names(&kustomized), "{choice}");
        for ((name, rendered), (_, kustomized)) in rendered.iter().zip(&kustomized) {
            assert_eq!(rendered, kustomized, "{choice}: {name}");
        }
    }
}

#[test]
fn pods_restart_when_a_setting_changes() {
    let helm = Helm::new();
    let checksum = |url: &str| {
        let objects = helm.template("one", &json!({"settings": {"IRONIC_BASE_URL": url}}));
        let deployment = objects.into_iter().find(|object| object["kind"] == "Deployment").expect("a Deployment");
        deployment["spec"]["template"]["metadata"]["annotations"]["checksum/settings"].as_str().unwrap().to_owned()
    };
    assert_eq!(checksum("https://192.0.2.5:6385"), checksum("https://192.0.2.5:6385"));
    assert_ne!(checksum("https://192.0.2.5:6385"), checksum("https://192.0.2.6:6385"));
}

#[test]
fn the_namespace_that_reads_the_metrics_is_the_one_of_the_values() {
    let helm = Helm::new();
    let allowed = |namespace: Value| {
        let objects = helm.template("one", &json!({"networkPolicy": {"monitoringNamespace": namespace}}));
        let policy = objects.into_iter().find(|object| object["kind"] == "NetworkPolicy").expect("a NetworkPolicy");
        policy["spec"]["ingress"][1]["from"][0]["namespaceSelector"]["matchLabels"].clone()
    };
    let labels = json!({"team": "observability"});
    assert_eq!(allowed(labels.clone()), labels);
    // An empty selector would let every namespace in.
    for nothing in [json!({}), Value::Null] {
        assert_eq!(allowed(nothing), json!({"kubernetes.io/metadata.name": "monitoring"}));
    }
}

#[test]
fn prometheus_finds_the_objects_by_the_labels_of_the_values() {
    let helm = Helm::new();
    let labels = |labels: Value| {
        let objects = helm.template("one", &json!({"monitoring": {"enabled": true, "labels": labels}}));
        ["ServiceMonitor", "PrometheusRule"].map(|kind| object(&objects, kind, "dayone")["metadata"]["labels"].clone())
    };
    for found in labels(json!({"release": "monitoring", "app.kubernetes.io/part-of": "1"})) {
        assert_eq!(
            (&found["release"], &found["app.kubernetes.io/part-of"], &found["app.kubernetes.io/name"]),
            (&json!("monitoring"), &json!("1"), &json!("dayone")),
            "{found:#}"
        );
    }
    assert_eq!(labels(json!({})), labels(Value::Null));
}

pub(super) fn fetched(file: &str, url: &str) -> Value {
    json!({"file": file, "url": url, "sha256": Digest::of(b"a base").to_string()})
}

/// The Job that fills the claim with these files.
fn job(files: &[Value]) -> Value {
    let values = json!({"bases": {"claim": "dayone-bases", "fetch": files}});
    let objects = Helm::new().template("one", &values);
    objects.into_iter().find(|object| object["kind"] == "Job").expect("a Job")
}

#[test]
fn a_job_fills_the_claim() {
    let nginx = Nginx::start(None);
    fs::write(nginx.root().join("live.iso"), "a base").unwrap();
    let files = [fetched("ironic-python-agent.iso", &nginx.url("live.iso")), fetched("b.iso", &nginx.url("live.iso"))];
    let job = job(&files);
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(violations(pod), [""; 0]);
    assert_eq!(pod["volumes"][0]["persistentVolumeClaim"], json!({"claimName": "dayone-bases"}));

    // What the containers run, with a directory in place of the claim.
    let claim = tempfile::tempdir().unwrap();
    for container in pod["containers"].as_array().unwrap() {
        let [program, words @ ..] = container["command"].as_array().unwrap().as_slice() else { panic!("{container}") };
        assert_eq!(program, "/dayone");
        let mount = container["volumeMounts"][0]["mountPath"].as_str().unwrap();
        let arguments = words.iter().chain(container["args"].as_array().unwrap());
        let arguments = arguments.map(|word| word.as_str().unwrap().replace(mount, claim.path().to_str().unwrap()));
        run(dayone().args(arguments));
    }
    for file in ["ironic-python-agent.iso", "b.iso"] {
        assert_eq!(fs::read(claim.path().join(file)).unwrap(), b"a base");
    }
    // A Job cannot change: other files are another Job.
    let name = |job: &Value| job["metadata"]["name"].clone();
    assert_eq!(name(&job), name(&self::job(&files)));
    assert_ne!(name(&job), name(&self::job(&files[..1])));
}

#[test]
fn a_job_with_another_pod_is_another_job() {
    let job = |values: Value| {
        let mut all = json!({"bases": {"claim": "a", "fetch": [fetched("a.iso", "https://example.com/a.iso")]}});
        for (name, value) in values.as_object().unwrap() {
            match (all[name].as_object_mut(), value.as_object()) {
                (Some(all), Some(more)) => all.extend(more.clone()),
                _ => all[name] = value.clone(),
            }
        }
        let objects = Helm::new().template("one", &all);
        objects.into_iter().find(|object| object["kind"] == "Job").expect("a Job")
    };
    let mut known = vec![job(json!({}))];
    for values in [
        json!({"nodeSelector": {"kubernetes.io/arch": "amd64"}}),
        json!({"tolerations": [{"operator": "Exists"}]}),
        json!({"imagePullSecrets": [{"name": "registry"}]}),
        json!({"image": {"tag": "other"}}),
        json!({"image": {"pullPolicy": "Always"}}),
        json!({"bases": {"claim": "b"}}),
        // As OpenShift assigns them.
        json!({"bases": {"fsGroup": 1_000_650_000}}),
    ] {
        let changed = job(values.clone());
        for job in &known {
            assert_ne!(job["spec"]["template"], changed["spec"]["template"], "{values}");
            assert_ne!(job["metadata"]["name"], changed["metadata"]["name"], "{values}");
        }
        known.push(changed);
    }
    assert_eq!(known.last().unwrap()["spec"]["template"]["spec"]["securityContext"]["fsGroup"], 1_000_650_000);
    // What does not concern the Pod starts no other Job.
    assert_eq!(job(json!({"replicas": 3}))["metadata"]["name"], known[0]["metadata"]["name"]);
}

#[test]
fn large_numbers_in_settings_keep_their_form() {
    let settings =
        json!({"settings": {"A": 1_000_000, "B": 6385, "C": "1e6", "D": true, "E": 0.5, "F": 123_456_789_012_i64}});
    let objects = Helm::new().template("one", &settings);
    let map = objects.into_iter().find(|object| object["metadata"]["name"] == "dayone-settings").expect("a ConfigMap");
    let data = &map["data"];
    let wanted = [("A", "1000000"), ("B", "6385"), ("C", "1e6"), ("D", "true"), ("E", "0.5"), ("F", "123456789012")];
    for (name, value) in wanted {
        assert_eq!(data[name], value);
    }
}

#[test]
fn names_that_look_like_other_values_are_texts() {
    let helm = Helm::new();
    let values = json!({
        "bases": {"claim": "123", "fetch": [fetched("a.iso", "https://example.com/a.iso")]},
        "tls": {"secret": "1e3"},
        "siteKey": {"secret": "0x10"},
        "priorityClassName": "true",
        "monitoring": {"enabled": true},
        "settings": null,
    });
    let mut template = helm.command(&["template", "12", "--namespace", "1234", "--values"]);
    let objects = objects(&run_text(template.arg(helm.values(&values)).arg(Helm::chart())));
    for object in &objects {
        let metadata = &object["metadata"];
        assert_eq!(metadata["labels"]["app.kubernetes.io/instance"], "12", "{object:#}");
        assert!(metadata["namespace"].is_null() || metadata["namespace"] == "1234", "{object:#}");
        for subject in object["subjects"].as_array().into_iter().flatten() {
            assert_eq!(subject["namespace"], "1234", "{object:#}");
        }
    }
    let pod = |kind: &str| {
        objects.iter().find(|object| object["kind"] == kind).map(|object| &object["spec"]["template"]["spec"])
    };
    let (deployment, job) = (pod("Deployment").expect("a Deployment"), pod("Job").expect("a Job"));
    assert_eq!(deployment["priorityClassName"], "true");
    let volumes = deployment["volumes"].to_string();
    for name in [r#""claimName":"123""#, r#""secretName":"1e3""#, r#""secretName":"0x10""#] {
        assert!(volumes.contains(name), "no {name} in {volumes}");
    }
    assert_eq!(job["volumes"][0]["persistentVolumeClaim"]["claimName"], "123");
}

#[test]
fn helm_finds_no_fault_with_the_chart() {
    let helm = Helm::new();
    let report = run_text(helm.command(&["lint", "--strict"]).arg(Helm::chart()));
    assert!(report.contains("0 chart(s) failed"), "{report}");

    // What `helm package` packs is whole: the alerts are a link in the tree.
    let directory = tempfile::tempdir().unwrap();
    run_text(helm.command(&["package", "--destination"]).arg(directory.path()).arg(Helm::chart()));
    let package = directory.path().join("dayone-0.2.0.tgz");
    let values = helm.values(&json!({"monitoring": {"enabled": true}}));
    let mut template = helm.command(&["template", RELEASE, "--values"]);
    let packed = run_text(template.arg(values).arg(&package));
    assert!(packed.contains("alert: DayoneDown"), "{packed}");
}

#[test]
fn the_chart_has_the_version_of_dayone() {
    let read = |path: &str| fs::read_to_string(fixtures("..").join(path)).unwrap();
    let chart: Value = serde_yaml::from_str(&read("deploy/chart/dayone/Chart.yaml")).unwrap();
    let manifest = read("Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = ")).expect("a version");
    for member in ["version", "appVersion"] {
        assert_eq!(chart[member], version.trim_matches('"'), "{member}");
    }
}

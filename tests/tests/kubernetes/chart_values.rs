//! The values that the Helm chart refuses, those that set how the Pods stop, and what the notes say of values.

use acceptance::helm::{Helm, RELEASE};
use acceptance::peers::run_text;
use serde_json::{Value, json};

use super::chart::fetched;

/// The container of the Deployment that Helm makes of these values, and the seconds that the Pod has to stop.
fn container(helm: &Helm, values: &Value) -> (Value, Value) {
    let objects = helm.template("one", values);
    let deployment = objects.into_iter().find(|object| object["kind"] == "Deployment").expect("a Deployment");
    let pod = &deployment["spec"]["template"]["spec"];
    (pod["containers"][0].clone(), pod["terminationGracePeriodSeconds"].clone())
}

#[test]
fn wrong_values_are_refused_with_their_names() {
    let helm = Helm::new();
    let both = json!({"bases": {"claim": "a", "machineOsImages": {"image": "b"}}});
    for (values, named) in [
        (json!({"replicas": "two"}), "replicas"),
        (json!({"replica": 2}), "replica"),
        (json!({"publishUrl": "192.0.2.20"}), "publishUrl"),
        (json!({"networkPolicy": {"apiServerPorts": [0]}}), "apiServerPorts"),
        (json!({"settings": {"IRONIC-BASE-URL": "x"}}), "IRONIC-BASE-URL"),
        (json!({"bases": {"fetch": [fetched("a.iso", "https://example.com/a.iso")]}}), "bases.fetch needs bases.claim"),
        (json!({"bases": {"claim": "a", "fetch": [{"file": "a.iso", "url": "https://example.com/"}]}}), "sha256"),
        (json!({"bases": {"claim": "a", "fetch": [fetched("../a.iso", "https://example.com/")]}}), "file"),
        (
            json!({"bases": {"claim": "a", "fetch": [fetched("a.iso", "https://a/"), fetched("a.iso", "https://b/")]}}),
            "bases.fetch has the file a.iso twice",
        ),
        (json!({"drainSeconds": -1}), "drainSeconds"),
        (json!({"drainSeconds": null}), "missing property 'drainSeconds'"),
        (json!({"settings": {"A": 9_007_199_254_740_993_i64}}), "settings.A is a number that Helm does not keep"),
        (json!({"settings": {"DAYONE_LEASE": "other"}}), "settings.DAYONE_LEASE is other"),
        (json!({"tls": null}), "missing property 'tls'"),
        // Pods would not follow changed settings.
        (json!({"podAnnotations": {"checksum/settings": "any"}}), "invalid propertyName 'checksum/settings'"),
        // Without ports, the rule would allow everything.
        (json!({"networkPolicy": {"apiServerPorts": null}}), "missing property 'apiServerPorts'"),
        (json!({"networkPolicy": {"enabled": null}}), "missing property 'enabled'"),
        (json!({"monitoring": {"runbooks": null}}), "missing property 'runbooks'"),
        (json!({"monitoring": {"runbooks": ""}}), "/monitoring/runbooks"),
        // The links would lose their heading, Prometheus would take them for templates, or the YAML would be wrong.
        (json!({"monitoring": {"runbooks": "https://example.com/ "}}), "/monitoring/runbooks"),
        (json!({"monitoring": {"runbooks": "https://example.com/{{ x }}"}}), "/monitoring/runbooks"),
        (json!({"monitoring": {"runbooks": "a\nb: c"}}), "/monitoring/runbooks"),
        (json!({"monitoring": {"runbooks": "@wiki"}}), "/monitoring/runbooks"),
        (json!({"clusterWide": null}), "missing property 'clusterWide'"),
        (both, "bases.claim and bases.machineOsImages.image exclude each other"),
    ] {
        let output = helm.try_template("one", &values);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(named), "{values}: {errors}");
    }
}

/// The settings that a container's variables and arguments leave without effect: an argument overrides the variable of its option.
fn own(container: &Value) -> Vec<String> {
    let variables =
        container["env"].as_array().unwrap().iter().map(|variable| variable["name"].as_str().unwrap().to_owned());
    let options = container["args"].as_array().unwrap().iter().map(|argument| {
        let option = argument.as_str().unwrap().trim_start_matches("--").split('=').next().unwrap();
        format!("DAYONE_{}", option.replace('-', "_").to_uppercase())
    });
    variables.chain(options).collect()
}

#[test]
fn settings_that_the_deployment_would_override_are_refused() {
    let helm = Helm::new();
    let secrets = json!({"clusterWide": true, "tls": {"secret": "tls"}, "siteKey": {"secret": "site"}});
    for (values, watches_its_own, has_secrets) in [
        (json!({"clusterWide": false}), true, false),
        (json!({"clusterWide": true}), false, false),
        (secrets, false, true),
    ] {
        let names = own(&container(&helm, &values).0);
        let has = |name: &str| names.iter().any(|known| known == name);
        assert!(has("DAYONE_DRAIN_SECONDS") && has("POD_NAME"), "{names:?}");
        assert_eq!(has("WATCH_NAMESPACE"), watches_its_own);
        for name in
            ["DAYONE_IMAGES_TLS_CERT_FILE", "DAYONE_IMAGES_TLS_KEY_FILE", "DAYONE_SITE_KEY", "DAYONE_SITE_CERTIFICATE"]
        {
            assert_eq!(has(name), has_secrets, "{name}");
        }
        for name in names {
            let mut values = values.clone();
            values["settings"] = json!({ name.as_str(): "any" });
            let output = helm.try_template("one", &values);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                !output.status.success() && errors.contains(&format!("settings.{name} would have no effect")),
                "{errors}"
            );
        }
    }
    // Who may watch all namespaces may choose one, and who mounts a certificate may name it.
    let values = json!({"WATCH_NAMESPACE": "hosts", "DAYONE_IMAGES_TLS_CERT_FILE": "/certs/tls.crt"});
    helm.template("one", &json!({"clusterWide": true, "settings": values}));
}

#[test]
fn a_pod_has_more_time_to_stop_than_its_transfers() {
    let helm = Helm::new();
    for (values, delay, drain, grace) in
        [(json!({}), 10, 120, 150), (json!({"shutdownDelaySeconds": 0, "drainSeconds": 3600}), 0, 3600, 3620)]
    {
        let (container, seconds) = container(&helm, &values);
        let arguments = container["args"].as_array().unwrap();
        for argument in [format!("--shutdown-delay-seconds={delay}"), format!("--drain-seconds={drain}")] {
            assert!(arguments.contains(&json!(argument)), "{argument}: {arguments:?}");
        }
        assert_eq!(seconds, grace);
    }
}

#[test]
fn the_notes_say_which_settings_of_the_agent_are_missing() {
    let helm = Helm::new();
    let notes = |settings: Value| {
        let mut install = helm.command(&["install", RELEASE, "--namespace", "one", "--dry-run=client", "--values"]);
        let shown = run_text(install.arg(helm.values(&json!({"settings": settings}))).arg(Helm::chart()));
        shown.split_once("NOTES:").expect("notes").1.to_owned()
    };
    let url = ("IRONIC_BASE_URL", "https://192.0.2.5:6385");
    let image = ("IRONIC_AGENT_IMAGE", "registry.example.com/ironic-agent:1");
    let no_agent =
        "settings.IRONIC_BASE_URL and settings.IRONIC_AGENT_IMAGE are empty: images have the host's network and";
    let no_url = "settings.IRONIC_BASE_URL is empty: dayone makes no image over a CoreOS";
    let no_image = "settings.IRONIC_AGENT_IMAGE is empty: dayone makes no image over a CoreOS";
    for (given, expected) in
        [(vec![], Some(no_agent)), (vec![image], Some(no_url)), (vec![url], Some(no_image)), (vec![url, image], None)]
    {
        let notes = notes(given.iter().copied().collect());
        for note in [no_agent, no_url, no_image] {
            assert_eq!(notes.contains(note), expected == Some(note), "{given:?}: {notes}");
        }
    }
}

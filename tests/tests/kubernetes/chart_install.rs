//! The Helm chart on a real API server: installed, upgraded and removed by Helm.
//!
//! The server is 1.20, which has no policy/v1 and nothing of the Prometheus operator: the chart's PodDisruptionBudget and
//! its monitoring are off here, and only rendered in `chart.rs`.

use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::helm::{Helm, RELEASE};
use acceptance::kubernetes::{ADMIN, ApiServer, Client, STRANGER};
use acceptance::kustomize::kustomization;
use acceptance::peers::run_text;
use serde_json::{Value, json};

use crate::deploy_api::create;

const NAMESPACE: &str = "metal3";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/metal3/deployments/dayone";
const CLUSTER_ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/dayone";

fn values(url: &str) -> Value {
    json!({
        "clusterWide": true,
        "bases": {"claim": "dayone-bases", "fetch": [{"file": "a.iso", "url": "https://example.com/", "sha256": "0".repeat(64)}]},
        "settings": {"IRONIC_BASE_URL": url},
        "podDisruptionBudget": {"enabled": false},
    })
}

fn command(helm: &Helm, kubeconfig: &Path, verb: &[&str], values: &Value) -> Command {
    let mut command = helm.command(verb);
    command.args([RELEASE, "--namespace", NAMESPACE, "--values"]).arg(helm.values(values)).arg(Helm::chart());
    command.arg("--kubeconfig").arg(kubeconfig);
    command
}

#[test]
fn a_release_is_installed_upgraded_and_removed() {
    let server = ApiServer::start();
    let admin = server.admin();
    let helm = Helm::new();
    let kubeconfig = server.kubeconfig(ADMIN);
    let first = values("https://192.0.2.5:6385");

    // The server itself looks at every object and keeps none.
    let verb = ["install", "--create-namespace", "--dry-run=server"];
    let shown = run_text(&mut command(&helm, &kubeconfig, &verb, &first));
    assert!(shown.contains("kind: Deployment"), "{shown}");
    assert!(admin.find(DEPLOYMENT).is_none() && admin.find(CLUSTER_ROLE).is_none());

    run_text(&mut command(&helm, &kubeconfig, &["install", "--create-namespace"], &first));
    let settings = "/api/v1/namespaces/metal3/configmaps/dayone-settings";
    assert_eq!(admin.get(settings)["data"]["IRONIC_BASE_URL"], "https://192.0.2.5:6385");
    let before = admin.get(DEPLOYMENT);
    admin.get(CLUSTER_ROLE);

    run_text(&mut command(&helm, &kubeconfig, &["upgrade"], &values("https://192.0.2.6:6385")));
    assert_eq!(admin.get(settings)["data"]["IRONIC_BASE_URL"], "https://192.0.2.6:6385");
    let after = admin.get(DEPLOYMENT);
    let template = |deployment: &Value| deployment["spec"]["template"].clone();
    assert_ne!(template(&before), template(&after), "the Pods would not follow the settings");

    let mut uninstall = helm.command(&["uninstall", RELEASE, "--namespace", NAMESPACE, "--kubeconfig"]);
    run_text(uninstall.arg(&kubeconfig));
    for path in [DEPLOYMENT, CLUSTER_ROLE, settings, "/api/v1/namespaces/metal3/serviceaccounts/dayone"] {
        assert!(admin.find(path).is_none(), "{path}");
    }
}

/// As `docs/helm.md` says: the values of the release stay, and those that are new have the defaults of this chart.
#[test]
fn a_release_of_an_older_chart_is_upgraded() {
    let server = ApiServer::start();
    let admin = server.admin();
    let helm = Helm::new();
    let kubeconfig = server.kubeconfig(ADMIN);
    // A chart from before all of this chart's values.
    let older = tempfile::tempdir().unwrap();
    fs::write(older.path().join("Chart.yaml"), "{apiVersion: v2, name: dayone, version: 0.1.0}").unwrap();
    let mut install = helm.command(&["install", RELEASE, "--namespace", NAMESPACE, "--create-namespace", "--values"]);
    install.arg(helm.values(&values("https://192.0.2.5:6385"))).arg(older.path());
    run_text(install.arg("--kubeconfig").arg(&kubeconfig));
    assert!(admin.find(DEPLOYMENT).is_none());

    let upgrade = |option: &str| {
        let mut upgrade = helm.command(&["upgrade", RELEASE, "--namespace", NAMESPACE, option]);
        upgrade.arg(Helm::chart()).arg("--kubeconfig").arg(&kubeconfig);
        upgrade
    };
    let refused = upgrade("--reuse-values").output().unwrap();
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && errors.contains("missing properties"), "{errors}");
    run_text(&mut upgrade("--reset-then-reuse-values"));
    let settings = admin.get("/api/v1/namespaces/metal3/configmaps/dayone-settings");
    assert_eq!(settings["data"]["IRONIC_BASE_URL"], "https://192.0.2.5:6385");
    assert_eq!(admin.get(DEPLOYMENT)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 150);
}

/// Creates dayone as kustomize makes it, and returns its Deployment.
fn with_kustomize(admin: &Client) -> Value {
    let site = format!(
        "namespace: {NAMESPACE}\nresources: [dayone/deploy/base]\ncomponents: [dayone/deploy/components/cluster-wide, \
         dayone/deploy/components/bases-volume]\n"
    );
    let objects = kustomization(&site).into_iter().filter(|object| object["kind"] != "PodDisruptionBudget").collect();
    create(admin, objects, NAMESPACE);
    admin.get(DEPLOYMENT)
}

/// As `docs/helm.md` says.
#[test]
fn a_site_changes_from_kustomize_to_helm() {
    let server = ApiServer::start();
    let admin = server.admin();
    let before = with_kustomize(admin);

    let helm = Helm::new();
    let kubeconfig = server.kubeconfig(ADMIN);
    let verb = ["install", "--take-ownership", "--force-conflicts"];
    run_text(&mut command(&helm, &kubeconfig, &verb, &values("https://192.0.2.5:6385")));
    let after = admin.get(DEPLOYMENT);
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["spec"]["selector"], before["spec"]["selector"]);
    let container = &after["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["envFrom"], json!([{"configMapRef": {"name": "dayone-settings"}}]));
    assert_eq!(container["env"], before["spec"]["template"]["spec"]["containers"][0]["env"]);
}

/// As `docs/helm.md` says, after values that do not match the components.
#[test]
fn a_change_to_helm_that_has_failed_goes_on() {
    let server = ApiServer::start();
    let admin = server.admin();
    let before = with_kustomize(admin);
    let (helm, kubeconfig, right) = (Helm::new(), server.kubeconfig(ADMIN), values("https://192.0.2.5:6385"));
    let mut wrong = right.clone();
    wrong["tls"] = json!({"secret": "dayone-tls"});
    wrong["bases"] = json!({});
    let options = ["--take-ownership", "--force-conflicts"];
    let refused = command(&helm, &kubeconfig, &[&["install"][..], &options].concat(), &wrong).output().unwrap();
    let errors = String::from_utf8_lossy(&refused.stderr);
    for reason in ["Duplicate value: \"images\"", "may not specify more than 1 volume type"] {
        assert!(!refused.status.success() && errors.contains(reason), "{errors}");
    }
    run_text(&mut command(&helm, &kubeconfig, &[&["upgrade", "--install"][..], &options].concat(), &right));
    assert_eq!(admin.get(DEPLOYMENT)["metadata"]["uid"], before["metadata"]["uid"]);
}

#[test]
fn a_user_without_rights_is_told_so() {
    let server = ApiServer::start();
    server.admin().ensure("/api/v1/namespaces", &json!({"metadata": {"name": NAMESPACE}}));
    let helm = Helm::new();
    let kubeconfig = server.kubeconfig(STRANGER);
    let output = command(&helm, &kubeconfig, &["install"], &values("")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("forbidden"), "{errors}");
}

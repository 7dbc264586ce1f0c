//! Alerts, their runbooks and the dashboard: everything that they name is in the metrics of running programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::boots::{begin, documents, until_state};
use acceptance::kubernetes::ApiServer;
use acceptance::kustomize::{each, kustomization, object};
use acceptance::metal3::{Replica, Site};
use acceptance::peers::{peer, run_text};
use acceptance::prometheus::{Family, families, sample_names, selectors};
use acceptance::server::{Server, free_address};
use dayone::boots::Step;
use serde_json::{Value, json};

use crate::deploy::sites::EVERYTHING;

/// What Prometheus adds to every sample.
const TARGET_LABELS: [&str; 3] = ["namespace", "job", "instance"];

fn read(path: &str) -> String {
    fs::read_to_string(fixtures("..").join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn alerts() -> Vec<Value> {
    let document: Value = serde_yaml::from_str(&read("deploy/monitoring/alerts.yaml")).unwrap();
    let rules: Vec<Value> = each(&document["groups"]).flat_map(|group| each(&group["rules"])).cloned().collect();
    assert!(rules.iter().all(|rule| rule["alert"].is_string()) && rules.len() > 10);
    rules
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_else(|| panic!("no {member} in {value:#}"))
}

/// All expressions of the alerts and of the dashboard, each with where it stands.
fn expressions() -> Vec<(String, String)> {
    let mut found: Vec<_> =
        alerts().iter().map(|rule| (text(rule, "alert").to_owned(), text(rule, "expr").to_owned())).collect();
    let dashboard: Value = serde_json::from_str(&read("deploy/monitoring/dashboard.json")).unwrap();
    for panel in each(&dashboard["panels"]) {
        for target in each(&panel["targets"]) {
            found.push((format!("panel {}", panel["title"]), text(target, "expr").to_owned()));
        }
    }
    for variable in each(&dashboard["templating"]["list"]).filter(|variable| variable["type"] == "query") {
        found.push((format!("variable {}", variable["name"]), text(variable, "definition").to_owned()));
    }
    assert!(found.len() > 40, "{}", found.len());
    found
}

/// The metrics of `dayone serve` that has made, served and refused something.
fn of_a_server() -> Vec<Family> {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let image = server.image("coreos", &fixtures("nmstate/bond-vlan/nmstate.yaml"));
    let url = image["url"].as_str().expect("a URL");
    assert!(reqwest::blocking::get(url).expect("an answer").status().is_success());
    let unknown = url.replace("/i/", "/i/x");
    assert_eq!(reqwest::blocking::get(unknown).expect("an answer").status(), 404);
    let refused =
        reqwest::blocking::Client::new().post(format!("{}/v1/images?base=none", server.api)).body("{}").send();
    assert_eq!(refused.expect("an answer").status(), 422);
    // Nobody listens there.
    let documents = documents("worker-0", &format!("http://{}", free_address()), "/redfish/v1/Systems/1", "secret");
    let boot = begin(&server, "?base=coreos", &documents);
    until_state(&server, &boot, "failed");
    let answer = reqwest::blocking::get(format!("{}/metrics", server.api)).expect("an answer");
    families(&answer.text().expect("text"))
}

/// The metrics of `dayone controller` that leads, has made an image and could not make another.
fn of_a_controller() -> Vec<Family> {
    let server = ApiServer::start();
    let site = Site::new(&server);
    let replica = site.start();
    let spec = json!({"architecture": "x86_64", "acceptFormats": ["iso"]});
    site.create_image("works", &spec);
    site.wait_until_ready("works");
    let mut spec = spec;
    spec["networkDataName"] = json!("missing");
    site.create_image("fails", &spec);
    site.wait_for_error("fails", "MissingNetworkData");
    let failing =
        |count| replica.metric("dayone_kubernetes_failing_objects{reason=\"MissingNetworkData\"}") == Some(count);
    replica.wait("the failing object is counted", Duration::from_secs(10), || failing(1.0));
    families(&replica.probe("metrics").expect("an answer").1)
}

/// Nothing about such an object changes, and dayone writes nothing: a counter of failures would stand still.
#[test]
fn an_object_that_fails_is_counted_after_a_restart_and_until_it_has_an_image() {
    let site = Site::new(ApiServer::shared());
    let mut replica = site.start();
    let spec = json!({"architecture": "x86_64", "acceptFormats": ["iso"], "networkDataName": "missing"});
    site.create_image("fails", &spec);
    site.wait_for_error("fails", "MissingNetworkData");
    let count = |replica: &Replica| replica.metric("dayone_kubernetes_failing_objects{reason=\"MissingNetworkData\"}");
    replica.wait("it is counted", Duration::from_secs(10), || count(&replica) == Some(1.0));
    replica.terminate();
    assert_eq!(replica.wait_until_ended(Duration::from_secs(20)), 0);
    let replica = site.start();
    replica.wait("it is counted again", Duration::from_secs(20), || count(&replica) == Some(1.0));
    site.create_secret("missing", &json!({"nmstate": "interfaces: [{name: eno1, type: ethernet, state: up}]"}));
    site.wait_until_ready("fails");
    replica.wait("it is not counted any more", Duration::from_secs(10), || count(&replica) == Some(0.0));

    // A drive counts as well, until its object is gone.
    let metadata = json!({"name": "drive", "annotations": {"dayone.metal3.io/data-image": "floppy"}});
    let drives = format!("/apis/metal3.io/v1alpha1/namespaces/{}/dataimages", site.namespace);
    let drive =
        json!({"apiVersion": "metal3.io/v1alpha1", "kind": "DataImage", "metadata": metadata, "spec": {"url": ""}});
    site.admin().create(&drives, &drive);
    let count = || replica.metric("dayone_kubernetes_failing_objects{reason=\"ConfigurationError\"}");
    replica.wait("the drive is counted", Duration::from_secs(10), || count() == Some(1.0));
    site.admin().delete(&format!("{drives}/drive"));
    replica.wait("the drive is not counted any more", Duration::from_secs(10), || count() == Some(0.0));
}

#[test]
fn every_metric_that_is_named_is_there() {
    let of_a_controller = of_a_controller();
    assert_runbooks_are_for_pods(&sample_names(&of_a_controller));
    let all: Vec<Family> = of_a_server().into_iter().chain(of_a_controller).collect();
    let names = sample_names(&all);
    let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for sample in all.iter().flat_map(|family| &family.samples) {
        labels.entry(&sample.name).or_default().extend(sample.labels.keys().map(String::as_str));
    }
    let mut selected = 0;
    for (place, expression) in expressions() {
        let selectors = selectors(&expression);
        assert!(!selectors.is_empty(), "{place} names no metric: {expression}");
        for selector in selectors {
            assert!(names.contains(&selector.metric), "{place}: no {}", selector.metric);
            // Without a sample, nothing shows the labels.
            let Some(known) = labels.get(selector.metric.as_str()) else { continue };
            for label in selector.labels.iter().filter(|label| !TARGET_LABELS.contains(&label.as_str())) {
                assert!(known.contains(label.as_str()), "{place}: {} has no label {label}", selector.metric);
                selected += 1;
            }
        }
    }
    assert!(selected >= 3, "{selected} labels were seen");
}

/// Asserts that the runbook of each alert that a controller's metrics can raise has a command for its Pods.
fn assert_runbooks_are_for_pods(metrics: &BTreeSet<String>) {
    let page = read("docs/runbooks.md");
    for rule in alerts() {
        let name = text(&rule, "alert");
        let can_fire = selectors(text(&rule, "expr")).iter().all(|selector| metrics.contains(&selector.metric));
        // The controller makes such images again, so its metric stays 0.
        if can_fire && name != "DayoneImagesOrphaned" {
            let section = runbook(&page, name);
            assert!(section.contains("`k ") || section.contains("`kubectl "), "{name} has no command for a Pod");
        }
    }
}

/// The section about an alert.
fn runbook<'a>(page: &'a str, alert: &str) -> &'a str {
    let mut sections = page.split("\n## ");
    let found = sections.find(|section| section.split_once('\n').is_some_and(|(heading, _)| heading == alert));
    found.unwrap_or_else(|| panic!("no runbook of {alert}"))
}

#[test]
fn programs_show_what_they_are_and_what_they_use() {
    for families in [of_a_server(), of_a_controller()] {
        let value = |name: &str| {
            let mut samples = families.iter().flat_map(|family| &family.samples);
            samples.find(|sample| sample.name == name).unwrap_or_else(|| panic!("no {name}"))
        };
        let build = value("dayone_build_info");
        assert_eq!(Some(build.labels["version"].as_str()), dayone_version().lines().next());
        assert_eq!(build.labels["nmstate"], hosts::network::NMSTATE_VERSION);
        assert!(build.labels.contains_key("commit"));
        for (name, at_least, at_most) in [
            ("process_cpu_seconds_total", 0.01, 600.0),
            ("process_resident_memory_bytes", 1e6, 4e9),
            ("process_open_fds", 5.0, 1000.0),
            ("process_max_fds", 64.0, 1e10),
            ("process_start_time_seconds", 1.7e9, 1e11),
        ] {
            let value = value(name).value;
            assert!((at_least..=at_most).contains(&value), "{name} {value}");
        }
        assert!(value("process_open_fds").value <= value("process_max_fds").value);
        for family in &families {
            assert!(!family.help.is_empty(), "{}", family.name);
        }
    }
}

fn dayone_version() -> String {
    let printed = run_text(acceptance::server::dayone().arg("--version"));
    printed.trim().strip_prefix("dayone ").expect("a version").to_owned()
}

#[test]
fn prometheus_takes_the_alerts_and_they_fire_when_they_should() {
    let directory = fixtures("../deploy/monitoring");
    let report = run_text(peer("promtool").args(["check", "rules", "alerts.yaml"]).current_dir(&directory));
    assert!(report.contains("SUCCESS"), "{report}");
    let report = run_text(peer("promtool").args(["test", "rules", "alerts.test.yaml"]).current_dir(&directory));
    assert!(report.contains("SUCCESS"), "{report}");

    // Each of them is tested in both directions.
    let tests: Value = serde_yaml::from_str(&read("deploy/monitoring/alerts.test.yaml")).unwrap();
    let mut cases: BTreeMap<&str, [bool; 2]> = BTreeMap::new();
    for case in each(&tests["tests"]).flat_map(|test| each(&test["alert_rule_test"])) {
        let fires = each(&case["exp_alerts"]).next().is_some();
        cases.entry(text(case, "alertname")).or_default()[usize::from(fires)] = true;
    }
    for rule in alerts() {
        let name = text(&rule, "alert");
        assert_eq!(cases.get(name), Some(&[true, true]), "{name}: silent and firing");
    }
}

/// An anchor as renderers of Markdown make it of a heading of one word.
fn headings(page: &str) -> BTreeSet<String> {
    page.lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_lowercase).collect()
}

#[test]
fn every_alert_has_a_runbook() {
    let page = read("docs/runbooks.md");
    let headings = headings(&page);
    let mut names = BTreeSet::new();
    for rule in alerts() {
        let name = text(&rule, "alert").to_lowercase();
        assert_eq!(text(&rule["annotations"], "runbook_url"), format!("docs/runbooks.md#{name}"));
        assert!(["critical", "warning", "info"].contains(&text(&rule["labels"], "severity")), "{name}");
        assert!(headings.contains(&name), "no heading for {name}");
        names.insert(name);
    }
    assert_eq!(headings, names, "a runbook of no alert");
    for section in page.split("\n## ").skip(1) {
        for part in ["**What it means.**", "**What to look at.**", "**What to do.**"] {
            assert!(section.contains(part), "{part} is missing in {section}");
        }
    }
}

#[test]
fn the_runbook_has_every_step_at_which_a_boot_fails() {
    let page = read("docs/runbooks.md");
    let section = runbook(&page, "DayoneBootsFail");
    // The image is published before the boot exists.
    for step in Step::ALL.into_iter().filter(|step| *step != Step::Image) {
        let mut rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        assert!(rows.any(|steps| steps.contains(&format!("`{step}`"))), "{step}");
    }
    // In that step, the server reaches the BMC for the first time, and logs in.
    let insert = section.lines().find(|line| line.starts_with("| `insert` |")).expect("a row");
    assert!(insert.contains("user name or the password"), "{insert}");
}

#[test]
fn the_commands_of_the_runbooks_show_what_the_text_says() {
    let page = read("docs/runbooks.md");
    let forwards: Vec<_> = page.lines().filter(|line| line.contains("port-forward")).collect();
    assert!(!forwards.is_empty());
    for line in forwards {
        // The forward listens only after a moment, and the one for the next Pod needs its port.
        assert!(line.contains("& sleep") && line.contains("kill $!"), "{line}");
    }
    assert!(!page.contains("-A -o name"), "names without their namespaces");
    // The API server refuses the others: what `kubectl get -o yaml` has written has the uid of the Secret that is gone.
    assert!(page.contains("`k replace --force -f BACKUP.yaml`"));
    // As `--log-format` says, a line of the log has `status=404` or `"status":404`.
    assert!(page.contains(r#"grep -E 'status"?[=:]404'"#) && !page.contains("grep status="));
}

#[test]
fn the_runbooks_have_what_a_server_and_a_sidecar_need() {
    let page = read("docs/runbooks.md");
    let of_images = page.matches("--images-connections-per-address").count();
    assert_eq!(of_images, page.matches("--media-connections-per-address").count());
    for part in [
        "Authorization: Bearer",
        "--token-file TOKENFILE",
        "baremetal-operator-controller-manager",
        // It goes on without the file, and does not start without it.
        "Do not restart `dayone serve` before the file is back",
        "`base '…' cannot be used`",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

/// What a controller's `/readyz` says while it is not ready.
#[test]
fn every_reason_not_to_be_ready_is_explained() {
    let page = read("docs/runbooks.md");
    let sources = ["services/controller.rs", "host_images/mod.rs", "host_images/settings.rs", "ironic_agent/mod.rs"];
    let sources = sources.map(|source| read(&format!("server/src/{source}")));
    for reason in [
        "starting: reading the key",
        "starting: reading the bases",
        "there are no base images",
        "no base image is usable",
        "failed to read",
        "the pull secret is",
        "IRONIC_CA_BUNDLE holds no certificate",
        "not all images have been made yet",
    ] {
        let words = reason.trim_start_matches("starting: ");
        assert!(sources.iter().any(|source| source.contains(words)), "no program says {reason}");
        assert!(runbook(&page, "DayoneDown").contains(&format!("`{reason}")), "{reason}");
    }
}

#[test]
fn the_runbook_shows_a_rotation_of_the_key() {
    // The Secret keeps the time of its creation. The test of the rotation has this key, too.
    assert!(read("docs/runbooks.md").contains("{.data.rotated-at}"));
}

#[test]
fn the_prometheus_rule_has_the_same_alerts() {
    let alerts = read("deploy/monitoring/alerts.yaml");
    let path = fixtures("../deploy/components/monitoring/prometheus-rule.yaml");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let old = fs::read_to_string(&path).unwrap();
        let head = old.split_once("spec:\n").expect("a specification").0;
        let groups: String = alerts.lines().map(|line| format!("  {line}\n")).collect();
        fs::write(&path, format!("{head}spec:\n{groups}")).unwrap();
    }
    let alerts: Value = serde_yaml::from_str(&alerts).unwrap();
    let objects = kustomization(EVERYTHING);
    assert_eq!(object(&objects, "PrometheusRule", "dayone")["spec"], alerts);
}

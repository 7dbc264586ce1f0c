//! `deploy/`, as kustomize renders it: what Pods may do and what they are told, and the image that they run.

use std::collections::HashSet;
use std::fs;

use acceptance::bases::fixtures;
use acceptance::helm::Helm;
use acceptance::kustomize::{directory, each, kustomization, named, object, of_kind};
use serde_json::{Value, json};

pub(crate) mod restricted;
pub(crate) mod sites;

use restricted::violations;
use sites::{EVERYTHING, ONE_NAMESPACE, SIDECAR};

/// All that is rendered, by name.
fn all() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("base", directory("deploy/base")),
        ("example", directory("deploy/example")),
        ("one namespace", kustomization(ONE_NAMESPACE)),
        ("everything", kustomization(EVERYTHING)),
        ("sidecar", kustomization(SIDECAR)),
        ("chart", Helm::new().template("chart", &json!({"bases": {"claim": "dayone-bases"}}))),
        ("chart with everything", Helm::new().template("chart", &everything_of_the_chart())),
    ]
}

/// Every value of the chart that adds something to a Pod.
fn everything_of_the_chart() -> Value {
    json!({
        "clusterWide": true,
        "bases": {"machineOsImages": {"image": "machine-os-images"}},
        "tls": {"secret": "certificate"},
        "service": {"type": "LoadBalancer", "annotations": {"example.com/pool": "bmc"}},
        "publishUrl": "https://images.example.com/",
        "monitoring": {"enabled": true},
        "image": {"pullPolicy": "IfNotPresent"},
        "imagePullSecrets": [{"name": "registry"}],
        "podAnnotations": {"example.com/owner": "metal"},
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
        "priorityClassName": "system-cluster-critical",
    })
}

fn pod(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]
}

fn dayone(deployment: &Value) -> &Value {
    named(&pod(deployment)["containers"], "dayone")
}

fn deployments() -> Vec<(&'static str, Value)> {
    let of = |(name, objects): (&'static str, Vec<Value>)| {
        let deployments: Vec<_> = of_kind(&objects, "Deployment").map(|one| (name, one.clone())).collect();
        assert_eq!(deployments.len(), 1, "{name}");
        deployments
    };
    all().into_iter().flat_map(of).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// The names in `$(…)`.
fn references(value: &str) -> impl Iterator<Item = &str> {
    value.split("$(").skip(1).map(|rest| rest.split(')').next().expect("a part"))
}

#[test]
fn pods_keep_to_the_restricted_standard() {
    for (site, deployment) in deployments() {
        assert_eq!(violations(pod(&deployment)), Vec::<String>::new(), "{site}");
        assert_eq!(dayone(&deployment)["securityContext"]["readOnlyRootFilesystem"], true, "{site}");
    }
}

#[test]
fn the_standard_is_checked() {
    let spoiled = [
        ("/hostNetwork", json!(true)),
        ("/volumes/0/hostPath", json!({"path": "/"})),
        ("/securityContext/seccompProfile/type", json!("Unconfined")),
        ("/containers/0/securityContext/runAsNonRoot", json!(false)),
        ("/containers/0/securityContext/runAsUser", json!(0)),
        ("/containers/0/securityContext/privileged", json!(true)),
        ("/containers/0/securityContext/allowPrivilegeEscalation", json!(true)),
        ("/containers/0/securityContext/capabilities/drop", json!([])),
        ("/containers/0/securityContext/capabilities/add", json!(["NET_ADMIN"])),
        ("/containers/0/ports/0/hostPort", json!(8084)),
    ];
    let objects = directory("deploy/base");
    let good = pod(object(&objects, "Deployment", "dayone"));
    for (pointer, value) in spoiled {
        let mut pod = good.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        pod.pointer_mut(parent).expect(parent)[key] = value;
        assert_eq!(violations(&pod).len(), 1, "{pointer}: {:?}", violations(&pod));
    }
}

#[test]
fn variables_know_those_before_them() {
    for (site, deployment) in deployments() {
        let container = dayone(&deployment);
        let mut known = HashSet::new();
        for variable in each(&container["env"]) {
            for name in references(variable["value"].as_str().unwrap_or_default()) {
                assert!(known.contains(name), "{site}: {} knows no {name}", variable["name"]);
            }
            known.insert(text(&variable["name"]));
        }
        for argument in each(&container["args"]) {
            for name in references(text(argument)) {
                assert!(known.contains(name), "{site}: {argument} knows no {name}");
            }
        }
    }
}

#[test]
fn what_is_named_is_there() {
    for (site, deployment) in deployments() {
        let volumes: HashSet<_> = each(&pod(&deployment)["volumes"]).map(|volume| text(&volume["name"])).collect();
        let containers = each(&pod(&deployment)["containers"]).chain(each(&pod(&deployment)["initContainers"]));
        for container in containers {
            for mount in each(&container["volumeMounts"]) {
                assert!(volumes.contains(text(&mount["name"])), "{site}: no volume {mount}");
            }
        }
        let container = dayone(&deployment);
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let port = named(&container["ports"], text(&container[probe]["httpGet"]["port"]));
            let metrics = format!("--metrics-addr=:{}", port["containerPort"]);
            assert!(each(&container["args"]).any(|argument| *argument == *metrics), "{site}: {metrics}");
        }
        let images = format!("--images-bind-addr=:{}", named(&container["ports"], "images")["containerPort"]);
        assert!(each(&container["args"]).any(|argument| *argument == *images), "{site}: {images}");
    }
}

#[test]
fn services_policies_and_budgets_select_the_pods() {
    for (site, objects) in all() {
        let deployment = of_kind(&objects, "Deployment").next().expect("a Deployment");
        let labels = deployment["spec"]["template"]["metadata"]["labels"].as_object().expect("labels");
        let selects = |selector: &Value| {
            let selector = selector.as_object().expect("a selector");
            !selector.is_empty() && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        };
        let ports = &dayone(deployment)["ports"];
        assert!(selects(&deployment["spec"]["selector"]["matchLabels"]), "{site}");
        for service in of_kind(&objects, "Service") {
            assert!(selects(&service["spec"]["selector"]), "{site}");
            each(&service["spec"]["ports"]).for_each(|port| _ = named(ports, text(&port["targetPort"])));
        }
        for policy in of_kind(&objects, "NetworkPolicy") {
            assert!(selects(&policy["spec"]["podSelector"]["matchLabels"]), "{site}");
            let allowed = each(&policy["spec"]["ingress"]).flat_map(|rule| each(&rule["ports"]));
            allowed.for_each(|port| _ = named(ports, text(&port["port"])));
        }
        for budget in of_kind(&objects, "PodDisruptionBudget") {
            assert!(selects(&budget["spec"]["selector"]["matchLabels"]), "{site}");
        }
    }
}

#[test]
fn the_kubelet_waits_for_the_end_of_transfers() {
    for (site, deployment) in deployments() {
        let seconds = |flag: &str| -> u64 {
            let found = each(&dayone(&deployment)["args"]).find_map(|argument| text(argument).strip_prefix(flag));
            found.unwrap_or_else(|| panic!("{site}: no {flag}")).parse().expect("a number")
        };
        let needed = seconds("--shutdown-delay-seconds=") + seconds("--drain-seconds=");
        let grace = pod(&deployment)["terminationGracePeriodSeconds"].as_u64().expect("a number");
        assert!(grace >= needed + 15, "{site}: {grace} < {needed} + 15");
    }
}

#[test]
fn accounts_that_are_bound_are_there() {
    for (site, objects) in all() {
        let bindings = of_kind(&objects, "RoleBinding").chain(of_kind(&objects, "ClusterRoleBinding"));
        let mut count = 0;
        for binding in bindings {
            count += 1;
            object(&objects, text(&binding["roleRef"]["kind"]), text(&binding["roleRef"]["name"]));
            let [subject] = binding["subjects"].as_array().expect("subjects").as_slice() else { panic!("{binding}") };
            let account = object(&objects, "ServiceAccount", text(&subject["name"]));
            let namespace = subject.get("namespace").or_else(|| binding["metadata"].get("namespace"));
            assert_eq!(namespace, account["metadata"].get("namespace"), "{site}: {binding:#}");
            let deployment = of_kind(&objects, "Deployment").next().expect("a Deployment");
            assert_eq!(pod(deployment)["serviceAccountName"], subject["name"], "{site}");
        }
        assert_eq!(count, 2, "{site}");
    }
}

#[test]
fn the_operator_keeps_all_it_has_and_asks_for_images() {
    let before = directory("fixtures/metal3/baremetal-operator");
    let name = "baremetal-operator-controller-manager";
    let before = object(&before, "Deployment", name);
    let after = kustomization(SIDECAR);
    let after = object(&after, "Deployment", name);

    let mut expected = named(&pod(before)["containers"], "manager").clone();
    expected["args"] = json!(["--enable-leader-election", "-build-preprov-image"]);
    let mut manager = named(&pod(after)["containers"], "manager").clone();
    let variables = manager["env"].as_array_mut().expect("variables");
    let ours: Vec<_> = variables.extract_if(.., |variable| variable["value"] == "").collect();
    assert_eq!(
        ours,
        [json!({"name": "DEPLOY_ISO_URL", "value": ""}), json!({"name": "DEPLOY_RAMDISK_URL", "value": ""})]
    );
    assert_eq!(manager, expected);
    assert_eq!(after["spec"]["selector"], before["spec"]["selector"]);
    assert_eq!(after["spec"]["replicas"], before["spec"]["replicas"]);
    for volume in each(&pod(before)["volumes"]) {
        assert_eq!(named(&pod(after)["volumes"], text(&volume["name"])), volume);
    }
    let kubectl_logs = &after["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"];
    assert_eq!(kubectl_logs, "manager");
}

#[test]
fn tls_is_told_to_all_who_must_know() {
    let objects = kustomization(EVERYTHING);
    let container = dayone(object(&objects, "Deployment", "dayone"));
    let address = &named(&container["env"], "IMAGES_PUBLISH_ADDR")["value"];
    assert!(text(address).starts_with("https://dayone.$(POD_NAMESPACE)"), "{address}");
    assert_eq!(object(&objects, "Service", "dayone")["spec"]["ports"][0]["port"], 443);
    let directory = &named(&container["volumeMounts"], "dayone-tls")["mountPath"];
    for (flag, file) in [("cert", "crt"), ("key", "key")] {
        let argument = format!("--images-tls-{flag}-file={}/tls.{file}", text(directory));
        assert!(each(&container["args"]).any(|one| *one == *argument), "{argument}");
    }
}

#[test]
fn the_sites_key_is_read_from_its_secret() {
    for (site, deployment) in [(EVERYTHING, "dayone"), (SIDECAR, "baremetal-operator-controller-manager")] {
        let objects = kustomization(site);
        let deployment = object(&objects, "Deployment", deployment);
        let container = dayone(deployment);
        let directory = &named(&container["volumeMounts"], "dayone-site-key")["mountPath"];
        for (option, file) in [("certificate", "crt"), ("key", "key")] {
            let argument = format!("--site-{option}={}/tls.{file}", text(directory));
            assert!(each(&container["args"]).any(|one| *one == *argument), "{argument}");
        }
        let secret = &named(&pod(deployment)["volumes"], "dayone-site-key")["secret"]["secretName"];
        assert_eq!(secret, "dayone-site-key");
    }
}

#[test]
fn bases_come_from_where_a_site_says() {
    let volume =
        |site: &str| named(&pod(object(&kustomization(site), "Deployment", "dayone"))["volumes"], "bases").clone();
    let claim = json!({"claimName": "dayone-bases", "readOnly": true});
    assert_eq!(volume(ONE_NAMESPACE), json!({"name": "bases", "persistentVolumeClaim": claim}));
    assert_eq!(volume(EVERYTHING), json!({"name": "bases", "emptyDir": {}}));
    let objects = kustomization(EVERYTHING);
    let pod = pod(object(&objects, "Deployment", "dayone"));
    let init = named(&pod["initContainers"], "machine-os-images");
    let destination = &init["command"][2];
    for (container, read_only) in [(init, None), (named(&pod["containers"], "dayone"), Some(true))] {
        let mount = named(&container["volumeMounts"], "bases");
        assert_eq!(mount["mountPath"], *destination);
        assert_eq!(mount["readOnly"].as_bool(), read_only);
    }
    assert_eq!(named(&named(&pod["containers"], "dayone")["env"], "IMAGE_SHARED_DIR")["value"], *destination);
}

#[test]
fn a_site_chooses_image_and_settings() {
    let objects = directory("deploy/example");
    let container = dayone(object(&objects, "Deployment", "dayone"));
    assert_eq!(container["image"], "registry.example.com/dayone:0.2.0");
    let settings = text(&container["envFrom"][0]["configMapRef"]["name"]);
    let settings = &object(&objects, "ConfigMap", settings)["data"];
    assert_eq!(settings["IRONIC_BASE_URL"], "https://192.0.2.5:6385");
}

#[test]
fn the_container_file_makes_what_the_manifests_run() {
    let text = fs::read_to_string(fixtures("..").join("Containerfile")).unwrap();
    let lines = text.replace("\\\n", " ");
    let last = |instruction: &str| {
        let found = lines.lines().rev().find_map(|line| line.strip_prefix(instruction));
        found.unwrap_or_else(|| panic!("no {instruction}")).trim().to_owned()
    };
    // A number: the kubelet cannot tell that a name is not root's.
    assert_eq!(last("USER "), "65532:65532");
    assert_eq!(last("ENTRYPOINT "), "[\"/dayone\"]");
    assert_eq!(last("FROM "), "scratch");
    for name in ["image-customization-controller", "image-customization-server"] {
        assert!(lines.contains(&format!(" {name} ")), "{name}");
        assert!(lines.contains(&format!(" machine-{name}")), "machine-{name}");
    }
    let ignored = fs::read_to_string(fixtures("..").join(".containerignore")).unwrap();
    let manifest = fs::read_to_string(fixtures("..").join("Cargo.toml")).unwrap();
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = ")).expect("members");
    for member in members.split('"').skip(1).step_by(2).chain(["Cargo.toml", "Cargo.lock", "scripts/build-static.sh"]) {
        assert!(ignored.lines().any(|line| line == format!("!{member}")), "{member} does not get into the build");
    }
}

/// `kubectl logs` and `exec` without a container's name take the first, as do scripts and patches that count.
#[test]
fn the_operators_container_stays_the_first_with_every_component() {
    let tls = SIDECAR.replace(
        "- dayone/deploy/components/monitoring\n",
        "- dayone/deploy/components/monitoring\n- dayone/deploy/components/tls\n",
    );
    for site in [SIDECAR, &tls] {
        let objects = kustomization(site);
        let operator = object(&objects, "Deployment", "baremetal-operator-controller-manager");
        let names: Vec<_> = each(&pod(operator)["containers"]).map(|container| text(&container["name"])).collect();
        assert_eq!(names, ["manager", "dayone"], "{site}");
        let has_tls =
            each(&dayone(operator)["args"]).any(|argument| text(argument).starts_with("--images-tls-cert-file"));
        assert_eq!(has_tls, site.contains("components/tls"), "{site}");
        assert!(
            !each(&named(&pod(operator)["containers"], "manager")["args"]).any(|one| text(one).contains("images-tls"))
        );
    }
}

#[test]
fn what_the_page_shows_renders() {
    let page = fs::read_to_string(fixtures("..").join("docs/metal3.md")).unwrap();
    let blocks: Vec<_> = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [own, sidecar, address, _data_image] = blocks[..] else { panic!("{} blocks", blocks.len()) };
    let objects = kustomization(&format!("{own}{address}"));
    let container = dayone(object(&objects, "Deployment", "dayone"));
    let url: reqwest::Url = text(&named(&container["env"], "IMAGES_PUBLISH_ADDR")["value"]).parse().unwrap();
    let service = &object(&objects, "Service", "dayone")["spec"];
    assert_eq!((&service["type"], &service["ports"][0]["port"]), (&json!("LoadBalancer"), &json!(80)));
    assert_eq!(url.port_or_known_default(), Some(80), "{url}");
    assert_eq!(named(&container["env"], "POD_NAMESPACE").as_object().unwrap().len(), 2);
    let objects = kustomization(sidecar);
    dayone(object(&objects, "Deployment", "baremetal-operator-controller-manager"));
}

#[test]
fn the_page_names_what_is_there() {
    let page = fs::read_to_string(fixtures("..").join("docs/metal3.md")).unwrap();
    for component in fs::read_dir(fixtures("../deploy/components")).unwrap() {
        let name = component.unwrap().file_name().into_string().unwrap();
        // The container is what the others are about.
        assert!(name == "container" || page.contains(&format!("| `{name}` |")), "{name}");
    }
    for (site, deployment) in deployments() {
        for argument in each(&dayone(&deployment)["args"]) {
            let flag = text(argument).split('=').next().unwrap();
            assert!(page.contains(&format!("`{flag}`")), "{site}: {flag}");
        }
        for variable in each(&dayone(&deployment)["env"]) {
            assert!(page.contains(text(&variable["name"])), "{site}: {variable}");
        }
    }
}

/// A variable of the ConfigMap has no effect if the Deployment sets it, or an option that overrides it.
#[test]
fn the_page_names_the_variables_that_the_deployment_sets_or_overrides() {
    let page = fs::read_to_string(fixtures("..").join("docs/metal3.md")).unwrap();
    let mut paragraphs = page.split("\n\n");
    let paragraph = paragraphs.find(|one| one.starts_with("The Deployment sets these variables itself")).unwrap();
    for (site, deployment) in deployments() {
        let container = dayone(&deployment);
        let overridden = each(&container["args"]).map(|argument| {
            let option = text(argument).trim_start_matches("--").split('=').next().unwrap();
            format!("DAYONE_{}", option.replace('-', "_").to_uppercase())
        });
        let set = each(&container["env"]).map(|variable| text(&variable["name"]).to_owned());
        for name in overridden.chain(set) {
            assert!(paragraph.contains(&format!("`{name}`")), "{site}: {name}");
        }
    }
}

#[test]
fn the_page_has_the_values_of_the_deployments_options() {
    let page = fs::read_to_string(fixtures("..").join("docs/metal3.md")).unwrap();
    let objects = directory("deploy/base");
    let container = dayone(object(&objects, "Deployment", "dayone"));
    for argument in each(&container["args"]) {
        let (option, value) = text(argument).split_once('=').unwrap();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{option}` | "))).expect(option);
        assert!(value.starts_with("$(") || row.split(" | ").nth(1).unwrap().contains(value), "{argument}: {row}");
    }
}

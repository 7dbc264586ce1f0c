//! The Pod Security Standard "restricted", as far as a Pod without Windows and AppArmor can break it.

use acceptance::kustomize::each;
use serde_json::Value;

const VOLUMES: [&str; 8] =
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"];

/// What a Pod would be refused for where the standard is enforced.
pub(crate) fn violations(pod: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for key in ["hostNetwork", "hostPID", "hostIPC"] {
        if pod[key] == true {
            found.push(key.to_owned());
        }
    }
    for volume in each(&pod["volumes"]) {
        let mut kinds = volume.as_object().expect("a volume").keys().filter(|key| *key != "name");
        if !kinds.all(|kind| VOLUMES.contains(&kind.as_str())) {
            found.push(format!("volume {volume}"));
        }
    }
    if each(&pod["securityContext"]["sysctls"]).next().is_some() {
        found.push("sysctls".to_owned());
    }
    if !confined(&pod["securityContext"]).unwrap_or(true) {
        found.push("seccomp of the Pod".to_owned());
    }
    for container in each(&pod["containers"]).chain(each(&pod["initContainers"])) {
        let in_container = |what: &str| format!("{what} of {}", container["name"]);
        found.extend(of_container(&pod["securityContext"], container).into_iter().map(in_container));
    }
    found
}

fn of_container(pod: &Value, container: &Value) -> Vec<&'static str> {
    let context = &container["securityContext"];
    let either = |key: &str| if context[key].is_null() { pod[key].clone() } else { context[key].clone() };
    let drops_all = each(&context["capabilities"]["drop"]).any(|one| one == "ALL");
    let adds = each(&context["capabilities"]["add"]).any(|one| one != "NET_BIND_SERVICE");
    let checks = [
        ("privileged", context["privileged"] == true),
        ("allowPrivilegeEscalation", context["allowPrivilegeEscalation"] != false),
        ("capabilities.drop", !drops_all),
        ("capabilities.add", adds),
        ("runAsNonRoot", either("runAsNonRoot") != true),
        ("runAsUser", either("runAsUser") == 0),
        ("seccompProfile", !confined(context).or_else(|| confined(pod)).unwrap_or(false)),
        ("procMount", !matches!(context["procMount"].as_str(), None | Some("Default"))),
        ("hostPort", each(&container["ports"]).any(|port| port["hostPort"].as_u64().unwrap_or(0) != 0)),
    ];
    checks.into_iter().filter(|(_, wrong)| *wrong).map(|(what, _)| what).collect()
}

/// Whether a security context has a seccomp profile that confines; nothing if it says nothing.
fn confined(context: &Value) -> Option<bool> {
    context["seccompProfile"]["type"].as_str().map(|profile| profile == "RuntimeDefault" || profile == "Localhost")
}

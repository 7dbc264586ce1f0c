//! What `docs/helm.md` says of the chart.

use std::fs;
use std::path::Path;

use acceptance::bases::fixtures;
use acceptance::helm::Helm;
use acceptance::kustomize::{each, named, object};
use serde_json::Value;

use crate::deploy::restricted::violations;

fn page() -> String {
    fs::read_to_string(fixtures("..").join("docs/helm.md")).unwrap()
}

/// The values of the example with this line, and the Deployment that Helm makes of them.
fn example(line: &str) -> (Value, Value) {
    let page = page();
    let mut blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let block = blocks.find(|block| block.contains(line)).expect("an example");
    let values: Value = serde_yaml::from_str(block).unwrap();
    let objects = Helm::new().template("one", &values);
    (values, object(&objects, "Deployment", "dayone").clone())
}

#[test]
fn the_example_fetches_the_files_that_the_deployment_reads() {
    let (values, deployment) = example("fetch:");
    let fetched: Vec<_> = each(&values["bases"]["fetch"]).map(|file| file["file"].as_str().unwrap()).collect();
    let container = named(&deployment["spec"]["template"]["spec"]["containers"], "dayone");
    let directory = named(&container["volumeMounts"], "bases")["mountPath"].as_str().unwrap();
    for variable in ["DEPLOY_ISO", "DEPLOY_INITRD", "DEPLOY_KERNEL"] {
        let path = Path::new(named(&container["env"], variable)["value"].as_str().unwrap());
        let file = path.strip_prefix(directory).unwrap().to_str().unwrap();
        assert!(fetched.contains(&file), "{variable}: {file} is not one of {fetched:?}");
    }
}

#[test]
fn files_for_the_agent_are_mounted_as_the_page_shows() {
    let (values, deployment) = example("extraVolumes:");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(violations(pod), [""; 0]);
    assert_eq!(pod["volumes"].as_array().unwrap().last(), values["extraVolumes"].get(0));
    assert_eq!(pod["containers"][0]["volumeMounts"].as_array().unwrap().last(), values["extraVolumeMounts"].get(0));
    let mount = values["extraVolumeMounts"][0]["mountPath"].as_str().unwrap();
    assert!(values["settings"]["IRONIC_CA_BUNDLE"].as_str().unwrap().starts_with(mount));
}

#[test]
fn the_page_names_every_value() {
    let values = fs::read_to_string(Helm::chart().join("values.yaml")).unwrap();
    let values: Value = serde_yaml::from_str(&values).unwrap();
    for name in values.as_object().expect("values").keys() {
        assert!(page().contains(&format!("| `{name}")), "{name}");
    }
}

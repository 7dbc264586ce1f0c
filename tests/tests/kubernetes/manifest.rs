//! `make manifest`: one file for `kubectl apply`.

use std::fs;
use std::process::Command;

use acceptance::bases::fixtures;
use acceptance::kubernetes::ApiServer;
use acceptance::kustomize::{directory, named, object, objects};
use acceptance::peers::run_text;

use serde_json::json;

use crate::deploy_api::create;

const IMAGE: &str = "registry.example.com:5000/dayone:7";

#[test]
fn one_file_holds_everything_with_the_image_that_was_asked_for() {
    let target = tempfile::tempdir().unwrap();
    let path = target.path().join("dayone.yaml");
    let mut make = Command::new("make");
    make.arg("--directory").arg(fixtures("..")).arg("manifest");
    run_text(make.arg(format!("MANIFEST={}", path.display())).arg(format!("MANIFEST_IMAGE={IMAGE}")));
    let mut made = objects(&fs::read_to_string(&path).unwrap());
    let deployment = object(&made, "Deployment", "dayone");
    let container = named(&deployment["spec"]["template"]["spec"]["containers"], "dayone");
    assert_eq!(container["image"], IMAGE);
    // Users edit it, and apply newer manifests over it.
    assert_eq!(object(&made, "ConfigMap", "dayone-settings")["data"], json!({}));

    // The tree is as it was, and all else is what kustomize makes of it.
    let kustomized = directory("deploy/release");
    for (made, kustomized) in made.iter_mut().zip(&kustomized) {
        if made["kind"] == "Deployment" {
            made["spec"]["template"]["spec"]["containers"][0]["image"] = "dayone:0.2.0".into();
        }
        assert_eq!(made, kustomized);
    }
    assert_eq!(made.len(), kustomized.len());

    let server = ApiServer::start();
    create(server.admin(), made, "default");
}

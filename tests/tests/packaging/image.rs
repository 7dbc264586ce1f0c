//! The container image that is made without a daemon. It must be what the Containerfile makes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::packaging::{repository, script, stripped};
use acceptance::peers::{run, run_text};
use acceptance::server::ENVIRONMENT;
use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The blob of a descriptor, whose size and digest are right.
fn blob(layout: &Path, descriptor: &Value) -> Vec<u8> {
    let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let content = fs::read(layout.join("blobs/sha256").join(digest)).unwrap();
    assert_eq!(HEXLOWER.encode(&Sha256::digest(&content)), digest);
    assert_eq!(descriptor["size"], content.len());
    content
}

fn json(layout: &Path, descriptor: &Value) -> Value {
    serde_json::from_slice(&blob(layout, descriptor)).unwrap()
}

#[test]
fn the_image_has_the_program_for_each_architecture() {
    let directory = tempfile::tempdir().unwrap();
    let (binary, archive, layout) =
        (stripped(directory.path()), directory.path().join("image.tar"), directory.path().join("layout"));
    let programs = [("amd64", binary.as_path()), ("arm64", Path::new("/bin/busybox"))];
    let mut command = script("release/oci_image.py");
    command.arg("--output").arg(&archive);
    run(command.args(programs.map(|(architecture, program)| format!("{architecture}={}", program.display()))));
    fs::create_dir(&layout).unwrap();
    run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&layout));
    let top: Value = serde_json::from_slice(&fs::read(layout.join("index.json")).unwrap()).unwrap();
    let [named] = top["manifests"].as_array().unwrap().as_slice() else { panic!("{top}") };
    assert_eq!(named["annotations"]["org.opencontainers.image.ref.name"], env!("CARGO_PKG_VERSION"));
    // Without this one, `podman load` names the image `localhost/VERSION:latest`.
    let name = concat!("localhost/dayone:", env!("CARGO_PKG_VERSION"));
    assert_eq!(named["annotations"]["io.containerd.image.name"], name);
    let page = fs::read_to_string(repository().join("docs/install.md")).unwrap();
    assert!(page.contains(&format!("`{name}`")), "docs/install.md does not name {name}");
    // podman and docker kill a container after 10 s, and running requests have 20 s to finish.
    assert!(page.contains("podman run --name dayone --stop-timeout 30 "), "podman would kill the server");
    let index = json(&layout, named);
    let containerfile = fs::read_to_string(repository().join("Containerfile")).unwrap();
    let manifests = index["manifests"].as_array().unwrap();
    assert_eq!(manifests.len(), 2);
    for (descriptor, (architecture, program)) in manifests.iter().zip(programs) {
        assert_eq!(descriptor["platform"]["architecture"], architecture);
        let manifest = json(&layout, descriptor);
        let config = json(&layout, &manifest["config"]);
        assert_eq!(config["architecture"], architecture);
        let user = config["config"]["User"].as_str().unwrap();
        assert!(containerfile.contains(&format!("USER {user}\n")), "{user}");
        assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["/dayone"]));
        let environment = ENVIRONMENT.map(|(name, value)| format!("{name}={value}"));
        assert_eq!(config["config"]["Env"], serde_json::json!(environment));
        let unit = fs::read_to_string(repository().join("packaging/dayone.service")).unwrap();
        for variable in environment {
            assert!(containerfile.contains(&format!("\nENV {variable}\n")), "{variable}");
            assert!(unit.contains(&format!("\nEnvironment={variable}\n")), "{variable}");
        }

        let root = directory.path().join(architecture);
        fs::create_dir(&root).unwrap();
        let layer = directory.path().join("layer");
        fs::write(&layer, blob(&layout, &manifest["layers"][0])).unwrap();
        let content = run(Command::new("zcat").arg("--force").arg(&layer));
        let digest = format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&content)));
        assert_eq!(config["rootfs"]["diff_ids"], serde_json::json!([digest]));
        let listed = run_text(Command::new("tar").args(["--numeric-owner", "-tvzf"]).arg(&layer));
        let owners: BTreeMap<&str, &str> = listed
            .lines()
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                (words[5], words[1])
            })
            .collect();
        assert_eq!(owners["var/cache/dayone/"], "65532/65532", "{listed}");
        // A new volume gets the owner and the mode of the directory in the image.
        let is_data = |line: &&str| line.starts_with("drwx------ 65532/65532 ") && line.ends_with(" var/lib/dayone/");
        assert_eq!(listed.lines().filter(is_data).count(), 1, "{listed}");
        for words in ["mkdir -m 0700 var/lib/dayone ", "chown 65532:65532 var/cache/dayone var/lib/dayone\n"] {
            assert!(containerfile.contains(words), "{words}");
        }
        // docker knows no option for the owner of a volume.
        assert!(page.contains(" --volume dayone:/var/lib/dayone --volume /srv/dayone:/srv/dayone:ro,z "));
        assert_eq!(owners["dayone"], "0/0");
        run(Command::new("tar").arg("--no-same-owner").arg("-xzf").arg(&layer).arg("-C").arg(&root));
        assert!(fs::read(root.join("dayone")).unwrap() == fs::read(program).unwrap());
        for name in ["image-customization-controller", "machine-image-customization-server"] {
            assert!(containerfile.contains(name));
            assert_eq!(fs::read_link(root.join(name)).unwrap(), Path::new("dayone"));
        }
        let authorities = fs::read_to_string(root.join("etc/ssl/certs/ca-certificates.crt")).unwrap();
        assert!(authorities.contains("-----BEGIN CERTIFICATE-----"));
    }
}

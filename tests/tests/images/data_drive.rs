//! `dayone build --data`: drives as they come out of the program, as their readers find and read them.

use std::fs;
use std::process::Command;

use acceptance::bases::fixtures;
use acceptance::fat::content_of;
use acceptance::peers::{run, run_text};
use acceptance::server::dayone;

const USER_DATA: &str = "#cloud-config\nssh_pwauth: false\n";

#[test]
fn readers_find_a_drive_by_its_label_and_the_network_on_it() {
    let directory = tempfile::tempdir().unwrap();
    let (iso, disk) = (directory.path().join("data.iso"), directory.path().join("data.img"));
    let user_data = directory.path().join("user-data");
    fs::write(&user_data, USER_DATA).unwrap();
    let host = fixtures("scenarios").join("static-ipv4-baremetalhost.yaml");
    for (file_system, image) in [("iso", &iso), ("vfat", &disk)] {
        let mut build = dayone();
        build.args(["build", "--data", "cidata", "--file-system", file_system, "--quiet", "--host"]).arg(&host);
        run(build.arg("--user-data").arg(&user_data).arg("-o").arg(image));
    }
    // cloud-init looks for the label in lower and in upper case.
    for (image, expected) in [(&iso, "LABEL=cidata\nTYPE=iso9660\n"), (&disk, "LABEL=CIDATA\nTYPE=vfat\n")] {
        let found = run_text(Command::new("blkid").args(["-p", "-o", "export"]).arg(image));
        let found: Vec<&str> = found.lines().filter(|line| expected.lines().any(|wanted| *line == wanted)).collect();
        assert_eq!(found.join("\n") + "\n", expected);
    }
    for name in ["network-config", "user-data", "meta-data"] {
        let on_iso = run(Command::new("isoinfo").args(["-R", "-x", &format!("/{name}"), "-i"]).arg(&iso));
        assert!(!on_iso.is_empty(), "{name}");
        assert_eq!(on_iso, content_of(&disk, name), "{name}");
    }
    assert_eq!(content_of(&disk, "user-data"), USER_DATA.as_bytes());
    let network = String::from_utf8(content_of(&disk, "network-config")).unwrap();
    let network: serde_yaml::Value = serde_yaml::from_str(&network).unwrap();
    assert_eq!(network["version"], 2);
    assert_eq!(network["ethernets"]["enp2s0"]["addresses"][0], "192.168.111.110/24");
    let meta_data = String::from_utf8(content_of(&disk, "meta-data")).unwrap();
    assert!(meta_data.contains("instance-id: "), "{meta_data}");
}

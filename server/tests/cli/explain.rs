use std::fs;

use super::{fixture, golden, run};

const TWO: &str = "inputs/bare-metal-host/two-hosts.yaml";

fn document(case: &str) -> String {
    fixture("nmstate").join(case).join("nmstate.yaml").to_str().unwrap().to_owned()
}

#[test]
fn networks_are_explained_in_tables() {
    let files =
        fs::read_dir(fixture("topology")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let cases: Vec<String> = files.filter_map(|file| Some(file.strip_suffix(".txt")?.to_owned())).collect();
    assert!(cases.len() > 6, "{cases:?}");
    for case in &cases {
        let ended = run(&["convert", "--explain", &document(case)]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        golden(&format!("../topology/{case}.txt"), &ended.out);
    }
    let two = run(&["convert", "--explain", "--format", "json", fixture(TWO).to_str().unwrap()]);
    assert_eq!((two.code, two.err.as_str()), (0, ""));
    golden("convert-explain.json", &two.out);
}

#[test]
fn each_host_has_a_picture_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let one = run(&["convert", "--svg", &path("one.svg"), &document("bond-vlans")]);
    assert_eq!((one.code, one.out.as_str()), (0, ""), "{}", one.err);
    assert!(fs::read_to_string(path("one.svg")).unwrap().contains(">bond0.20<"));
    let two = fixture(TWO).to_str().unwrap().to_owned();
    let several = run(&["convert", "--svg", &path("pictures"), "-o", &path("keyfiles"), "--explain", &two]);
    assert_eq!(several.code, 0, "{}", several.err);
    assert!(several.out.starts_with("=== worker-0"), "{}", several.out);
    for host in ["worker-0", "worker-1"] {
        assert!(fs::read_to_string(path(&format!("pictures/{host}.svg"))).unwrap().starts_with("<?xml"));
        assert!(fs::exists(path(&format!("keyfiles/{host}/eno1.nmconnection"))).unwrap());
    }
    let other = run(&["convert", "--svg", &path("one.svg"), &document("vrf")]);
    assert_eq!((other.code, other.err.contains("--force replaces it")), (2, true), "{}", other.err);
    assert_eq!(run(&["convert", "--svg", &path("one.svg"), "--force", &document("vrf")]).code, 0);
    assert_eq!(run(&["convert", "--force", &document("vrf")]).code, 2);
}

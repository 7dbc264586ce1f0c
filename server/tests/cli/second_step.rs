//! `dayone second-step` and `dayone manifests`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::images::Place;
use super::{fixture, run};

fn path(name: &str) -> String {
    fixture(name).to_str().unwrap().to_owned()
}

/// Compares with `fixtures/second-step/NAME`.
fn golden(name: &str, actual: &str) {
    super::golden(&format!("../second-step/{name}"), actual);
}

const FIRST_STEP: &str = "scenarios/static-ipv4-baremetalhost.yaml";

#[test]
fn documents_become_a_machine_config() {
    let (hosts, first) = (path("second-step/hosts"), path(FIRST_STEP));
    let made = run(&["second-step", &hosts, "--first-step", &first, "--role", "master"]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    golden("10-br-ex-master.yaml", &made.out);

    let place = Place::new();
    let directory = place.argument("out");
    let arguments = ["second-step", &hosts, "--role", "master", "-o", &directory];
    let written = run(&arguments);
    assert_eq!((written.code, written.out.as_str()), (0, ""));
    assert_eq!(written.err, format!("wrote {directory}/10-br-ex-master.yaml\n"));
    let file = Path::new(&directory).join("10-br-ex-master.yaml");
    assert_eq!(fs::read_to_string(&file).unwrap(), made.out);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&file, "other").unwrap();
    assert_eq!(run(&arguments).code, 2);
    assert_eq!(run(&[&arguments[..], &["--force"]].concat()).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), made.out);
}

#[test]
fn what_the_first_step_has_is_derived() {
    for case in ["bond-vlans", "ipv6-dual-stack", "static-ipv4-baremetalhost"] {
        let place = Place::new();
        let nmstate = fs::read(fixture(&format!("nmstate/{case}/nmstate.yaml"))).unwrap();
        let first = place.write("worker-0.yaml", nmstate);
        let arguments = ["second-step", "--derive", "--first-step", &first, "--format", "nmstate"];
        let derived = run(&arguments);
        assert_eq!((derived.code, derived.err.as_str()), (0, ""), "{case}");
        golden(&format!("derived/{case}.yaml"), &derived.out);
        // What is derived is taken as a document, too.
        let directory = place.argument("documents");
        assert_eq!(run(&[&arguments[..], &["-o", &directory]].concat()).code, 0);
        let again = run(&["second-step", &directory, "--first-step", &first, "--role", "worker"]);
        let at_once = run(&["second-step", "--derive", "--first-step", &first, "--role", "worker"]);
        assert_eq!((again.code, &again.out), (0, &at_once.out), "{case}: {}", again.err);
    }
}

#[test]
fn errors_write_nothing() {
    let place = Place::new();
    let nmstate = fs::read_to_string(fixture("scenarios/br-ex-second-step.yaml")).unwrap();
    let other = place.write("ostest-master-0.yml", nmstate.replace("192.168.111.110", "192.168.111.120"));
    let directory = place.argument("out");
    let refused =
        run(&["second-step", &other, "--first-step", &path(FIRST_STEP), "--role", "master", "-o", &directory]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert!(refused.err.contains(": error: interfaces[2].ipv4 lacks 192.168.111.110/24, "), "{}", refused.err);
    assert!(refused.err.ends_with(" [second-step-address]\n"), "{}", refused.err);
    assert!(!Path::new(&directory).exists());
    for (wrong, code) in [
        (&["second-step"][..], 2),
        (&["second-step", &other], 1),
        (&["second-step", &other, "--role", "Worker"], 2),
        (&["second-step", "--derive"], 2),
        (&["second-step", &other, "--real-names"], 2),
        (&["second-step", "-", "--first-step", "-"], 2),
    ] {
        assert_eq!(run(wrong).code, code, "{wrong:?}");
    }
}

#[test]
fn hosts_become_objects() {
    let first = path(FIRST_STEP);
    let made = run(&["manifests", &first]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    super::golden("manifests.yaml", &made.out);
    let place = Place::new();
    let again = place.write("again.yaml", &made.out);
    assert_eq!(run(&["manifests", &again]).out, made.out);
    assert_eq!(run(&["convert", &again]).out, run(&["convert", &first]).out);

    let directory = place.argument("objects");
    let written = run(&["manifests", &path("inputs/bare-metal-host/two-hosts.yaml"), "-o", &directory]);
    assert_eq!(written.code, 0, "{}", written.err);
    let file = Path::new(&directory).join("worker-1.yaml");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let one = run(&["manifests", &path("inputs/bare-metal-host/two-hosts.yaml"), "--host", "worker-1"]);
    assert!(one.out.contains("name: worker-1\n") && !one.out.contains("worker-0"), "{}", one.out);
    let unknown = run(&["manifests", &first, "--host", "worker-7"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (1, ""));
    assert!(unknown.err.contains("the names are: ostest-master-0"), "{}", unknown.err);
    let coreos = run(&["manifests", &first, "--install-coreos", "--offline", "--without-bmc-secret"]).out;
    assert!(coreos.contains("name: worker-user-data-managed") && coreos.contains("online: false"));
    assert!(!coreos.contains("password"));
}

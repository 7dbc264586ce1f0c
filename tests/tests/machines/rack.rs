//! `make rack`, without questions: by one command, and by a browser at the page.

use std::path::Path;
use std::process::Command;

use acceptance::bases::fixtures;
use acceptance::peers::{PAGE_MODULES, cache};
use acceptance::server::dayone;

/// The rack's script with these variables, and what it shows.
fn boot_rack(variables: &[(&str, &Path)]) -> String {
    let mut rack = Command::new(fixtures("../scripts/rack.sh"));
    let output =
        rack.arg("--batch").env("DAYONE_BIN", dayone().get_program()).envs(variables.iter().copied()).output().unwrap();
    let (shown, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{shown}\n{errors}");
    assert!(shown.contains("3 of 3 booted: called home from 192.0.2.11, 192.0.2.12, 192.0.2.13"), "{shown}");
    for host in ["rack-1", "rack-2", "rack-3"] {
        assert!(shown.contains(&format!("{host}: booted done: the host called home from 192.0.2.1")), "{shown}");
        assert!(shown.contains(&format!("{host}: ejected")), "{shown}");
    }
    shown.into_owned()
}

#[test]
#[ignore = "three machines at once; make matrix runs it"]
fn three_machines_without_dhcp_call_home() {
    boot_rack(&[]);
}

#[test]
#[ignore = "three machines at once; make matrix runs it"]
fn three_machines_boot_from_the_page() {
    boot_rack(&[("RACK_BROWSER", &cache().join(PAGE_MODULES))]);
}

//! A server whose files may have only a certain size (`ulimit -f`, `LimitFSIZE=`).

use acceptance::bases::coreos_iso;
use acceptance::server::{Server, dayone, free_address};

#[test]
fn a_base_above_the_limit_is_an_error_and_does_not_end_the_server() {
    let base = coreos_iso(&["--size-mib", "8"]);
    let directory = base.parent().unwrap().display().to_string();
    let server = Server::start_under(
        &["prlimit", "--fsize=4194304:4194304"],
        &free_address(),
        &free_address(),
        "coreos",
        &base,
        &["--base-source", &directory],
    );
    let mut command = dayone();
    command.args(["base", "add", "copy"]).arg(&base).args(["--server", &server.api]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}\n{}", server.log());
    assert!(said.contains("File too large"), "{said}\n{}", server.log());
    let ready = reqwest::blocking::get(format!("{}/readyz", server.api)).unwrap();
    assert_eq!(ready.status(), 200, "{}", server.log());
}

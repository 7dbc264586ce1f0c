//! A dayone server that runs elsewhere.

use url::Url;

use crate::arguments::BootArguments;
use crate::commands::boot_api::{Api, Boot};
use crate::commands::client::Client;
use crate::commands::failure::Failure;
use crate::commands::terminal::plain;

/// Returns the API of the server in the arguments.
pub(super) fn api(arguments: &BootArguments, url: Url) -> Result<Api, Failure> {
    let access = &arguments.access;
    let here = [
        (access.bmc_username.is_some(), "--bmc-username"),
        (access.bmc_password_file.is_some(), "--bmc-password-file"),
        (access.bmc_ca.is_some(), "--bmc-ca"),
        (!access.bmc_network.is_empty(), "--bmc-network"),
    ];
    if let Some((_, option)) = here.iter().find(|(given, _)| *given) {
        return Err(Failure::System(format!(
            "{option} is not valid with --server, which has its own setting; the credentials come from the documents (the \
             BareMetalHost's Secret) or from the server (--bmc-credentials NAME)"
        )));
    }
    Client::of(url, &arguments.server.access).map(Api)
}

/// Returns the commands to follow and to delete boots on a server.
pub(super) fn next_commands(arguments: &BootArguments, url: &Url, boots: &[Boot]) -> String {
    let mut server = format!("--server {}", quoted(url.as_str().trim_end_matches('/')));
    let access = &arguments.server.access;
    let options = [
        ("--token-file", &access.token_file),
        ("--server-ca", &access.server_ca),
        ("--client-cert", &access.client_cert),
    ];
    for (option, path) in options {
        if let Some(path) = path {
            server.extend([" ", option, " ", &quoted(&path.display().to_string())]);
        }
    }
    let ids: Vec<String> = boots.iter().map(|boot| quoted(&boot.id)).collect();
    format!(
        "to follow:\n  dayone boots watch {server}\nto eject and restore:\n  dayone boots rm {} {server}\n",
        ids.join(" ")
    )
}

/// Quotes a word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:._-".contains(c);
    let text = plain(text);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::arguments::{Arguments, Command};

    #[test]
    fn the_next_commands_reach_the_server_as_this_one_did() {
        let server = ["--server", "https://192.0.2.1:8080/", "--token-file", "the token", "--server-ca", "ca.pem"];
        let line = ["dayone", "boot", "hosts.yaml", "--base", "coreos", "--client-cert", "own.pem"];
        let arguments = Arguments::try_parse_from(line.iter().chain(&server)).unwrap();
        let Command::Boot(arguments) = arguments.command else { panic!("another command") };
        let boot = json!({"id": "1", "host": "worker-0", "state": "running", "ended": false, "bmc": {"address": "192.0.2.9"},
            "progress": null, "steps": [], "remarks": []});
        let boot = serde_json::from_value(boot).unwrap();
        let server =
            "--server https://192.0.2.1:8080 --token-file 'the token' --server-ca ca.pem --client-cert own.pem";
        assert_eq!(
            next_commands(&arguments, arguments.server.url.as_ref().unwrap(), &[boot]),
            format!("to follow:\n  dayone boots watch {server}\nto eject and restore:\n  dayone boots rm 1 {server}\n")
        );
    }
}

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

/// Returns the shell commands to follow and to delete boots on a server.
pub(super) fn next_commands(arguments: &BootArguments, url: &Url, boots: &[Boot]) -> String {
    let mut curl = "curl".to_owned();
    if let Some(path) = &arguments.server.access.server_ca {
        curl.extend([" --cacert ", &quoted(&path.display().to_string())]);
    }
    match &arguments.server.access.token_file {
        Some(path) => {
            curl.extend([" -H \"Authorization: Bearer $(cat ", &quoted(&path.display().to_string()), ")\""]);
        }
        None if std::env::var_os("DAYONE_API_TOKEN").is_some() => {
            curl += " -H \"Authorization: Bearer $DAYONE_API_TOKEN\"";
        }
        None => {}
    }
    let boots_url = format!("{}/v1/boots", url.as_str().trim_end_matches('/'));
    let mut lines = Vec::new();
    for (title, command, suffix) in [("follow", "--no-buffer", "/events"), ("eject and restore", "-X DELETE", "")] {
        lines.push(format!("to {title}:\n"));
        for boot in boots {
            lines.push(format!("  {curl} {command} {}\n", quoted(&format!("{boots_url}/{}{suffix}", boot.id))));
        }
    }
    lines.concat()
}

/// Quotes a word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:._-".contains(c);
    let text = plain(text);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

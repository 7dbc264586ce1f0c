//! A dayone server that runs elsewhere.

use url::Url;

use super::api::{Api, Boot};
use crate::arguments::BootArguments;
use crate::commands::failure::Failure;
use crate::commands::terminal::plain;
use redfish::{Certificates, Verification, client_config};

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
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(Failure::System("--server: write http://ADDRESS:PORT or https://ADDRESS:PORT".to_owned()));
    }
    let verification = match &arguments.server.server_ca {
        None => Verification::System,
        Some(path) => {
            Verification::CaFile(Certificates::from_file(path).map_err(|error| Failure::System(error.to_string()))?)
        }
    };
    let tls = client_config(&verification).map_err(|error| Failure::system("--server-ca", &error))?;
    Api::new(url, token(arguments)?, reqwest::Client::builder().tls_backend_preconfigured(tls))
}

/// Returns the shell commands to follow and to delete boots on a server.
pub(super) fn next_commands(arguments: &BootArguments, url: &Url, boots: &[Boot]) -> String {
    let mut curl = "curl".to_owned();
    if let Some(path) = &arguments.server.server_ca {
        curl.extend([" --cacert ", &quoted(&path.display().to_string())]);
    }
    match &arguments.server.token_file {
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

fn token(arguments: &BootArguments) -> Result<Option<String>, Failure> {
    let Some(path) = &arguments.server.token_file else {
        return Ok(std::env::var("DAYONE_API_TOKEN").ok().filter(|token| !token.is_empty()));
    };
    let what = || format!("cannot read the token of {}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| Failure::system(&what(), &error))?;
    let token = text.lines().map(str::trim).find(|line| !line.is_empty());
    token.map(|token| Some(token.to_owned())).ok_or_else(|| Failure::System(format!("{}: the file is empty", what())))
}

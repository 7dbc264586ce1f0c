//! How a command reaches a dayone server.

use std::path::PathBuf;

use clap::{Arg, Args};
use url::{Host, ParseError, Url};
use vocabulary::url_host;

/// How a command reaches a dayone server.
#[derive(Debug, Args)]
pub struct ServerAccess {
    /// File with the server's bearer token [default: the variable `DAYONE_API_TOKEN`]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Certificates (PEM) that verify the server [default: this system's certificate authorities]
    #[arg(long, value_name = "FILE")]
    pub server_ca: Option<PathBuf>,

    /// Client certificate with its key (PEM), for a server that requires one
    #[arg(long, value_name = "FILE")]
    pub client_cert: Option<PathBuf>,
}

/// Reads the URL of a server, which gets a token: to a URL parser `10.0.0.010` would be another machine.
pub(super) fn server_url(text: &str) -> Result<Url, String> {
    let url = match Url::parse(text) {
        Err(error) if error != ParseError::RelativeUrlWithoutBase => return Err(error.to_string()),
        Ok(url) if is_http(&url) => url,
        _ => return Err("write http://ADDRESS:PORT or https://ADDRESS:PORT".to_owned()),
    };
    match url.host() {
        Some(Host::Ipv4(address)) if !url_host::is_written(address, text) => {
            Err(format!("its host is {address} in a URL, but not written so; {}", url_host::FIX))
        }
        _ => Ok(url),
    }
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

/// Makes the options of [`ServerAccess`] require `--server`, for a command that has no default server.
pub(super) fn requires_server(argument: Arg) -> Arg {
    match argument.get_id().as_str() {
        "token_file" | "server_ca" | "client_cert" => argument.requires("url"),
        _ => argument,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::server_url;
    use crate::arguments::Arguments;

    #[test]
    fn only_a_command_without_a_default_server_requires_the_option() {
        let commands: [&[&str]; 8] = [
            &["images"],
            &["boots", "watch"],
            &["boots", "list"],
            &["boots", "show", "worker-0"],
            &["boots", "rm", "worker-0"],
            &["base", "list"],
            &["base", "add", "fcos", "https://images.example/live.iso"],
            &["base", "rm", "fcos"],
        ];
        for option in ["--token-file", "--server-ca", "--client-cert"] {
            for command in commands {
                let option = [option, "file"];
                let line = ["dayone"].iter().chain(command).chain(&option);
                assert!(Arguments::try_parse_from(line).is_ok(), "{command:?} {option:?}");
            }
            let boot = ["dayone", "boot", "hosts.yaml", "--base", "coreos", option, "file"];
            let error = Arguments::try_parse_from(boot).unwrap_err().to_string();
            assert!(error.contains("--server <URL>"), "{error}");
            assert!(Arguments::try_parse_from(boot.iter().chain(&["--server", "http://192.0.2.1:8080"])).is_ok());
        }
    }

    #[test]
    fn a_server_is_the_machine_that_its_url_names() {
        assert_eq!(server_url("http://10.0.0.10:8080").unwrap().as_str(), "http://10.0.0.10:8080/");
        let error = server_url("http://10.0.0.010:8080").unwrap_err();
        assert!(error.contains("10.0.0.8") && error.contains("without leading zeros"), "{error}");
        for text in ["dayone", "127.0.0.1:8080", "dayone.example:8080", "unix:/run/x", "ftp://dayone.example"] {
            assert_eq!(server_url(text).unwrap_err(), "write http://ADDRESS:PORT or https://ADDRESS:PORT", "{text}");
        }
        assert_eq!(server_url("http://dayone.example:80800").unwrap_err(), "invalid port number");
    }
}

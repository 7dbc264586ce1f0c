//! How a command reaches a dayone server.

use std::path::PathBuf;

use clap::{Arg, Args};

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
}

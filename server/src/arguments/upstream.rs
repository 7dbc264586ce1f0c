//! The names and flags of openshift/image-customization-controller's programs. Deployments start them by path, with flags of
//! Go's package `flag` (`-name value`, `-name=value`, and the same with two dashes).

use std::ffi::OsString;
use std::path::Path;

use clap::Parser;

use super::old_spellings::{self, Spelled};
use super::refusal;
use super::{Arguments, Command, CommandLine, ControllerArguments, Program, StaticServerArguments};

/// `image-customization-controller`.
#[derive(Debug, Parser)]
#[command(
    name = "image-customization-controller",
    version,
    long_version = crate::version::long(),
    about = "dayone as a drop-in replacement",
    args_override_self = true
)]
struct Controller {
    #[command(flatten)]
    arguments: ControllerArguments,
}

/// `image-customization-server`.
#[derive(Debug, Parser)]
#[command(
    name = "image-customization-server",
    version,
    long_version = crate::version::long(),
    about = "dayone as a drop-in replacement",
    args_override_self = true
)]
struct Server {
    #[command(flatten)]
    arguments: StaticServerArguments,
}

/// Parses the command line. If it is wrong, the process ends, as with [`Parser::parse_from`].
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Arguments {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = arguments.first().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
    let command = match name {
        Some("machine-image-customization-controller" | "image-customization-controller") => {
            let line = drop_in(Program::Controller, arguments);
            let Controller { arguments } = parsed(&line.words);
            Command::Controller(Box::new(ControllerArguments { strict_environment: true, line, ..arguments }))
        }
        Some("machine-image-customization-server" | "image-customization-server") => {
            let line = drop_in(Program::StaticServer, arguments);
            let Server { arguments } = parsed(&line.words);
            Command::StaticServer(Box::new(StaticServerArguments { strict_environment: true, line, ..arguments }))
        }
        _ => return parse_own(arguments),
    };
    Arguments { command, notices: Vec::new() }
}

/// Parses a command line of `dayone` itself, in the spelling of this release or of earlier ones.
fn parse_own(arguments: Vec<OsString>) -> Arguments {
    let Spelled { arguments, mut notices } = old_spellings::replace(arguments);
    // The first word is the program, and the second one its command.
    let options = arguments.iter().skip(2).cloned().collect::<Vec<_>>();
    let mut parsed: Arguments = parsed(arguments);
    match &mut parsed.command {
        Command::Build(build) => notices.extend(build.replace_old_spellings()),
        Command::Serve(serve) => serve.line = CommandLine::new(Program::Serve, options),
        Command::Controller(controller) => controller.line = CommandLine::new(Program::Controller, options),
        Command::StaticServer(server) => server.line = CommandLine::new(Program::StaticServer, options),
        _ => {}
    }
    Arguments { notices, ..parsed }
}

/// Parses words as [`Parser::parse_from`] does.
fn parsed<P: Parser>(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> P {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    P::try_parse_from(&words).unwrap_or_else(|error| {
        refusal::print_not_utf_8(&error, &words);
        std::process::exit(refusal::print(&error));
    })
}

/// The command line of a program that dayone replaces.
fn drop_in(program: Program, arguments: Vec<OsString>) -> CommandLine {
    CommandLine { program, words: arguments.into_iter().map(two_dashes).collect(), overrides_itself: true }
}

/// Makes one dash two: Go's flags may begin with either.
fn two_dashes(argument: OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.len() > 2 && text.starts_with('-') && !text.starts_with("--") => format!("-{text}").into(),
        _ => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Compatibility, Namespaces};

    fn parsed(line: &str) -> Command {
        parse(line.split(' ').map(OsString::from)).command
    }

    #[test]
    fn the_command_lines_of_known_deployments_are_understood() {
        let Command::Controller(operator) = parsed(
            "/machine-image-customization-controller -images-bind-addr :8084 -images-publish-addr \
             http://metal3-image-customization-service.openshift-machine-api.svc.cluster.local/",
        ) else {
            panic!("not a controller");
        };
        assert!(operator.strict_environment);
        assert_eq!(operator.images.images_bind_addr.0.port(), 8084);
        let url = operator.images.images_publish_addr.to_string();
        assert_eq!(url, "http://metal3-image-customization-service.openshift-machine-api.svc.cluster.local");
        assert_eq!(operator.compatibility, Compatibility::Default);

        let Command::Controller(bootstrap) = parsed(
            "image-customization-controller --namespace=openshift-machine-api \
             --images-publish-addr=http://127.0.0.1:8084 --metrics-addr=127.0.0.1:7373",
        ) else {
            panic!("not a controller");
        };
        assert_eq!(bootstrap.namespace, Some(Namespaces::One("openshift-machine-api".to_owned())));

        let Command::Controller(tls) = parsed(
            "machine-image-customization-controller -images-tls-cert-file=/certs/ironic/tls.crt \
             -images-tls-key-file /certs/ironic/tls.key",
        ) else {
            panic!("not a controller");
        };
        assert_eq!(tls.images.images_tls_cert_file.as_deref(), Some(Path::new("/certs/ironic/tls.crt")));

        let Command::StaticServer(server) = parsed("/image-customization-server -nmstate-dir /nmstate") else {
            panic!("not a server");
        };
        assert_eq!(server.nmstate_dir.as_deref(), Some(Path::new("/nmstate")));
    }

    #[test]
    fn the_same_is_there_under_our_own_name() {
        let Command::Controller(arguments) = parsed("dayone controller --namespace hosts --compatibility strict")
        else {
            panic!("not a controller");
        };
        assert!(!arguments.strict_environment);
        assert_eq!(arguments.compatibility, Compatibility::Strict);
        assert!(matches!(parsed("./dayone static-server --nmstate-dir n"), Command::StaticServer(_)));
    }
}

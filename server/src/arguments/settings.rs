//! The settings of `dayone serve`, as the command line has them. [`settings`](crate::settings) reads the same ones from a file and
//! from the environment.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use ipnet::IpNet;
use media::MediaUrl;

use super::bmc::bmc_network;
use crate::bases::AllowedSource;
use crate::boots::BootOnlyFrom;
use crate::logging::LogFormat;
use crate::store::BaseDefinition;

/// How long a connection may move no byte, in seconds: 1 to a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleSeconds(u32);

impl IdleSeconds {
    const MAX_SECONDS: u32 = 24 * 60 * 60;

    /// The time as a duration.
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.0.into())
    }
}

impl FromStr for IdleSeconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = text.parse().ok().filter(|seconds| (1..=Self::MAX_SECONDS).contains(seconds));
        seconds.map(Self).ok_or_else(|| format!("write 1 to {} seconds (a day)", Self::MAX_SECONDS))
    }
}

/// All settings of `dayone serve`. Each is optional: the server has defaults.
#[derive(Debug, Clone, Default, Args)]
pub struct Settings {
    /// Directory of the server's records and of the installation key [default: /var/lib/dayone]
    #[arg(long, env = "DAYONE_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// File with the keys that encrypt the data directory: 64 hexadecimal digits a line; the first encrypts, all decrypt, and after a
    /// first line `none`, they only decrypt [default: the data directory is not encrypted]
    #[arg(long, env = "DAYONE_DATA_KEY_FILE", value_name = "FILE")]
    pub data_key_file: Option<PathBuf>,

    /// Base image: NAME=PATH of an ISO, or `NAME=kernel:PATH,initrd:PATH[,rootfs:PATH][,esp:PATH][,bios-loader:PATH]`;
    /// repeatable; one a line in the variable
    // A path can have every character but the end of a line.
    #[arg(long = "base", env = "DAYONE_BASE", value_name = "NAME=PATH", value_delimiter = '\n')]
    pub base: Vec<BaseDefinition>,

    /// Beginning of the URLs, or directory on this machine, from which clients of the API may have bases fetched; repeatable
    /// [default: `https://builds.coreos.fedoraproject.org/`]
    #[arg(long, env = "DAYONE_BASE_SOURCE", value_name = "URL|DIR", value_delimiter = ',')]
    pub base_source: Vec<AllowedSource>,

    /// File with GPG keys that may sign bases; repeatable [default: Fedora's and Red Hat's]
    #[arg(long, env = "DAYONE_BASE_KEYS", value_name = "FILE", value_delimiter = '\n')]
    pub base_keys: Vec<PathBuf>,

    /// Certificates (PEM) that verify the servers of bases [default: this system's certificate authorities]
    #[arg(long, env = "DAYONE_BASE_CA", value_name = "FILE")]
    pub base_ca: Option<PathBuf>,

    /// How large a fetched file of a base may be, in GiB [default: 16]
    #[arg(long, env = "DAYONE_BASE_MAX_GIB", value_name = "GIB")]
    pub base_max_gib: Option<NonZeroU64>,

    /// Private key (PEM, RSA) of the site, which signs the addons for unified kernel images [default: addons are not signed]
    #[arg(long, env = "DAYONE_SITE_KEY", value_name = "FILE")]
    pub site_key: Option<PathBuf>,

    /// Certificate (PEM) of that key, which the `db` of the machines with Secure Boot must have
    #[arg(long, env = "DAYONE_SITE_CERTIFICATE", value_name = "FILE")]
    pub site_certificate: Option<PathBuf>,

    /// Address of the API; an address other than loopback requires a token, or certificates of clients (`--api-client-ca`)
    /// [default: 127.0.0.1:8080]
    #[arg(long, env = "DAYONE_API_LISTEN", value_name = "ADDRESS")]
    pub api_listen: Option<SocketAddr>,

    /// File with the API's bearer tokens, one a line; repeatable. The variable `DAYONE_API_TOKEN` adds one
    #[arg(long, env = "DAYONE_API_TOKEN_FILE", value_name = "FILE", value_delimiter = '\n')]
    pub api_token_file: Vec<PathBuf>,

    /// File (YAML) with the API's clients: name, role (read, build or boot), and the SHA-256 of the token or the certificate of each
    #[arg(long, env = "DAYONE_API_CLIENTS", value_name = "FILE")]
    pub api_clients: Option<PathBuf>,

    /// Certificate chain (PEM) of the API [default: plain HTTP]
    #[arg(long, env = "DAYONE_API_TLS_CERT", value_name = "FILE")]
    pub api_tls_cert: Option<PathBuf>,

    /// Private key (PEM) of the API
    #[arg(long, env = "DAYONE_API_TLS_KEY", value_name = "FILE")]
    pub api_tls_key: Option<PathBuf>,

    /// Certificate authorities (PEM) of the API's clients: every client needs a certificate of one [default: clients need no
    /// certificate]
    #[arg(long, env = "DAYONE_API_CLIENT_CA", value_name = "FILE")]
    pub api_client_ca: Option<PathBuf>,

    /// How many requests per second each client address may send to the API; after ten requests without a valid token, one
    /// [default: any number]
    #[arg(long, env = "DAYONE_API_REQUESTS_PER_SECOND", value_name = "NUMBER")]
    pub api_requests_per_second: Option<NonZeroU32>,

    /// File of the audit log: who ordered which image, and who read which bytes of it; `-` for the standard output [default: no audit
    /// log]
    #[arg(long, env = "DAYONE_AUDIT_LOG", value_name = "FILE")]
    pub audit_log: Option<PathBuf>,

    /// Size of the audit log from which on dayone renames it and begins a new file, in MiB [default: it never does]
    #[arg(long, env = "DAYONE_AUDIT_LOG_MAX_MIB", value_name = "MIB")]
    pub audit_log_max_mib: Option<NonZeroU64>,

    /// Address from which BMCs fetch images [default: [::]:8081, which accepts IPv4, too]
    #[arg(long, env = "DAYONE_MEDIA_LISTEN", value_name = "ADDRESS")]
    pub media_listen: Option<SocketAddr>,

    /// URL under which BMCs reach that address, such as `http://192.0.2.10:8081` [default: --media-listen, if it is a single
    /// address]
    #[arg(long, env = "DAYONE_MEDIA_URL", value_name = "URL")]
    pub media_url: Option<MediaUrl>,

    /// Certificate chain (PEM) of the images' address [default: plain HTTP]
    #[arg(long, env = "DAYONE_MEDIA_TLS_CERT", value_name = "FILE")]
    pub media_tls_cert: Option<PathBuf>,

    /// Private key (PEM) of the images' address
    #[arg(long, env = "DAYONE_MEDIA_TLS_KEY", value_name = "FILE")]
    pub media_tls_key: Option<PathBuf>,

    /// How long a BMC's connection may move no byte before dayone closes it, in seconds [default: 300]
    #[arg(long, env = "DAYONE_MEDIA_IDLE_SECONDS", value_name = "SECONDS")]
    pub media_idle_seconds: Option<IdleSeconds>,

    /// How many connections one client address may have open to the images' address at once [default: half of all]
    #[arg(long, env = "DAYONE_MEDIA_CONNECTIONS_PER_ADDRESS", value_name = "NUMBER")]
    pub media_connections_per_address: Option<NonZeroU32>,

    /// Whether the kernel sends bases from its page cache (`sendfile`) where no other program can change them, over plain HTTP
    /// [default: true]
    #[arg(long, env = "DAYONE_MEDIA_SENDFILE", value_name = "true|false")]
    pub media_sendfile: Option<bool>,

    /// Directory with credentials of BMCs that requests name: NAME/username and NAME/password, like mounted Secrets. For all
    /// other BMCs, dayone uses the variables `DAYONE_BMC_USERNAME` and `DAYONE_BMC_PASSWORD`
    #[arg(long, env = "DAYONE_BMC_CREDENTIALS", value_name = "DIR")]
    pub bmc_credentials: Option<PathBuf>,

    /// Network (CIDR) of the BMCs: dayone connects to no address outside; repeatable [default: any address]
    #[arg(long, env = "DAYONE_BMC_NETWORK", value_name = "CIDR", value_parser = bmc_network, value_delimiter = ',')]
    pub bmc_network: Vec<IpNet>,

    /// Certificates (PEM) that verify BMCs [default: this system's certificate authorities]
    #[arg(long, env = "DAYONE_BMC_CA", value_name = "FILE")]
    pub bmc_ca: Option<PathBuf>,

    /// How many boots run at a time; dayone queues the others [default: 32]
    #[arg(long, env = "DAYONE_BOOTS_AT_ONCE", value_name = "NUMBER")]
    pub boots_at_once: Option<NonZeroUsize>,

    /// Who may read the image that a boot orders, if the request has no `only_from`: anyone who has its URL, or only the address of the
    /// host's BMC (and of the host, if it fetches its root file system from dayone) [default: anyone]
    #[arg(long, env = "DAYONE_BOOT_ONLY_FROM", value_name = "anyone|bmc", hide_possible_values = true)]
    pub boot_only_from: Option<BootOnlyFrom>,

    /// How long running requests may take to finish when the server stops, in seconds [default: 20]
    #[arg(long, env = "DAYONE_DRAIN_SECONDS", value_name = "SECONDS")]
    pub drain_seconds: Option<u64>,

    /// Format of the log [default: text]
    #[arg(long, env = "DAYONE_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,

    /// Level of the log: error, warn, info, debug, trace, or a filter such as `info,media=debug` [default: info]
    #[arg(long, env = "DAYONE_LOG", value_name = "FILTER")]
    pub log: Option<String>,
}

impl Settings {
    /// Returns these settings with those of `running` where a running server cannot change them, which includes whether a plane
    /// speaks TLS at all.
    #[must_use]
    pub fn within(self, running: &Self) -> Self {
        let api_tls = self.api_tls_cert.is_some() == running.api_tls_cert.is_some();
        let api_ca = self.api_client_ca.is_some() == running.api_client_ca.is_some();
        let media_tls = self.media_tls_cert.is_some() == running.media_tls_cert.is_some();
        let tls = |changes: bool, new: Option<PathBuf>, old: &Option<PathBuf>| if changes { new } else { old.clone() };
        Self {
            data_dir: running.data_dir.clone(),
            data_key_file: running.data_key_file.clone(),
            base: running.base.clone(),
            base_source: running.base_source.clone(),
            base_keys: running.base_keys.clone(),
            base_ca: running.base_ca.clone(),
            base_max_gib: running.base_max_gib,
            site_key: running.site_key.clone(),
            site_certificate: running.site_certificate.clone(),
            api_listen: running.api_listen,
            media_listen: running.media_listen,
            media_url: running.media_url.clone(),
            log_format: running.log_format,
            audit_log: running.audit_log.clone(),
            audit_log_max_mib: running.audit_log_max_mib,
            api_tls_cert: tls(api_tls, self.api_tls_cert, &running.api_tls_cert),
            api_tls_key: tls(api_tls, self.api_tls_key, &running.api_tls_key),
            api_client_ca: tls(api_ca, self.api_client_ca, &running.api_client_ca),
            media_tls_cert: tls(media_tls, self.media_tls_cert, &running.media_tls_cert),
            media_tls_key: tls(media_tls, self.media_tls_key, &running.media_tls_key),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches as _};

    use super::*;

    #[test]
    fn a_connection_may_be_idle_for_a_second_to_a_day() {
        let seconds = |text: &str| text.parse::<IdleSeconds>().map(|seconds| seconds.duration().as_secs());
        assert_eq!((seconds("1"), seconds("86400")), (Ok(1), Ok(86400)));
        for wrong in ["0", "86401", "18446744073709551615", "-1", "5m", ""] {
            assert_eq!(seconds(wrong), Err("write 1 to 86400 seconds (a day)".to_owned()), "{wrong}");
        }
    }
    use crate::arguments::Program;

    /// A value of each setting, from a number.
    fn settings(number: u8) -> Settings {
        let words = Program::Serve.settings().into_iter().map(|setting| {
            let value = match setting.value.as_str() {
                "ADDRESS" => format!("127.0.0.1:{number}"),
                "URL" | "URL|DIR" => format!("http://192.0.2.{number}"),
                "SECONDS" | "NUMBER" | "GIB" | "MIB" => number.to_string(),
                "CIDR" => format!("192.0.{number}.0/24"),
                "NAME=PATH" => format!("a=/{number}.iso"),
                "anyone|bmc" => (if number == 1 { "anyone" } else { "bmc" }).to_owned(),
                "true|false" => (number == 1).to_string(),
                "FORMAT" => (if number == 1 { "text" } else { "json" }).to_owned(),
                _ => format!("/{number}"),
            };
            format!("{}={value}", setting.flag)
        });
        let command = Settings::augment_args(Command::new("serve")).mut_args(|arg| arg.env(None::<&'static str>));
        let matches = command.get_matches_from(["serve".to_owned()].into_iter().chain(words));
        Settings::from_arg_matches(&matches).unwrap()
    }

    /// The table of what is reloaded and the code that reloads must not contradict each other.
    #[test]
    fn a_running_server_changes_exactly_the_settings_that_are_reloaded() {
        let (running, read) = (settings(1), settings(2));
        let within = read.clone().within(&running);
        macro_rules! check {
            ($($field:ident),*) => { $(
                let key = stringify!($field).replace('_', "-");
                let key = if key == "base" { "bases".to_owned() } else { key };
                let setting = Program::Serve.settings().into_iter().find(|setting| setting.key == key).unwrap();
                let expected = if setting.is_reloaded { &read.$field } else { &running.$field };
                assert_eq!(&within.$field, expected, "{key}");
                assert_ne!(&read.$field, &running.$field, "{key}");
            )* };
        }
        check!(
            data_dir,
            data_key_file,
            base,
            base_source,
            base_keys,
            base_ca,
            base_max_gib,
            site_key,
            site_certificate,
            api_listen,
            api_token_file,
            api_clients,
            api_client_ca,
            api_requests_per_second,
            audit_log,
            audit_log_max_mib,
            api_tls_cert,
            api_tls_key,
            media_listen,
            media_url,
            media_tls_cert,
            media_tls_key,
            media_idle_seconds,
            media_connections_per_address,
            media_sendfile,
            bmc_credentials,
            bmc_network,
            bmc_ca,
            boots_at_once,
            boot_only_from,
            drain_seconds,
            log_format,
            log
        );
        let plain = Settings { media_tls_cert: None, media_tls_key: None, ..settings(2) };
        assert_eq!(plain.within(&running).media_tls_cert, running.media_tls_cert);
    }
}

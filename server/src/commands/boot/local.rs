//! A server in this process, with both planes, for as long as hosts boot.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use tempfile::TempDir;
use url::Url;

use crate::arguments::{BootArguments, Settings};
use crate::commands::bmc;
use crate::commands::boot_api::Api;
use crate::commands::client::{Client, Token};
use crate::commands::failure::Failure;
use crate::error_chain::chain;
use crate::services::{Config, Server};
use redfish::Credentials;

/// The name of the base.
pub(super) const BASE: &str = "base";
/// The name of the credentials from the command line.
const CREDENTIALS: &str = "given";

/// A server in this process, and its files.
pub(super) struct Local {
    pub(super) api: Api,
    /// The name of the credentials, if the command line has any.
    pub(super) credentials: Option<String>,
    server: Server,
    _directory: TempDir,
}

impl Local {
    pub(super) async fn start(arguments: &BootArguments) -> Result<Self, Failure> {
        let directory =
            tempfile::tempdir().map_err(|error| Failure::system("cannot make a temporary directory", &error))?;
        let given = bmc::given_credentials(&arguments.access)?;
        let kept = directory.path().join("credentials");
        if let Some(given) = &given {
            keep(given, &kept).map_err(|error| Failure::system("cannot write to the temporary directory", &error))?;
        }
        let base = format!("{BASE}={}", arguments.base).parse();
        let base = base.map_err(|error| Failure::System(format!("--base: {error}")))?;
        let serving = &arguments.serving;
        let settings = Settings {
            data_dir: Some(serving.data_dir.clone().unwrap_or_else(|| directory.path().join("data"))),
            base: vec![base],
            api_listen: Some(([127, 0, 0, 1], 0).into()),
            media_listen: serving.media_listen,
            media_url: serving.media_url.clone(),
            media_tls_cert: serving.media_tls_cert.clone(),
            media_tls_key: serving.media_tls_key.clone(),
            site_key: serving.site_key.clone(),
            site_certificate: serving.site_certificate.clone(),
            // There is nothing to drain when the hosts have booted.
            drain_seconds: Some(1),
            bmc_credentials: given.is_some().then_some(kept),
            bmc_network: arguments.access.bmc_network.clone(),
            bmc_ca: arguments.access.bmc_ca.clone(),
            ..Settings::default()
        };
        // Other users of this machine must not request boots with these credentials.
        let token = token()?;
        let mut config = Config::new(settings, Some(&token)).map_err(|error| Failure::System(chain(&error)))?;
        config.boots.has_api = false;
        let server = Server::start(config).await.map_err(|error| Failure::System(chain(&error)))?;
        let url = Url::parse(&format!("http://{}", server.api_address()))
            .map_err(|error| Failure::system("this server's address", &error))?;
        let token = Token::new(token, "this program".to_owned())?;
        let api = Api(Client::new(url, Some(token), reqwest::Client::builder().no_proxy())?);
        let credentials = given.map(|_| CREDENTIALS.to_owned());
        Ok(Self { api, credentials, server, _directory: directory })
    }

    pub(super) async fn stop(self) {
        self.server.stop().await;
    }
}

/// Writes credentials like a mounted Secret. Only its owner can use the temporary directory.
fn keep(credentials: &Credentials, directory: &Path) -> std::io::Result<()> {
    let directory = directory.join(CREDENTIALS);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    fs::write(directory.join("username"), &credentials.username)?;
    fs::write(directory.join("password"), credentials.password.reveal())
}

fn token() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Failure::System(format!("cannot get random numbers: {error}")))?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

//! The configuration of a server in the test's own process.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use acceptance::bases::coreos_iso;
use acceptance::bmc::target::{impatient, limits};
use dayone::arguments::Settings;
use dayone::boots::BootSettings;
use dayone::services::Config;

/// A server on loopback with one base, `coreos`. Without `addresses` of the API and of the media plane, the system chooses the ports.
pub(crate) fn config(directory: &Path, addresses: Option<(SocketAddr, SocketAddr)>) -> Config {
    let any: SocketAddr = ([127, 0, 0, 1], 0).into();
    let (api, media) = addresses.unwrap_or((any, any));
    let settings = Settings {
        data_dir: Some(directory.join("data")),
        base: vec![format!("coreos={}", coreos_iso(&[]).display()).parse().expect("a base")],
        api_listen: Some(api),
        media_listen: Some(media),
        ..Settings::default()
    };
    Config {
        media_idle: Duration::from_secs(10),
        boots: BootSettings { client: impatient(), limits: limits(), ..BootSettings::default() },
        drain: Duration::from_secs(1),
        ..Config::new(settings, None).expect("a configuration")
    }
}

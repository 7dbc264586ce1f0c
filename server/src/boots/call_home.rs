//! Call home: a script in the image reports to the server that the host's system is up.
//!
//! NetworkManager's dispatcher runs the script (`NetworkManager-dispatcher(8)`: in `/etc/NetworkManager/dispatcher.d`, owned by
//! root, writable only by root, not setuid). The call therefore proves that NetworkManager has read the keyfiles, and that the
//! host reaches this server.

use std::collections::BTreeSet;

use hosts::network::NetworkFiles;
use imagelib::base::{Base, Format};
use imagelib::ignition::{AbsolutePath, AdditionsError, ExtraFile, FileMode};
use imagelib::recipe::{Recipe, RecipeId};
use media::{MediaToken, MediaUrl};
use url::{Host, Position, Url};

use super::evidence::Evidence;
use super::record::{BootRecord, BootState};
use super::shared::Shared;
use super::step::{Step, StepState};
use crate::store::Store;

/// The path of the script, in every system that has NetworkManager.
const PATH: &str = "/etc/NetworkManager/dispatcher.d/90-dayone-call-home";
const SCRIPT: &str = include_str!("call_home.sh");

/// Why a host cannot be made to call home.
#[derive(Debug, thiserror::Error)]
pub enum CallHomeError {
    /// The URL is not safe in a shell script.
    #[error(
        "the media URL {0} has characters that are not safe in a shell script; use an IP address, or a plain host name"
    )]
    Url(String),
    /// A mistake in dayone.
    #[error(transparent)]
    File(#[from] AdditionsError),
}

/// Adds the script to a recipe, and returns the token with which the host calls home. Returns `None` if the image's system has
/// no NetworkManager to run it. The same recipe gives the same token, so the same boot has the same image.
pub fn add(
    recipe: &mut Recipe,
    base: &Base,
    store: &Store,
    media_url: &MediaUrl,
) -> Result<Option<MediaToken>, CallHomeError> {
    let profile = recipe.delivery.unwrap_or_else(|| base.profile());
    let runs = recipe.format != Format::Data && profile.network_files() == NetworkFiles::Keyfiles;
    if !runs {
        return Ok(None);
    }
    remove(recipe);
    let token = store.call_home_token(&recipe.id());
    recipe.additions.files.push(script(&media_url.call_home(&token.as_str()))?);
    Ok(Some(token))
}

/// The token with which the host of an image calls home, if its recipe has the script. The script says which: it may be from before
/// a rotation of the installation key.
pub fn token(recipe: &Recipe) -> Option<MediaToken> {
    let script = recipe.additions.files.iter().find(|file| file.path.as_str() == PATH)?;
    let path = script.contents.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"path='"))?;
    let path = std::str::from_utf8(path).ok()?.strip_suffix('\'')?;
    path.rsplit('/').next()?.parse().ok()
}

impl Shared {
    /// Answers the hosts whose calls are in the records. One that called right before the server died has no answer, and calls again.
    pub(super) fn answer_recorded_calls(&self, records: &[BootRecord]) {
        // The call of another host that boots from the same image must not be taken for one that is recorded.
        let is_open = |record: &&BootRecord| matches!(record.state, BootState::Queued | BootState::Running);
        let open: BTreeSet<RecipeId> = records.iter().filter(is_open).map(|record| record.image).collect();
        for record in records.iter().filter(|record| has_called(record) && !open.contains(&record.image)) {
            if let Some(token) = self.store.image(&record.image).and_then(|image| token(image.recipe().ok()?.recipe()))
            {
                self.call_homes.recorded(token);
            }
        }
    }
}

/// Whether a boot waited for the call of its host, and is not waiting any more because the host has booted.
fn has_called(record: &BootRecord) -> bool {
    let booted = record.step(Step::Booted).is_some_and(|step| step.state == StepState::Done);
    booted && record.options.wait_for.contains(&Evidence::CallHome)
}

fn remove(recipe: &mut Recipe) -> bool {
    let files = &mut recipe.additions.files;
    let before = files.len();
    files.retain(|file| file.path.as_str() != PATH);
    files.len() < before
}

/// Makes the script that requests `url`.
pub fn script(url: &str) -> Result<ExtraFile, CallHomeError> {
    let refused = || CallHomeError::Url(url.rsplit_once('/').map_or(url, |(base, _)| base).to_owned());
    let parsed: Url = url.parse().map_err(|_| refused())?;
    let host = match parsed.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => address.to_string(),
        None => return Err(refused()),
    };
    let port = parsed.port_or_known_default().ok_or_else(refused)?;
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/.:[]_-".contains(&b));
    if !plain(parsed.as_str()) {
        return Err(refused());
    }
    let contents = SCRIPT
        .replace("@URL@", parsed.as_str())
        .replace("@HOST@", &host)
        .replace("@PORT@", &port.to_string())
        .replace("@AUTHORITY@", &parsed[Position::BeforeHost..Position::AfterPort])
        .replace("@PATH@", parsed.path());
    let (path, mode): (AbsolutePath, _) = (PATH.parse()?, FileMode::try_from(0o755)?);
    Ok(ExtraFile { path, mode, user: 0, group: 0, contents: contents.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(url: &str) -> String {
        String::from_utf8(script(url).unwrap().contents.to_vec()).unwrap()
    }

    #[test]
    fn the_script_has_its_path_its_mode_and_all_parts_of_its_url() {
        let file = script("http://192.0.2.1:8081/h/abc").unwrap();
        assert_eq!((file.path.as_str(), file.mode.to_string().as_str()), (PATH, "0755"));
        assert_eq!((file.user, file.group), (0, 0));
        for (url, lines) in [
            ("http://192.0.2.1:8081/h/abc", ["host='192.0.2.1'", "port='8081'", "authority='192.0.2.1:8081'"]),
            (
                "http://[2001:db8::1]:8081/h/abc",
                ["host='2001:db8::1'", "port='8081'", "authority='[2001:db8::1]:8081'"],
            ),
            (
                "https://boot.example.com/h/abc",
                ["host='boot.example.com'", "port='443'", "authority='boot.example.com'"],
            ),
        ] {
            let text = text(url);
            let own = format!("url='{url}'");
            for line in lines.into_iter().chain(["path='/h/abc'", &own]) {
                assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
            }
            assert!(!text.contains('@'), "{text}");
        }
    }

    #[test]
    fn urls_that_are_not_safe_in_a_shell_are_refused() {
        for bad in ["http://a'$(reboot)'b/h/abc", "http://a$b/h/abc", "nothing", "data:x"] {
            assert!(script(bad).is_err(), "{bad}");
        }
        assert!(!script("http://a'b/h/secret").unwrap_err().to_string().contains("secret"));
    }
}

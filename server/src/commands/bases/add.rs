//! `dayone base add`.

use std::collections::BTreeMap;
use std::time::Duration;

use redfish::Verification;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;

use super::order::sources;
use super::progress::Display;
use super::stream;
use crate::arguments::{BaseAddArguments, OutputFormat};
use crate::commands::client::{ApiError, Client, read};
use crate::commands::failure::{Failure, block_on};
use crate::commands::following::Retries;
use crate::commands::terminal;

/// How often the command asks for the progress.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long the server may take for one answer.
const MAX_ANSWER: Duration = Duration::from_mins(1);

/// The members of a base that the command uses.
#[derive(Deserialize)]
struct Base {
    state: String,
    reason: Option<String>,
    identity: Option<String>,
    version: Option<u64>,
    #[serde(default)]
    files: BTreeMap<String, File>,
    fetch: Option<Fetch>,
}

#[derive(Deserialize)]
struct File {
    sha256: String,
}

#[derive(Deserialize)]
struct Fetch {
    state: String,
    /// The version that the base will have.
    version: u64,
    bytes: u64,
    total: Option<u64>,
    error: Option<String>,
}

pub(super) fn run(arguments: &BaseAddArguments) -> Result<(), Failure> {
    let client = Client::of_server(arguments.url.as_ref(), &arguments.access)?;
    let (base, json) = block_on(add(&client, arguments))??;
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&json),
        OutputFormat::Text => {
            let name = &arguments.name;
            let text = match (&base.identity, &base.fetch) {
                (_, Some(_)) => format!("the server fetches the base '{name}'\n"),
                (Some(identity), None) => format!("the base '{name}' is available (identity {identity})\n"),
                (None, None) => format!("the base '{name}' is {}\n", base.state),
            };
            terminal::print(&text)
        }
    }
}

async fn add(client: &Client, arguments: &BaseAddArguments) -> Result<(Base, Value), Failure> {
    let order = order(arguments).await?;
    let request = client.post(client.path(&["v1", "bases"])).timeout(MAX_ANSWER).json(&order);
    let mut json: Value = read(client.send(request).await?).await?;
    let awaited = parse(&json)?.fetch.map(|fetch| fetch.version);
    let mut was_verified = false;
    let mut display = Display::new(false);
    let path = client.path(&["v1", "bases", arguments.name.as_str()]);
    let outcome = loop {
        let mut base = parse(&json)?;
        // A fetch of another version belongs to another request, which replaced this one or came after it.
        base.fetch = base.fetch.filter(|fetch| Some(fetch.version) == awaited);
        let Some(fetch) = &base.fetch else {
            let is_ours = awaited.is_none_or(|version| base.is_of(version, &order, was_verified));
            break if is_ours { Ok(base) } else { Err(replaced(arguments)) };
        };
        was_verified = fetch.state == "verifying";
        if fetch.state == "failed" {
            break Err(Failure::Input(format!(
                "the server cannot fetch the base: {}",
                fetch.error.as_deref().unwrap_or("the server's log says why")
            )));
        }
        if arguments.no_wait {
            break Ok(base);
        }
        display.show(&fetch.state, fetch.bytes, fetch.total, fetch.error.as_deref());
        tokio::time::sleep(INTERVAL).await;
        json = match shown(client, &path, fetch, &mut display).await {
            Ok(json) => json,
            Err(ApiError::Missing) => break Err(Failure::Input("somebody has removed the base meanwhile".to_owned())),
            Err(error) => break Err(error.into()),
        };
    };
    display.finish();
    let base = outcome?;
    match &base.reason {
        Some(reason) if base.fetch.is_none() => Err(Failure::Input(format!("the base is not available: {reason}"))),
        _ => Ok((base, json)),
    }
}

/// Reads the base. If the server does not answer, tries again for a while: it may be restarting, and continues then.
async fn shown(client: &Client, path: &Url, fetch: &Fetch, display: &mut Display) -> Result<Value, ApiError> {
    let mut retries = Retries::default();
    loop {
        let answer = match client.send(client.get(path.clone()).timeout(MAX_ANSWER)).await {
            Ok(answer) => read(answer).await,
            Err(error) => Err(error),
        };
        let error = match answer {
            Ok(json) => return Ok(json),
            Err(error) => error,
        };
        if matches!(error, ApiError::Unreachable(_) | ApiError::Busy { .. }) {
            display.show(&fetch.state, fetch.bytes, fetch.total, Some(&error.to_string()));
        }
        retries.wait(Some(error)).await?;
    }
}

fn replaced(arguments: &BaseAddArguments) -> Failure {
    Failure::Input(format!(
        "the base '{}' does not have the files of this command: somebody has stopped this fetch, or has ordered another base of \
         this name",
        arguments.name
    ))
}

impl Base {
    /// Whether the base has this version, or the files of the order: the server keeps an older version that has the same files. It does so
    /// only after it has verified the new files. For a file without a digest in the order, there is no other evidence.
    fn is_of(&self, version: u64, order: &Value, was_verified: bool) -> bool {
        if self.version == Some(version) {
            return true;
        }
        let members = order.as_object().into_iter().flatten();
        let sources = members.filter(|(word, _)| !matches!(word.as_str(), "name" | "profile"));
        let sources: Vec<(&String, &Value)> = sources.collect();
        let has = |(role, source): &(&String, &Value)| match source.get("sha256").and_then(Value::as_str) {
            Some(wanted) => self.files.get(*role).is_some_and(|file| file.sha256 == wanted),
            None => was_verified,
        };
        self.files.len() == sources.len() && sources.iter().all(has)
    }
}

fn parse(json: &Value) -> Result<Base, Failure> {
    Ok(Base::deserialize(json).map_err(ApiError::from)?)
}

async fn order(arguments: &BaseAddArguments) -> Result<Value, Failure> {
    let mut order = Map::from_iter([("name".to_owned(), json!(arguments.name))]);
    if let Some(profile) = arguments.profile {
        order.insert("profile".to_owned(), json!(profile));
    }
    let mut insert = |word: &str, source: &crate::store::BaseSource| {
        let json =
            serde_json::to_value(source).map_err(|error| Failure::system("cannot describe the source", &error))?;
        order.insert(word.to_owned(), json);
        Ok::<_, Failure>(())
    };
    match (&arguments.source, stream::release(&arguments.stream, &Verification::System).await?) {
        (_, Some(release)) => {
            terminal::remark(&format!("the newest release is {}\n", terminal::plain(&release.version)));
            insert("iso", &release.iso)?;
        }
        (Some(text), None) => {
            for (role, source) in sources(text, &arguments.proof)? {
                insert(role.word(), &source)?;
            }
        }
        (None, None) => return Err(Failure::System("give a source, or --stream".to_owned())),
    }
    Ok(Value::Object(order))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(version: u64, files: &Value) -> Base {
        parse(&json!({"state": "available", "identity": "1f", "version": version, "files": files})).unwrap()
    }

    #[test]
    fn a_base_is_that_of_the_order_by_its_version_or_by_its_files() {
        let files = json!({"kernel": {"size": 1, "sha256": "aa"}, "initrd": {"size": 1, "sha256": "bb"}});
        let order =
            |kernel: &str| json!({"name": "x", "kernel": {"url": "u", "sha256": kernel}, "initrd": {"path": "/i"}});
        assert!(base(2, &files).is_of(2, &order("cc"), false), "it has arrived");
        assert!(base(1, &files).is_of(2, &order("aa"), true), "the same files were there");
        assert!(!base(1, &files).is_of(2, &order("cc"), true), "other files");
        assert!(!base(1, &files).is_of(2, &order("aa"), false), "a file without a digest had not arrived");
        assert!(!base(1, &json!({"kernel": {"sha256": "aa"}})).is_of(2, &order("aa"), true), "one file is missing");
    }
}

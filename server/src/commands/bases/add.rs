//! `dayone base add`.

use std::time::Duration;

use redfish::Verification;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::order::sources;
use super::progress::Display;
use super::stream;
use crate::arguments::{BaseAddArguments, OutputFormat};
use crate::commands::client::{ApiError, Client, read};
use crate::commands::failure::{Failure, block_on};
use crate::commands::terminal;

/// How often the command asks for the progress.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long the server may take for one answer.
const MAX_ANSWER: Duration = Duration::from_mins(1);

/// The members of a base that the command shows.
#[derive(Deserialize)]
struct Base {
    state: String,
    reason: Option<String>,
    identity: Option<String>,
    fetch: Option<Fetch>,
}

#[derive(Deserialize)]
struct Fetch {
    state: String,
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
    let mut display = Display::new(false);
    let path = client.path(&["v1", "bases", arguments.name.as_str()]);
    let outcome = loop {
        let base = parse(&json)?;
        let Some(fetch) = &base.fetch else { break Ok(base) };
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
        json = match client.send(client.get(path.clone()).timeout(MAX_ANSWER)).await {
            Ok(answer) => read(answer).await?,
            // The server may be restarting. It continues then.
            Err(ApiError::Unreachable(why) | ApiError::Busy { detail: why, .. }) => {
                display.show(&fetch.state, fetch.bytes, fetch.total, Some(&why));
                continue;
            }
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

fn parse(json: &Value) -> Result<Base, Failure> {
    Base::deserialize(json).map_err(|error| Failure::system("the server's answer is not valid", &error))
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

//! `dayone base list`.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::BinaryBytes;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{BaseListArguments, ListFormat};
use crate::commands::client::{ApiError, Client, read};
use crate::commands::failure::{Failure, block_on};
use crate::commands::table::columns;
use crate::commands::terminal;

/// How long the server may take for the answer.
const MAX_ANSWER: Duration = Duration::from_mins(1);

#[derive(Deserialize)]
struct List {
    bases: Vec<Value>,
}

/// The members of a base that the command shows.
#[derive(Deserialize)]
struct Base {
    name: String,
    state: String,
    kind: Option<String>,
    identity: Option<String>,
    origin: Option<String>,
    #[serde(default)]
    images: usize,
    #[serde(default)]
    files: BTreeMap<String, File>,
    #[serde(default)]
    replaced: Vec<Replaced>,
    fetch: Option<Fetch>,
}

#[derive(Deserialize)]
struct File {
    size: u64,
}

#[derive(Deserialize)]
struct Replaced {
    identity: String,
    images: usize,
}

#[derive(Deserialize)]
struct Fetch {
    state: String,
    bytes: u64,
    total: Option<u64>,
}

pub(super) fn run(arguments: &BaseListArguments) -> Result<(), Failure> {
    let client = Client::of_server(arguments.url.as_ref(), &arguments.access)?;
    let list: List = block_on(async {
        let request = client.get(client.path(&["v1", "bases"])).timeout(MAX_ANSWER);
        read(client.send(request).await?).await
    })?
    .map_err(|error: ApiError| Failure::from(error))?;
    if arguments.format == ListFormat::Json {
        return terminal::print_json(&list.bases);
    }
    let bases = list.bases.iter().map(Base::deserialize).collect::<Result<Vec<Base>, _>>().map_err(ApiError::from)?;
    match arguments.format {
        ListFormat::Csv => {
            let text = csv(&bases).map_err(|error| Failure::system("cannot write the list", &error))?;
            terminal::print(&text)
        }
        _ => terminal::print(&table(&bases)),
    }
}

fn table(bases: &[Base]) -> String {
    let mut rows = Vec::new();
    for base in bases {
        let size: u64 = base.files.values().map(|file| file.size).sum();
        let size = if size == 0 { "-".to_owned() } else { BinaryBytes(size).to_string() };
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        rows.push(vec![
            base.name.clone(),
            state(base),
            or_dash(&base.kind),
            size,
            base.images.to_string(),
            or_dash(&base.origin),
            short(base.identity.as_deref()),
        ]);
        for earlier in &base.replaced {
            let (images, identity) = (earlier.images.to_string(), short(Some(&earlier.identity)));
            rows.push(vec![
                base.name.clone(),
                "replaced".to_owned(),
                "-".to_owned(),
                "-".to_owned(),
                images,
                "added".to_owned(),
                identity,
            ]);
        }
    }
    columns(&["NAME", "STATE", "KIND", "SIZE", "IMAGES", "ORIGIN", "IDENTITY"], &rows)
}

fn state(base: &Base) -> String {
    let Some(fetch) = &base.fetch else { return base.state.clone() };
    let percent = fetch.total.filter(|total| *total > 0).map(|total| fetch.bytes.saturating_mul(100) / total);
    let fetching = match percent {
        Some(percent) if fetch.state == "fetching" => format!("{} {percent} %", fetch.state),
        _ => fetch.state.clone(),
    };
    if base.state == "available" { format!("available, next {fetching}") } else { fetching }
}

/// The beginning of an identity, which tells versions apart.
fn short(identity: Option<&str>) -> String {
    identity.map_or_else(|| "-".to_owned(), |identity| identity.chars().take(12).collect())
}

fn csv(bases: &[Base]) -> Result<String, csv::Error> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(["name", "state", "kind", "bytes", "images", "origin", "identity"])?;
    for base in bases {
        let size: u64 = base.files.values().map(|file| file.size).sum();
        let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
        let (kind, origin, identity) = (or_empty(&base.kind), or_empty(&base.origin), or_empty(&base.identity));
        writer.write_record([
            &base.name,
            &base.state,
            &kind,
            &size.to_string(),
            &base.images.to_string(),
            &origin,
            &identity,
        ])?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

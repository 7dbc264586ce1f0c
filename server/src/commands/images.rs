//! `dayone images`: lists the images of a server, each with its host and its URL.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::client::{ApiError, Client, read};
use super::failure::{Failure, block_on};
use super::table::columns;
use super::terminal;
use crate::arguments::{ImagesCommandArguments, ListFormat};

/// How long the server may take for one answer.
const MAX_ANSWER: Duration = Duration::from_mins(1);
/// How many images to ask for at a time. Lists do not have URLs, because these are credentials.
const AT_ONCE: usize = 8;
/// How many images to list at a time.
const PAGE: &str = "1000";

/// A page of the list.
#[derive(Deserialize)]
struct Page {
    images: Vec<Listed>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}

/// The members of an image that the command shows.
#[derive(Deserialize)]
struct Image {
    id: String,
    label: Option<String>,
    base: Option<String>,
    format: String,
    created: String,
    url: Option<String>,
    reason: Option<String>,
}

pub(super) fn run(arguments: &ImagesCommandArguments) -> Result<(), Failure> {
    let client = Client::of_server(arguments.url.as_ref(), &arguments.access)?;
    let mut images = block_on(all(&client, arguments.host.as_deref()))??;
    images.sort_by(|(a, _), (b, _)| (&a.label, &a.created, &a.id).cmp(&(&b.label, &b.created, &b.id)));
    match arguments.format {
        ListFormat::Table => terminal::print(&table(&images)),
        ListFormat::Csv => {
            let text = csv(&images).map_err(|error| Failure::system("cannot write the list", &error))?;
            terminal::print(&text)
        }
        ListFormat::Json => terminal::print_json(&images.iter().map(|(_, json)| json).collect::<Vec<_>>()),
    }
}

/// Returns all images, each also as the server's JSON.
async fn all(client: &Client, host: Option<&str>) -> Result<Vec<(Image, Value)>, ApiError> {
    let mut ids = Vec::new();
    let mut next = None;
    loop {
        let mut list = client.path(&["v1", "images"]);
        list.query_pairs_mut().append_pair("limit", PAGE);
        for (name, value) in [("host", host), ("after", next.as_deref())] {
            if let Some(value) = value {
                list.query_pairs_mut().append_pair(name, value);
            }
        }
        let page: Page = read(client.send(client.get(list).timeout(MAX_ANSWER)).await?).await?;
        ids.extend(page.images.into_iter().map(|image| image.id));
        match page.next {
            Some(after) => next = Some(after),
            None => break,
        }
    }
    let images = stream::iter(ids).map(|id| image(client, client.path(&["v1", "images", &id]))).buffered(AT_ONCE);
    let images: Vec<Option<(Image, Value)>> = images.try_collect().await?;
    Ok(images.into_iter().flatten().collect())
}

/// Returns an image, unless somebody has deleted it meanwhile.
async fn image(client: &Client, path: Url) -> Result<Option<(Image, Value)>, ApiError> {
    let answer = match client.send(client.get(path).timeout(MAX_ANSWER)).await {
        Err(ApiError::Missing) => return Ok(None),
        answer => answer?,
    };
    let json: Value = read(answer).await?;
    let image = Image::deserialize(&json)?;
    Ok(Some((image, json)))
}

fn table(images: &[(Image, Value)]) -> String {
    let row = |(image, _): &(Image, Value)| {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let url = image.url.clone().or_else(|| Some(format!("not available: {}", image.reason.as_deref()?)));
        vec![text(&image.label), image.format.clone(), text(&image.base), text(&url)]
    };
    columns(&["HOST", "FORMAT", "BASE", "URL"], &images.iter().map(row).collect::<Vec<_>>())
}

fn csv(images: &[(Image, Value)]) -> Result<String, csv::Error> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(["host", "id", "base", "format", "created", "url"])?;
    for (Image { id, label, base, format, created, url, .. }, _) in images {
        let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
        writer.write_record([&or_empty(label), id, &or_empty(base), format, created, &or_empty(url)])?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

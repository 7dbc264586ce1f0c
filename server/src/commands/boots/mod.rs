//! `dayone boots`: the boots of a server.

mod bars;
mod list;
mod remove;
mod show;
mod watch;

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::boot_api::Api;
use super::client::{ApiError, Client, read};
use super::failure::Failure;
use crate::arguments::{BootsCommand, BootsServer};
use crate::boots::BootId;

/// How long the server may take for one answer.
const MAX_ANSWER: Duration = Duration::from_mins(1);
/// How many boots to list at a time.
const PAGE: &str = "1000";

pub(super) fn run(command: &BootsCommand) -> Result<(), Failure> {
    match command {
        BootsCommand::Watch(arguments) => watch::run(arguments),
        BootsCommand::List(arguments) => list::run(arguments),
        BootsCommand::Show(arguments) => show::run(arguments),
        BootsCommand::Rm(arguments) => remove::run(arguments),
    }
}

fn api(server: &BootsServer) -> Result<Api, Failure> {
    Client::of_server(server.url.as_ref(), &server.access).map(Api)
}

/// A page of the list.
#[derive(Deserialize)]
struct Page {
    boots: Vec<Value>,
    next: Option<String>,
}

/// Returns all boots that match the parameters, in the order of their requests.
pub(super) async fn all(api: &Api, parameters: &[(&str, String)]) -> Result<Vec<Value>, ApiError> {
    let client = &api.0;
    let (mut boots, mut next) = (Vec::new(), None::<String>);
    loop {
        let mut list = client.path(&["v1", "boots"]);
        list.query_pairs_mut().append_pair("limit", PAGE).extend_pairs(parameters);
        if let Some(after) = &next {
            list.query_pairs_mut().append_pair("after", after);
        }
        let page: Page = read(client.send(client.get(list).timeout(MAX_ANSWER)).await?).await?;
        boots.extend(page.boots);
        match page.next {
            Some(after) => next = Some(after),
            None => return Ok(boots),
        }
    }
}

/// Returns the id of the boot with this id, or of the last boot of the host with this name.
async fn find(api: &Api, named: &str) -> Result<String, Failure> {
    let boots = all(api, &[("host", named.to_owned())]).await?;
    if let Some(id) = boots.last().and_then(|boot| boot.get("id")?.as_str()) {
        return Ok(id.to_owned());
    }
    match named.parse::<BootId>() {
        Ok(id) => Ok(id.to_string()),
        Err(_) => Err(Failure::Input(format!("the server has no boot of a host {named:?}"))),
    }
}

/// Names the boot in the failure to find it.
fn missing(named: &str) -> impl Fn(ApiError) -> Failure {
    move |error| match error {
        ApiError::Missing => {
            Failure::Input(format!("the server has no boot {named:?}: it never began, or it was deleted"))
        }
        error => error.into(),
    }
}

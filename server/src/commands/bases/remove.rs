//! `dayone base rm`.

use std::time::Duration;

use crate::arguments::BaseRmArguments;
use crate::commands::client::{ApiError, Client};
use crate::commands::failure::{Failure, block_on};
use crate::commands::terminal;

/// How long the server may take: it ends a running fetch first.
const MAX_ANSWER: Duration = Duration::from_mins(1);

pub(super) fn run(arguments: &BaseRmArguments) -> Result<(), Failure> {
    let client = Client::of_server(arguments.url.as_ref(), &arguments.access)?;
    let name = arguments.name.as_str();
    let segments: &[&str] = if arguments.fetch_only { &["v1", "bases", name, "fetch"] } else { &["v1", "bases", name] };
    let request = client.delete(client.path(segments)).timeout(MAX_ANSWER);
    match block_on(client.send(request))? {
        Ok(_) if arguments.fetch_only => terminal::print(&format!("the server no longer fetches the base '{name}'\n")),
        Ok(_) => terminal::print(&format!("the base '{name}' is removed\n")),
        Err(ApiError::Missing) if arguments.fetch_only => {
            Err(Failure::Input(format!("the server does not fetch a base '{name}'")))
        }
        Err(ApiError::Missing) => Err(Failure::Input(format!("the server has no base '{name}'"))),
        Err(error) => Err(error.into()),
    }
}

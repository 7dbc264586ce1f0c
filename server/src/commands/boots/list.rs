//! `dayone boots list`

use serde::Deserialize as _;
use serde_json::Value;

use super::{all, api};
use crate::arguments::{BootsListArguments, ListFormat};
use crate::commands::boot::summary;
use crate::commands::boot_api::Boot;
use crate::commands::client::ApiError;
use crate::commands::failure::{Failure, block_on};
use crate::commands::table::columns;
use crate::commands::terminal;
use crate::natural_order::natural_key;

pub(super) fn run(arguments: &BootsListArguments) -> Result<(), Failure> {
    let api = api(&arguments.server)?;
    let mut parameters = Vec::new();
    parameters.extend(arguments.host.clone().map(|host| ("host", host)));
    parameters.extend(arguments.state.iter().map(|state| ("state", state.to_string())));
    parameters.extend(arguments.ended.map(|ended| ("ended", ended.to_string())));
    let boots = block_on(all(&api, &parameters))??;
    let boot = |json| Boot::deserialize(&json).map(|boot| (boot, json));
    let boots = boots.into_iter().map(boot).collect::<Result<Vec<(Boot, Value)>, _>>();
    let mut boots = boots.map_err(ApiError::from)?;
    boots.sort_by_cached_key(|(boot, _)| (natural_key(boot.name()), boot.id.clone()));
    match arguments.format {
        ListFormat::Table => terminal::print(&table(&boots)),
        ListFormat::Csv => {
            let text = csv(&boots).map_err(|error| Failure::system("cannot write the list", &error))?;
            terminal::print(&text)
        }
        ListFormat::Json => terminal::print_json(&boots.iter().map(|(_, json)| json).collect::<Vec<_>>()),
    }
}

fn table(boots: &[(Boot, Value)]) -> String {
    let row = |(boot, _): &(Boot, Value)| {
        vec![boot.name().to_owned(), boot.id.clone(), boot.created.clone(), boot.state.clone(), summary::now(boot)]
    };
    columns(&["HOST", "ID", "BEGUN", "STATE", "NOW"], &boots.iter().map(row).collect::<Vec<_>>())
}

fn csv(boots: &[(Boot, Value)]) -> Result<String, csv::Error> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(["host", "id", "created", "state", "ended", "inserted", "bmc", "image", "now"])?;
    for (boot, _) in boots {
        let [ended, inserted] = [boot.ended, boot.inserted].map(|is| is.to_string());
        let host = boot.host.as_deref().unwrap_or_default();
        let record = [host, &boot.id, &boot.created, &boot.state, &ended, &inserted, &boot.bmc.address, &boot.image];
        writer.write_record(record.into_iter().chain([summary::now(boot).as_str()]))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

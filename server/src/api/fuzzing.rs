//! Ways for the fuzz targets in `fuzz/` to readers that only the API sees. Each calls the reader itself, and has no logic of its own.

use vocabulary::report::LineColumn;

use super::bases::order::BaseOrder;
use super::boots::order::{BootOrder, Source};
use super::clients::client_file;
use super::images::Order;
use super::json;
use super::problem::Problem;
use super::request::DocumentRequest as _;

/// Reads a request for an image. Returns what `Debug` shows of the parts that may hold secrets.
pub fn image_order(json: &[u8]) -> Result<String, Problem> {
    Order::from_json(json).map(|order| shown(&order))
}

/// Reads a request for boots. Returns what `Debug` shows of the parts that may hold secrets.
pub fn boot_order(json: &[u8]) -> Result<String, Problem> {
    BootOrder::from_json(json).map(|order| match order.source {
        Source::Order(order) => shown(&order),
        Source::Image { id, .. } => id.to_string(),
    })
}

fn shown(order: &Order) -> String {
    let Order { request, ignition, limits, .. } = order;
    let additions = (&request.files, &request.units, &request.answers);
    format!("{:?}", (ignition, limits, additions, &request.data, &request.kernel_arguments, &request.rootfs_url))
}

/// Reads a base to add. Returns what `Debug` shows of it, and its record.
pub fn base_order(json: &[u8]) -> Result<(String, Vec<u8>), Problem> {
    let order: BaseOrder = json::read(json)?;
    let shown = format!("{order:?}");
    let record = order.into_record().to_json().map_err(Problem::internal)?;
    Ok((shown, record))
}

/// Reads a file of the API's clients. Returns their names, or what is wrong and where.
pub fn client_names(text: &str) -> Result<Vec<String>, (LineColumn, String)> {
    match client_file::parse(text) {
        Ok(clients) => Ok(clients.into_iter().map(|client| client.name.to_string()).collect()),
        Err((at, mistake)) => Err((at, mistake.to_string())),
    }
}

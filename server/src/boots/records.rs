//! Reading the records of boots at start. Nothing that is found there keeps the server from starting.

use std::io;

use tracing::{error, warn};

use super::record::BootRecord;
use crate::store::Store;

/// All boots that are recorded. What is no record is set aside, and said.
pub(super) fn load(store: &Store) -> io::Result<Vec<BootRecord>> {
    let mut records = Vec::new();
    for (name, read) in store.read_boots()? {
        let parsed = match read {
            Ok(json) => BootRecord::from_json(&json, &name),
            Err(failure) => {
                error!(boot = name, error = %failure, "the record of a boot cannot be read; its BMC may have a medium");
                continue;
            }
        };
        match parsed {
            Ok(record) => records.push(record),
            Err(reason) => match store.set_boot_aside(&name) {
                Ok(to) => warn!(
                    boot = name, error = %reason, to = %to.display(),
                    "a record of a boot that this version cannot read was set aside; its BMC may have a medium"
                ),
                Err(failure) => warn!(boot = name, error = %reason, %failure, "a damaged record of a boot left alone"),
            },
        }
    }
    records.sort_unstable_by_key(|record| record.id);
    Ok(records)
}

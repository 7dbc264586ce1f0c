//! Reads the records of boots at the start. The server starts whatever it finds.

use std::io;

use tracing::{error, warn};

use super::record::BootRecord;
use crate::store::{BootFile, Store};

/// The records that were found.
#[derive(Default)]
pub(super) struct Records {
    /// In the order of their ids.
    pub(super) found: Vec<BootRecord>,
    /// The names of the boots whose records cannot be read, and may be readable later.
    pub(super) unreadable: Vec<String>,
}

/// Reads all records. Sets those that are not valid aside, and logs that.
pub(super) fn load(store: &Store) -> io::Result<Records> {
    let mut records = Records::default();
    for (name, read) in store.read_boots()? {
        let parsed = match read {
            Ok(BootFile::Record(json)) => BootRecord::from_json(&json, &name).map_err(|error| error.to_string()),
            Ok(BootFile::Changed(error)) => Err(error.to_string()),
            Err(failure) => {
                error!(boot = name, error = %failure, "cannot read the record of a boot; its BMC may still have the medium");
                records.unreadable.push(name);
                continue;
            }
        };
        match parsed {
            Ok(record) => records.found.push(record),
            Err(reason) => match store.set_boot_aside(&name) {
                Ok(to) => warn!(
                    boot = name, error = reason, to = %to.display(),
                    "set a record aside that this version of dayone cannot read; the BMC of the boot may still have the medium"
                ),
                Err(failure) => {
                    warn!(boot = name, error = reason, %failure, "cannot set a damaged record of a boot aside");
                }
            },
        }
    }
    records.found.sort_unstable_by_key(|record| record.id);
    Ok(records)
}

//! From the arguments to what is on a data image.

use imagelib::base::Format;
use imagelib::recipe::{DataDrive, DriveFile};

use crate::arguments::{BuildArguments, DataArguments};
use crate::commands::customisation::read;
use crate::commands::failure::Failure;

/// What is made. A data image has no base and may do without a host; every other image needs both.
pub(super) fn format(arguments: &BuildArguments) -> Result<Format, Failure> {
    let BuildArguments { format, data, base, host, .. } = arguments;
    let complaint = match (format, data.kind, base) {
        (Some(Format::Data), None, _) => {
            "say whom the drive is for: --data config-2, --data cidata or --data combustion"
        }
        (None | Some(Format::Data), Some(_), Some(_)) => "a data image has no base; leave --base out",
        (None | Some(Format::Data), Some(_), None) if data.network_data.is_some() && !host.is_empty() => {
            "the network is given twice; leave out --host or --network-data"
        }
        (None | Some(Format::Data), Some(_), None) => return Ok(Format::Data),
        (Some(_), Some(_), _) => "--data is for the format data only; leave out --data or --format",
        (_, None, None) => "name the image to customise: --base BASE",
        (_, None, Some(_)) if host.is_empty() => "name the documents that describe the host: --host FILE",
        (wanted, None, Some(_)) => return Ok(wanted.unwrap_or(Format::Iso)),
    };
    Err(Failure::System(complaint.to_owned()))
}

/// What the arguments put onto a data image.
pub(super) fn drive(arguments: &DataArguments) -> Result<Option<DataDrive>, Failure> {
    let Some(kind) = arguments.kind else { return Ok(None) };
    let content = |path: &Option<_>| path.as_deref().map(|path| read(path).map(DriveFile::from)).transpose();
    Ok(Some(DataDrive {
        network_data: content(&arguments.network_data)?,
        meta_data: content(&arguments.meta_data)?,
        user_data: content(&arguments.user_data)?,
        vendor_data: content(&arguments.vendor_data)?,
        publisher: arguments.publisher.clone(),
        ..DataDrive::new(kind, arguments.file_system.unwrap_or_default())
    }))
}

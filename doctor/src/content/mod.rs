//! Examines the file: whether firmware can start it as a CD-ROM and as a disk.

mod source;

use std::fmt::Display;
use std::sync::Arc;

use imagelib::base::{CUT_OFF_BY_CD_EMULATION, DiskTable};
use imagelib::disk::check_complete;
use imagelib::disk::gpt::Gpt;
use imagelib::disk::mbr::Mbr;
use imagelib::iso::el_torito::{self, Platform};
use imagelib::iso::{IsoError, Volume};
use imagelib::source::Source as _;

use self::source::RangeSource;
use super::context::{BLOCK, Context};
use super::finding::{Finding, Reader};
use super::http::RequestError;

/// Labels of drives that contain only a configuration, and do not boot.
const DATA_DRIVES: [&str; 3] = ["config-2", "cidata", "combustion"];

/// How the file begins by which an operator tests the way to a dayone server. It is no image, and need not boot.
const PROBE: &[u8] = b"dayone probe\n";

/// Examines the size and the content.
pub(super) async fn examine(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let Some(size) = context.size else { return Ok(()) };
    findings.extend(size_of(size));
    let handle = tokio::runtime::Handle::current();
    let source = RangeSource::new(Arc::clone(context), size, handle);
    let examined = tokio::task::spawn_blocking(move || image(&source)).await;
    findings.extend(examined.unwrap_or_else(|error| {
        vec![Finding::warning(
            "content-not-read",
            &[Reader::Everyone],
            format!("the doctor could not read the content: {error}"),
        )]
    }));
    Ok(())
}

fn size_of(size: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    if size >= CUT_OFF_BY_CD_EMULATION {
        let message = format!(
            "the file has {size} bytes, but BMCs with an older Linux that emulate a CD-ROM cut images off at \
             {CUT_OFF_BY_CD_EMULATION} bytes"
        );
        let advice =
            "use a smaller image, such as dayone's format minimal-iso, or one that fetches its root file system";
        findings.push(Finding::warning("cut-off-by-cd-emulation", &[Reader::SomeFirmware], message).advice(advice));
    }
    if !size.is_multiple_of(BLOCK) {
        let message =
            format!("the file has {size} bytes, which is not a multiple of {BLOCK}: a CD-ROM drive cuts off the rest");
        let advice = "pad the file with zeros";
        findings.push(Finding::warning("partial-last-block", &[Reader::SomeFirmware], message).advice(advice));
    }
    findings
}

fn image(source: &RangeSource) -> Vec<Finding> {
    let volume = match Volume::open(source) {
        Ok(volume) => volume,
        Err(IsoError::Read { source: error, .. }) => return vec![unread(&error)],
        Err(error @ IsoError::Incomplete { .. }) => {
            return vec![incomplete(&error)];
        }
        Err(_) => return disk(source),
    };
    if DATA_DRIVES.iter().any(|label| volume.id().eq_ignore_ascii_case(label)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    match el_torito::without_files(source, &volume) {
        Ok(Some(catalog)) => {
            let missing = |platform| catalog.first(platform).is_none();
            if missing(Platform::Uefi) {
                let message = "the ISO has no boot image for UEFI";
                let advice = "boot the host in legacy mode, or use an image with UEFI support";
                findings.push(Finding::warning("no-uefi-boot", &[Reader::Everyone], message).advice(advice));
            }
        }
        Ok(None) => {
            let message = "the ISO has no El Torito boot catalog, so no firmware starts it";
            let advice = "use a bootable image";
            findings.push(Finding::fails("not-bootable", &[Reader::Everyone], message).advice(advice));
        }
        Err(IsoError::Read { source: error, .. }) => findings.push(unread(&error)),
        Err(error) => {
            let message = format!("the ISO's boot catalog is damaged: {error}");
            let advice = "download or build the image again";
            findings.push(Finding::fails("boot-catalog-damaged", &[Reader::Everyone], message).advice(advice));
        }
    }
    let not_hybrid = |message: &str, advice: &'static str| {
        Finding::warning("not-hybrid", &[Reader::OpenBmc], message).advice(advice)
    };
    match Mbr::read(source) {
        Ok(None) => {
            let message = "the ISO has no partition table, but OpenBMC shows it to the host as a disk";
            findings.push(not_hybrid(message, "make it a hybrid image (isohybrid), or use dayone's format usb"));
        }
        Ok(Some(_)) if matches!(DiskTable::probe(source, &volume), Ok(table) if table != DiskTable::Present) => {
            let message =
                "nothing starts from the ISO's partition table, but OpenBMC shows the ISO to the host as a disk";
            findings.push(not_hybrid(message, "make it a hybrid image (isohybrid --uefi)"));
        }
        Ok(Some(_)) => findings.extend(table(source)),
        Err(error) => findings.push(unread(&error)),
    }
    findings
}

/// Examines a file that is not an ISO.
fn disk(source: &RangeSource) -> Vec<Finding> {
    if source.read_vec(0, (PROBE.len() as u64).min(source.size())).is_ok_and(|start| start == PROBE) {
        return Vec::new();
    }
    match Mbr::read(source) {
        Ok(Some(_)) => match check_complete(source) {
            Ok(Ok(())) => table(source).into_iter().collect(),
            Ok(Err(error)) => vec![incomplete(&error)],
            Err(error) => vec![unread(&error)],
        },
        Ok(None) => {
            let message = "the file is neither an ISO nor a disk with a partition table, so no firmware starts it";
            vec![Finding::fails("not-bootable", &[Reader::Everyone], message).advice("check that it is the right file")]
        }
        Err(error) => vec![unread(&error)],
    }
}

/// The end of the file is missing.
fn incomplete(error: &impl Display) -> Finding {
    Finding::fails("image-incomplete", &[Reader::Everyone], format!("the image is incomplete: {error}"))
        .advice("download or copy the image again")
}

/// The problem with the GPT, if there is one.
fn table(source: &RangeSource) -> Option<Finding> {
    let advice = "build the image again; dayone keeps partition tables valid";
    let gpt = match Gpt::read(source) {
        Ok(gpt) => gpt?,
        Err(error) => {
            let message = format!("firmware that starts the file as a disk ignores its partition table: {error}");
            return Some(Finding::warning("partition-table-damaged", &[Reader::OpenBmc], message).advice(advice));
        }
    };
    let end = gpt.backup_sector().saturating_add(1).saturating_mul(imagelib::disk::SECTOR);
    (end > source.size()).then(|| {
        let message = "the backup of the partition table (GPT) is behind the end of the file";
        Finding::warning("partition-table-damaged", &[Reader::OpenBmc], message).advice(advice)
    })
}

fn unread(error: &std::io::Error) -> Finding {
    let message = format!("the doctor could not read the content: {error}");
    Finding::warning("content-not-read", &[Reader::Everyone], message)
}

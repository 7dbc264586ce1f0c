//! What the file is: whether firmware can start it, as a CD-ROM and as a disk.

mod source;

use std::sync::Arc;

use imagelib::base::CUT_OFF_BY_CD_EMULATION;
use imagelib::disk::gpt::Gpt;
use imagelib::disk::mbr::Mbr;
use imagelib::iso::el_torito::{self, Platform};
use imagelib::iso::{IsoError, Volume};
use imagelib::source::Source as _;

use self::source::RangeSource;
use super::finding::{Finding, Reader};
use super::http::Trouble;
use super::lab::{BLOCK, Lab};

/// Labels of drives that carry a configuration, and are not to be booted from.
const DATA_DRIVES: [&str; 3] = ["config-2", "cidata", "combustion"];

/// Judges the size and the content.
pub(super) async fn judge(lab: &Arc<Lab>, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let Some(size) = lab.size else { return Ok(()) };
    findings.extend(size_of(size));
    let handle = tokio::runtime::Handle::current();
    let source = RangeSource::new(Arc::clone(lab), size, handle);
    let looked = tokio::task::spawn_blocking(move || look(&source)).await;
    findings.extend(looked.unwrap_or_else(|error| {
        vec![Finding::warning(
            "content-not-read",
            &[Reader::Everyone],
            format!("the content was not looked at: {error}"),
        )]
    }));
    Ok(())
}

fn size_of(size: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    if size >= CUT_OFF_BY_CD_EMULATION {
        let message = format!(
            "the file has {size} bytes: BMCs with an older Linux that emulate a CD-ROM cut images off at \
             {CUT_OFF_BY_CD_EMULATION}"
        );
        let advice =
            "use a smaller image, such as dayone's format minimal-iso, or one that fetches its root file system";
        findings.push(Finding::warning("cut-off-by-cd-emulation", &[Reader::SomeFirmware], message).advice(advice));
    }
    if !size.is_multiple_of(BLOCK) {
        let message = format!("the file has {size} bytes, no multiple of {BLOCK}: a CD-ROM drive cuts off the rest");
        let advice = "pad the file with zeros";
        findings.push(Finding::warning("partial-last-block", &[Reader::SomeFirmware], message).advice(advice));
    }
    findings
}

fn look(source: &RangeSource) -> Vec<Finding> {
    let volume = match Volume::open(source) {
        Ok(volume) => volume,
        Err(IsoError::Read { source: error, .. }) => return vec![unread(&error)],
        Err(error @ IsoError::Incomplete { .. }) => {
            return vec![
                Finding::fails("image-incomplete", &[Reader::Everyone], format!("the image is not whole: {error}"))
                    .advice("fetch or copy the image again"),
            ];
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
                let advice = "boot the host in legacy mode, or take an image that has one";
                findings.push(Finding::warning("no-uefi-boot", &[Reader::Everyone], message).advice(advice));
            }
        }
        Ok(None) => {
            let message = "the ISO has no El Torito boot catalog: no firmware starts it";
            let advice = "take an image that is made to be booted from";
            findings.push(Finding::fails("not-bootable", &[Reader::Everyone], message).advice(advice));
        }
        Err(IsoError::Read { source: error, .. }) => findings.push(unread(&error)),
        Err(error) => {
            let message = format!("the ISO's boot catalog is damaged: {error}");
            let advice = "fetch or make the image again";
            findings.push(Finding::fails("boot-catalog-damaged", &[Reader::Everyone], message).advice(advice));
        }
    }
    match Mbr::read(source) {
        Ok(None) => {
            let message = "the ISO has no partition table, and OpenBMC shows it to the host as a disk";
            let advice = "make it a hybrid image (isohybrid); dayone's format usb does";
            findings.push(Finding::warning("not-hybrid", &[Reader::OpenBmc], message).advice(advice));
        }
        Ok(Some(_)) => findings.extend(table(source)),
        Err(error) => findings.push(unread(&error)),
    }
    findings
}

/// No ISO.
fn disk(source: &RangeSource) -> Vec<Finding> {
    match Mbr::read(source) {
        Ok(Some(_)) => table(source).into_iter().collect(),
        Ok(None) => {
            let message = "the file is neither an ISO nor a disk with a partition table: no firmware starts it";
            vec![Finding::fails("not-bootable", &[Reader::Everyone], message).advice("check that it is the right file")]
        }
        Err(error) => vec![unread(&error)],
    }
}

/// What is wrong with the GPT, where there is one.
fn table(source: &RangeSource) -> Option<Finding> {
    let advice = "make the image again: dayone keeps the tables valid";
    let gpt = match Gpt::read(source) {
        Ok(gpt) => gpt?,
        Err(error) => {
            let message = format!("firmware that starts it as a disk ignores its partition table: {error}");
            return Some(Finding::warning("partition-table-damaged", &[Reader::OpenBmc], message).advice(advice));
        }
    };
    let end = gpt.backup_sector().saturating_add(1).saturating_mul(imagelib::disk::SECTOR);
    (end > source.size()).then(|| {
        let message = "the backup of the partition table (GPT) lies behind the end of the file";
        Finding::warning("partition-table-damaged", &[Reader::OpenBmc], message).advice(advice)
    })
}

fn unread(error: &std::io::Error) -> Finding {
    let message = format!("the content was not looked at: {error}");
    Finding::warning("content-not-read", &[Reader::Everyone], message)
}

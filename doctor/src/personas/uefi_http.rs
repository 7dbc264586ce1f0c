//! Firmware that boots by HTTP, as EDK2 does it (`NetworkPkg/HttpBootDxe`): HEAD, and then one GET of the whole file. The
//! `Host` header has no port.

use std::sync::Arc;

use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};

use super::uefi_tls;
use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Answer, Request, RequestError, SMALL_BODY};
use crate::ranges::differing;

const AFFECTS: [Reader; 1] = [Reader::UefiHttp];

/// How much of the file the doctor reads. The firmware reads all of it.
const READ: usize = 256 << 10;

/// The media types that tell the firmware what a file is. By any other type, it looks at the end of the path.
const TYPES: [&str; 3] = ["application/vnd.efi-iso", "application/vnd.efi-img", "application/efi"];
const SUFFIXES: [&str; 3] = [".iso", ".img", ".efi"];

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    if context.connector.is_tls() {
        findings.extend(uefi_tls::examine(&context.connector).await?);
    }
    let host = context.connector.url().host_str().unwrap_or_default().to_owned();
    let as_edk2 = |request: Request| request.host(&host).with(ACCEPT, "*/*").with(USER_AGENT, "UefiHttpBoot/1.0");
    let mut session = context.session();
    let head = session.send(&as_edk2(Request::head()), SMALL_BODY).await?;
    if head.status != StatusCode::OK {
        findings.push(Finding::head_refused(&AFFECTS, &head));
        return Ok(());
    }
    if head.length().is_none() {
        let message = format!(
            "the answer to HEAD has {}, so the firmware does not know the size and boots something else",
            head.missing_length()
        );
        findings.push(
            Finding::fails("head-without-length", &AFFECTS, message)
                .seen(&head)
                .advice("configure the server to send one Content-Length with HEAD"),
        );
        return Ok(());
    }
    findings.extend(kind(context, &head));
    let answer = session.send(&as_edk2(Request::get()), READ).await?;
    if answer.status != StatusCode::OK {
        let message = format!("the server answers GET with {}", answer.status.as_u16());
        findings.push(Finding::fails("get-refused", &AFFECTS, message).seen(&answer));
        return Ok(());
    }
    if let Some(length) = answer.length().filter(|length| Some(*length) != head.length()) {
        let message = format!("the answer to GET says {length} bytes, and the answer to HEAD another number");
        findings.push(Finding::fails("sizes-differ", &AFFECTS, message).seen(&answer));
    }
    findings.extend(context.record(0, &answer.body).map(|offset| differing(offset, &answer)));
    Ok(())
}

/// Whether the firmware learns what the file is.
fn kind(context: &Context, head: &Answer) -> Option<Finding> {
    let path = context.connector.url().path().to_ascii_lowercase();
    let media_type = head.header(&CONTENT_TYPE);
    let is_known = TYPES.iter().any(|known| known.eq_ignore_ascii_case(media_type))
        || SUFFIXES.iter().any(|suffix| path.ends_with(suffix));
    (!is_known).then(|| {
        let message =
            "neither the path nor the Content-Type tells that the file is an image, so the firmware does not boot it";
        Finding::warning("uefi-media-type", &AFFECTS, message)
            .seen(head)
            .advice("use a path that ends in .iso or .img, or send application/vnd.efi-iso or application/vnd.efi-img")
    })
}

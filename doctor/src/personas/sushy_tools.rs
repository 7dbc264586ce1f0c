//! sushy-tools (`emulator/resources/vmedia.py`). It sends one GET with Python's requests, and takes a file name from
//! the answer.

use std::sync::Arc;

use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_DISPOSITION, CONTENT_ENCODING};

use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Answer, Request, RequestError};
use crate::ranges::differing;

const AFFECTS: [Reader; 1] = [Reader::SushyTools];

/// How many bytes to read. sushy-tools reads the whole file; the doctor reads only the beginning.
const READ: usize = 256 << 10;

/// Adds the headers that Python's requests sends.
pub(super) fn as_requests(request: Request) -> Request {
    request.with(ACCEPT_ENCODING, "gzip, deflate").with(ACCEPT, "*/*")
}

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let answer = context.session().send(&as_requests(Request::get()), READ).await?;
    if answer.status.as_u16() >= 400 {
        let message = format!("the server answers GET with {}", answer.status.as_u16());
        findings.push(Finding::fails("get-refused", &AFFECTS, message).seen(&answer));
        return Ok(());
    }
    let encoding = answer.header(&CONTENT_ENCODING);
    if matches!(encoding, "" | "identity") {
        if let Some(offset) = context.record(0, &answer.body) {
            findings.push(differing(offset, &answer));
        }
        findings.extend(length(context, &answer));
    } else {
        let message = format!(
            "the server sends the image with Content-Encoding: {encoding}, which sushy-tools must decode before it \
             stores the image"
        );
        findings.push(
            Finding::warning("content-encoding", &AFFECTS, message)
                .seen(&answer)
                .advice("configure the server not to compress images: their content is compressed already"),
        );
    }
    findings.extend(file_name(&answer));
    Ok(())
}

fn length(context: &Context, answer: &Answer) -> Option<Finding> {
    match (answer.length(), context.size) {
        (None, _) => {
            let message = "the answer to GET has no Content-Length, so sushy-tools would not notice a truncated image";
            Some(
                Finding::warning("get-without-length", &AFFECTS, message)
                    .seen(answer)
                    .advice("configure the server to send Content-Length"),
            )
        }
        (Some(got), Some(size)) if got != size => {
            let message = format!("the answer to GET says {got} bytes, but an earlier answer said {size}");
            Some(Finding::fails("sizes-differ", &[Reader::Everyone], message).seen(answer))
        }
        _ => None,
    }
}

/// sushy-tools takes everything between the first and the last quotation mark as the file name.
fn file_name(answer: &Answer) -> Option<Finding> {
    let disposition = answer.header(&CONTENT_DISPOSITION);
    let (_, rest) = disposition.split_once("filename=\"")?;
    let (name, _) = rest.rsplit_once('"')?;
    name.contains(['"', '/']).then(|| {
        let message = "Content-Disposition has a file name that sushy-tools cannot parse";
        Finding::fails("content-disposition", &AFFECTS, message)
            .seen(answer)
            .advice("send no Content-Disposition, or one with a single quoted name")
    })
}

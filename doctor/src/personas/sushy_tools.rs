//! sushy-tools (`emulator/resources/vmedia.py`): one GET by Python's requests, and a file name from the answer.

use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_DISPOSITION, CONTENT_ENCODING};

use crate::finding::{Finding, Reader};
use crate::http::{Answer, Ask, Trouble};
use crate::lab::Lab;
use crate::ranges::differing;

const AFFECTS: [Reader; 1] = [Reader::SushyTools];

/// It reads the whole file; a look takes the beginning.
const READ: usize = 256 << 10;

/// What Python's requests sends of itself.
pub(super) fn as_requests(ask: Ask) -> Ask {
    ask.with(ACCEPT_ENCODING, "gzip, deflate").with(ACCEPT, "*/*")
}

pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let answer = lab.session().ask(&as_requests(Ask::get()), READ).await?;
    if answer.status.as_u16() >= 400 {
        let message = format!("GET is answered with {}", answer.status.as_u16());
        findings.push(Finding::fails("get-refused", &AFFECTS, message).seen(&answer));
        return Ok(());
    }
    let encoding = answer.header(&CONTENT_ENCODING);
    if matches!(encoding, "" | "identity") {
        if let Some(offset) = lab.saw(0, &answer.body) {
            findings.push(differing(offset, &answer));
        }
        findings.extend(length(lab, &answer));
    } else {
        let message =
            format!("the image is sent with Content-Encoding: {encoding}, which is undone before it is stored");
        findings.push(
            Finding::warning("content-encoding", &AFFECTS, message)
                .seen(&answer)
                .advice("let the server send images as they are: they are compressed inside"),
        );
    }
    findings.extend(file_name(&answer));
    Ok(())
}

fn length(lab: &Lab, answer: &Answer) -> Option<Finding> {
    match (answer.length(), lab.size) {
        (None, _) => {
            let message = "GET comes without Content-Length: that it was cut short would not be noticed";
            Some(
                Finding::warning("get-without-length", &AFFECTS, message)
                    .seen(answer)
                    .advice("let the server send Content-Length"),
            )
        }
        (Some(got), Some(size)) if got != size => {
            let message = format!("GET tells a size of {got} bytes, and before it was {size}");
            Some(Finding::fails("sizes-differ", &[Reader::Everyone], message).seen(answer))
        }
        _ => None,
    }
}

/// It takes what stands between the first and the last quotation mark for a file name.
fn file_name(answer: &Answer) -> Option<Finding> {
    let disposition = answer.header(&CONTENT_DISPOSITION);
    let (_, rest) = disposition.split_once("filename=\"")?;
    let (name, _) = rest.rsplit_once('"')?;
    name.contains(['"', '/']).then(|| {
        let message = "Content-Disposition gives a file name that cannot be taken from it";
        Finding::fails("content-disposition", &AFFECTS, message)
            .seen(answer)
            .advice("send no Content-Disposition, or one with a single quoted name")
    })
}

//! Ironic, where it fetches the image itself (`ironic/common/image_service.py`, `image_cache.py`): HEAD by Python's
//! requests, whose answer tells whether the cached copy is still good.

use std::time::Duration;

use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, LAST_MODIFIED};

use super::sushy_tools::as_requests;
use crate::finding::{Finding, Reader};
use crate::http::{Answer, Ask, Trouble};
use crate::lab::Lab;

const AFFECTS: [Reader; 1] = [Reader::Ironic];

/// Last-Modified counts seconds: "now" shows after one has passed.
const BETWEEN: Duration = Duration::from_millis(1100);

pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let ask = as_requests(Ask::head());
    let answer = lab.ask(&ask).await?;
    if answer.status != StatusCode::OK {
        let message = format!("HEAD is answered with {}, and must be with 200", answer.status.as_u16());
        findings.push(
            Finding::fails("head-refused", &AFFECTS, message)
                .seen(&answer)
                .advice("let the server answer HEAD as it does GET, without the body"),
        );
        return Ok(());
    }
    findings.extend(length(lab, &answer));
    if answer.header(&CACHE_CONTROL).contains("no-store") {
        let message = "Cache-Control says no-store: the image is fetched anew for every host";
        findings.push(
            Finding::warning("no-store", &AFFECTS, message)
                .seen(&answer)
                .advice("say no-cache, which keeps the cache honest"),
        );
    }
    tokio::time::sleep(BETWEEN).await;
    let again = lab.ask(&ask).await?;
    findings.extend(date(&answer, &again));
    Ok(())
}

fn length(lab: &Lab, answer: &Answer) -> Option<Finding> {
    let encoding = answer.header(&CONTENT_ENCODING);
    match (answer.length(), lab.size) {
        (None, _) => Some(
            Finding::fails("head-without-length", &AFFECTS, "the answer to HEAD has no Content-Length")
                .seen(answer)
                .advice("let the server send Content-Length with HEAD, also to clients that accept gzip"),
        ),
        (Some(told), Some(size)) if told != size => {
            let message = match encoding {
                "" => format!("HEAD tells {told} bytes, and the file has {size}"),
                _ => format!("HEAD tells {told} bytes, those of the compressed file ({encoding}); the file has {size}"),
            };
            Some(
                Finding::fails("sizes-differ", &AFFECTS, message)
                    .seen(answer)
                    .advice("let the server send images as they are"),
            )
        }
        _ => None,
    }
}

fn date(first: &Answer, second: &Answer) -> Option<Finding> {
    let date = first.header(&LAST_MODIFIED);
    if date.is_empty() || httpdate::parse_http_date(date).is_err() {
        let message = "there is no Last-Modified that can be read: a cached image is taken for the latest for ever";
        return Some(
            Finding::warning("last-modified-missing", &AFFECTS, message)
                .seen(first)
                .advice("let the server send Last-Modified"),
        );
    }
    (date != second.header(&LAST_MODIFIED)).then(|| {
        let message = "Last-Modified is another a second later: no cached image is ever good";
        Finding::warning("last-modified-changes", &AFFECTS, message)
            .seen(second)
            .advice("let the server say when the content changed, not when it was asked")
    })
}

//! Ironic when it fetches the image itself (`ironic/common/image_service.py`, `image_cache.py`). It sends HEAD with
//! Python's requests, and decides by the answer whether its cached copy is current.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, LAST_MODIFIED};

use super::sushy_tools::as_requests;
use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Answer, Request, RequestError};

const AFFECTS: [Reader; 1] = [Reader::Ironic];

/// `Last-Modified` has whole seconds. If a server always sends the current time, the value changes after one second.
const BETWEEN: Duration = Duration::from_millis(1100);

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let request = as_requests(Request::head());
    let answer = context.send(&request).await?;
    if answer.status != StatusCode::OK {
        findings.push(Finding::head_refused(&AFFECTS, &answer));
        return Ok(());
    }
    findings.extend(length(context, &answer));
    if answer.header(&CACHE_CONTROL).contains("no-store") {
        let message = "Cache-Control is no-store, so Ironic fetches the image again for every host";
        findings.push(
            Finding::warning("no-store", &AFFECTS, message)
                .seen(&answer)
                .advice("send no-cache instead, with which Ironic checks whether its copy is current"),
        );
    }
    tokio::time::sleep(BETWEEN).await;
    let again = context.send(&request).await?;
    findings.extend(date(&answer, &again));
    Ok(())
}

fn length(context: &Context, answer: &Answer) -> Option<Finding> {
    let encoding = answer.header(&CONTENT_ENCODING);
    match (answer.length(), context.size) {
        (None, _) => {
            let message = format!("the answer to HEAD has {}", answer.missing_length());
            Some(
                Finding::fails("head-without-length", &AFFECTS, message).seen(answer).advice(
                    "configure the server to send one Content-Length with HEAD, also to clients that accept gzip",
                ),
            )
        }
        (Some(told), Some(size)) if told != size => {
            let message = match encoding {
                "" => format!("the answer to HEAD says {told} bytes, but the file has {size}"),
                _ => format!(
                    "the answer to HEAD says {told} bytes, the size of the compressed file ({encoding}); the file has \
                     {size}"
                ),
            };
            Some(
                Finding::fails("sizes-differ", &AFFECTS, message)
                    .seen(answer)
                    .advice("configure the server not to compress images"),
            )
        }
        _ => None,
    }
}

fn date(first: &Answer, second: &Answer) -> Option<Finding> {
    let date = first.header(&LAST_MODIFIED);
    if date.is_empty() || httpdate::parse_http_date(date).is_err() {
        let message =
            "the answer has no valid Last-Modified, so Ironic never notices that its cached image is outdated";
        return Some(
            Finding::warning("last-modified-missing", &AFFECTS, message)
                .seen(first)
                .advice("configure the server to send Last-Modified"),
        );
    }
    (date != second.header(&LAST_MODIFIED)).then(|| {
        let message = "Last-Modified changes within a second, so Ironic never uses its cached image";
        Finding::warning("last-modified-changes", &AFFECTS, message)
            .seen(second)
            .advice("configure the server to send the time when the content changed, not the current time")
    })
}

//! Dummy credentials: some BMCs demand a user and a password for `InsertMedia`, and send them to the server.

use std::sync::Arc;

use http::header::AUTHORIZATION;

use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Request, RequestError};

const AFFECTS: [Reader; 2] = [Reader::Dgx, Reader::SomeFirmware];

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    // user:password
    let request = Request::head().with(AUTHORIZATION, "Basic dXNlcjpwYXNzd29yZA==");
    let answer = context.send(&request).await?;
    // Other examinations check the answer to HEAD itself.
    let plain = context.send(&Request::head()).await?;
    if answer.status != plain.status {
        let message =
            format!("the server answers a request with unexpected credentials with {}", answer.status.as_u16());
        findings.push(
            Finding::fails("credentials-refused", &AFFECTS, message)
                .seen(&answer)
                .advice("configure the server to ignore the Authorization header for these files"),
        );
    }
    Ok(())
}

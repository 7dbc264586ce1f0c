//! Dummy credentials: some BMCs want a user and a password with `InsertMedia`, and send what they got.

use http::header::AUTHORIZATION;

use crate::finding::{Finding, Reader};
use crate::http::{Ask, Trouble};
use crate::lab::Lab;

const AFFECTS: [Reader; 2] = [Reader::Dgx, Reader::SomeFirmware];

pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    // user:password
    let ask = Ask::head().with(AUTHORIZATION, "Basic dXNlcjpwYXNzd29yZA==");
    let answer = lab.ask(&ask).await?;
    // What the server says to HEAD at all, others judge.
    let plain = lab.ask(&Ask::head()).await?;
    if answer.status != plain.status {
        let message = format!("with credentials that nobody asked for, the answer is {}", answer.status.as_u16());
        findings.push(
            Finding::fails("credentials-refused", &AFFECTS, message)
                .seen(&answer)
                .advice("let the server ignore the Authorization header for these files"),
        );
    }
    Ok(())
}

//! A reader that is slow and pauses, as HPE's iLO is reported to be (about 52 KB/s), and one that comes back after
//! a while. Made from reports: the firmware is closed.

use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;

use crate::finding::{Finding, Reader};
use crate::http::{Answer, Ask, GLIMPSE, Pace, Suites, Trouble};
use crate::lab::Lab;

const AFFECTS: [Reader; 2] = [Reader::Ilo, Reader::SomeFirmware];

/// Bytes in a second.
const RATE: u32 = 52_000;

/// How long bytes that must be on their way already are waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that closes a connection so soon does not keep any.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Reads slowly, then not at all, then slowly again, for `lab.slow` altogether.
pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let mut connection = lab.connector.connect_as(Pace::Slow, Suites::All).await?;
    let (answer, mut body) = connection.begin(&Ask::get()).await?;
    if !answer.is_success() {
        return Ok(());
    }
    let begun = Instant::now();
    let mut pause = Some(lab.slow / 3);
    while begun.elapsed() < lab.slow {
        if let Some(length) = pause.take_if(|_| begun.elapsed() > lab.slow / 3) {
            tokio::time::sleep(length).await;
        }
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await.map_err(|_| Trouble::Silence(PATIENCE))?;
        let Some(frame) = frame else { return Ok(()) };
        let Ok(frame) = frame else {
            findings.push(cut_off(&answer, begun.elapsed()));
            return Ok(());
        };
        if let Some(data) = frame.data_ref() {
            connection.received(data.len());
            let length = u32::try_from(data.len()).unwrap_or(RATE);
            tokio::time::sleep(Duration::from_secs(1) * length / RATE).await;
        }
    }
    Ok(())
}

/// Asks, is silent for `lab.slow`, and asks again.
pub(crate) async fn come_back(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let mut connection = lab.connect().await?;
    let first = connection.ask(&Ask::head(), GLIMPSE).await?;
    let begun = Instant::now();
    while begun.elapsed() < lab.slow && connection.is_open() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let waited = begun.elapsed();
    // That every answer ends its connection is told of the reader of many ranges.
    if waited < AT_ONCE || connection.is_open() && connection.ask(&Ask::head(), GLIMPSE).await.is_ok() {
        return Ok(());
    }
    let message = format!("a connection on which nothing was asked for {:.0} s is closed", waited.as_secs_f64());
    findings.push(Finding::warning("idle-connection-closed", &AFFECTS, message).seen(&first).advice(
        "let the server keep idle connections for minutes (nginx: keepalive_timeout, Apache: KeepAliveTimeout)",
    ));
    Ok(())
}

fn cut_off(answer: &Answer, after: Duration) -> Finding {
    let message = format!("a slow reader was cut off after {:.0} s", after.as_secs_f64());
    Finding::fails("slow-reader-cut-off", &AFFECTS, message).seen(answer).advice(
        "limit how long a transfer may stand still, in minutes, and not how long it may take (nginx: send_timeout; Apache: \
         mod_reqtimeout, Timeout; Go: no WriteTimeout)",
    )
}

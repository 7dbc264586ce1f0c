//! A slow reader with a pause, as reports describe HPE's iLO (about 52 KB/s), and a reader that is idle for a while.
//! The firmware is closed, so this imitates those reports.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;

use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Answer, Pace, Request, RequestError, SMALL_BODY, Suites};

const AFFECTS: [Reader; 2] = [Reader::Ilo, Reader::SomeFirmware];

/// How many bytes the reader reads per second.
const RATE: u32 = 52_000;

/// How long to wait for bytes that the server must have sent already.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that closes a connection within this time keeps no connections open.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Reads slowly, pauses, and reads slowly again, for `context.slow` altogether.
pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let mut connection = context.connector.connect_as(Pace::Slow, Suites::All).await?;
    let (answer, mut body) = connection.begin(&Request::get()).await?;
    if !answer.is_success() {
        return Ok(());
    }
    let begun = Instant::now();
    let mut pause = Some(context.slow / 3);
    while begun.elapsed() < context.slow {
        if let Some(length) = pause.take_if(|_| begun.elapsed() > context.slow / 3) {
            tokio::time::sleep(length).await;
        }
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await.map_err(|_| RequestError::Silence(PATIENCE))?;
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

/// Sends a request, is idle for `context.slow`, and sends another one.
pub(crate) async fn play_idle(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let mut connection = context.connect().await?;
    let first = connection.send(&Request::head(), SMALL_BODY).await?;
    let begun = Instant::now();
    while begun.elapsed() < context.slow && connection.is_open() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let waited = begun.elapsed();
    // The reader of many ranges reports a server that closes the connection after every answer.
    if waited < AT_ONCE || connection.is_open() && connection.send(&Request::head(), SMALL_BODY).await.is_ok() {
        return Ok(());
    }
    let message = format!("the server closed a connection that was idle for {:.0} s", waited.as_secs_f64());
    findings.push(Finding::warning("idle-connection-closed", &AFFECTS, message).seen(&first).advice(
        "configure the server to keep idle connections for minutes (nginx: keepalive_timeout, Apache: \
         KeepAliveTimeout)",
    ));
    Ok(())
}

fn cut_off(answer: &Answer, after: Duration) -> Finding {
    let message = format!("the server closed the connection of a slow reader after {:.0} s", after.as_secs_f64());
    Finding::fails("slow-reader-cut-off", &AFFECTS, message).seen(answer).advice(
        "do not limit how long a transfer may take, only how long it may be idle, in minutes (nginx: send_timeout; \
         Apache: mod_reqtimeout, Timeout; Go: no WriteTimeout)",
    )
}

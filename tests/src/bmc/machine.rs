//! The machine behind the BMC: it reads the image as BMCs do, HEAD and then ranges, or as its firmware does by HTTP boot, HEAD and
//! then all of it; and its system calls home.

use std::sync::Weak;
use std::time::Duration;

use http::StatusCode;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, HOST, RANGE, USER_AGENT};
use reqwest::Client;
use tokio::time::Instant;

use super::Shared;

/// Who reads an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Bmc,
    Firmware,
}

/// A boot of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// The image from which the machine boots. `None` for its own disk.
    pub image: Option<String>,
    /// How many bytes of the image were read.
    pub read: u64,
    /// How the boot ended. `None` while it goes on.
    pub end: Option<Result<(), String>>,
    /// The status of the answer to the call home, if there is a URL to call.
    pub called_home: Option<u16>,
}

impl Boot {
    pub(super) fn of(image: Option<String>) -> Self {
        Self { image, read: 0, end: None, called_home: None }
    }

    /// Whether the boot has ended: the system runs, or never will.
    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }
}

/// Returns the HTTP client of a BMC. Most BMCs do not verify certificates.
pub(super) fn reader() -> Client {
    let reader = Client::builder().tls_danger_accept_invalid_certs(true).redirect(reqwest::redirect::Policy::none());
    reader.timeout(Duration::from_secs(60)).no_proxy().build().expect("a client")
}

/// Asks for the size of an image, as BMCs do before they insert it.
pub(super) async fn look(reader: &Client, image: &str) -> Result<u64, String> {
    let answer = reader.head(image).send().await.map_err(|error| chain(&error))?;
    let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
    if answer.status() != StatusCode::OK {
        return Err(format!("HEAD: {}", answer.status()));
    }
    if header(ACCEPT_RANGES) != Some("bytes") {
        return Err("HEAD: no ranges".to_owned());
    }
    header(CONTENT_LENGTH).and_then(|size| size.parse().ok()).ok_or_else(|| "HEAD: no size".to_owned())
}

/// Returns the text of an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Boots the machine, and records how the boot went.
pub(super) async fn boot(bmc: Weak<Shared>, number: usize, image: Option<String>, by: Reader) {
    let end = match &image {
        Some(image) => match by {
            Reader::Bmc => start(&bmc, number, image).await,
            Reader::Firmware => fetch(&bmc, number, image).await,
        },
        None => Ok(()),
    };
    let call = match bmc.upgrade() {
        Some(shared) if end.is_ok() && image.is_some() => {
            let call = shared.state().call_home.clone();
            call.map(|url| (shared.reader.clone(), url))
        }
        _ => None,
    };
    let called_home = match call {
        Some((reader, url)) => reader.get(url).send().await.ok().map(|answer| answer.status().as_u16()),
        None => None,
    };
    let Some(shared) = bmc.upgrade() else { return };
    let mut state = shared.state();
    if end.is_ok() {
        state.progress("OSRunning");
    }
    let boot = &mut state.boots[number];
    (boot.end, boot.called_home) = (Some(end), called_home);
}

/// Fetches the image as EDK2 does, and starts its system.
async fn fetch(bmc: &Weak<Shared>, number: usize, image: &str) -> Result<(), String> {
    let (reader, machine) = {
        let shared = bmc.upgrade().ok_or("the BMC is gone")?;
        (shared.reader.clone(), shared.options.machine.clone())
    };
    let url: reqwest::Url = image.parse().map_err(|_| "the URL is none".to_owned())?;
    let host = url.host_str().unwrap_or_default().to_owned();
    let ask =
        |request: reqwest::RequestBuilder| request.header(HOST, &host).header(USER_AGENT, "UefiHttpBoot/1.0").send();
    let head = ask(reader.head(url.clone())).await.map_err(|error| error.to_string())?;
    let size = head.headers().get(CONTENT_LENGTH).and_then(|size| size.to_str().ok()?.parse::<u64>().ok());
    let size = size.filter(|_| head.status() == StatusCode::OK).ok_or("Could not retrieve NBP file size")?;
    let mut answer = ask(reader.get(url)).await.map_err(|error| error.to_string())?;
    let mut read = 0;
    while let Some(chunk) = answer.chunk().await.map_err(|error| error.to_string())? {
        read += chunk.len() as u64;
        bmc.upgrade().ok_or("the BMC is gone")?.state().boots[number].read = read;
    }
    if answer.status() != StatusCode::OK || read != size {
        return Err(format!("{}: {read} of {size} bytes", answer.status()));
    }
    tokio::time::sleep(machine.starts_in).await;
    Ok(())
}

/// Reads as much of the image as the options say, and waits until the system has started.
async fn start(bmc: &Weak<Shared>, number: usize, image: &str) -> Result<(), String> {
    let (reader, machine) = {
        let shared = bmc.upgrade().ok_or("the BMC is gone")?;
        (shared.reader.clone(), shared.options.machine.clone())
    };
    let end = Instant::now() + machine.patience;
    let size = loop {
        let looked = look(&reader, image).await;
        if !again(&looked, end).await {
            break looked?;
        }
    };
    let wanted = machine.reads.min(size);
    let mut offset = 0;
    while offset < wanted {
        let last = (offset + machine.chunk).min(wanted) - 1;
        let end = Instant::now() + machine.patience;
        loop {
            let done = read(&reader, image, offset, last, size).await;
            if !again(&done, end).await {
                break done?;
            }
        }
        offset = last + 1;
        let shared = bmc.upgrade().ok_or("the BMC is gone")?;
        shared.state().boots[number].read = offset;
        drop(shared);
        tokio::time::sleep(machine.pause).await;
    }
    if let Some(shared) = bmc.upgrade() {
        shared.state().progress("OSBootStarted");
    }
    tokio::time::sleep(machine.starts_in).await;
    Ok(())
}

/// Reads a range of the image.
async fn read(reader: &Client, image: &str, first: u64, last: u64, size: u64) -> Result<(), String> {
    let request = reader.get(image).header(RANGE, format!("bytes={first}-{last}"));
    let answer = request.send().await.map_err(|error| error.to_string())?;
    let range = answer.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if answer.status() != StatusCode::PARTIAL_CONTENT || range != format!("bytes {first}-{last}/{size}") {
        return Err(format!("bytes {first}-{last}: {} {range}", answer.status()));
    }
    let read = answer.bytes().await.map_err(|error| error.to_string())?.len() as u64;
    if read == last + 1 - first { Ok(()) } else { Err(format!("bytes {first}-{last}: {read} bytes")) }
}

/// Whether to try again after this result. Waits before it returns true.
async fn again<T>(result: &Result<T, String>, end: Instant) -> bool {
    if result.is_ok() || Instant::now() >= end {
        return false;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    true
}

//! `dayone doctor --self`: examines a dayone server on this machine, and the way to it through its media URL.
//!
//! Whatever it cannot tell is a finding of its own, `unknown`: nothing counts as right without evidence.

mod listener;
mod local;
mod machine;
mod ports;
mod settings;

use std::net::SocketAddr;
use std::time::Instant;

use doctor::{Diagnosis, DoctorError, Examination, Finding, Options, Severity, Stage};
use media::{MediaUrl, PROBE_FILE, PROBE_TOKEN};

use super::super::failure::{Failure, block_on};
use super::super::service::load_failure;
use crate::arguments::{CommandLine, DoctorArguments, Program, Settings};
use crate::settings::load;
use local::Local;

/// The address of the images without a setting, as this machine reaches it.
const MEDIA: (std::net::Ipv4Addr, u16) = (std::net::Ipv4Addr::LOCALHOST, 8081);
/// The address of the API without a setting.
const API: (std::net::Ipv4Addr, u16) = (std::net::Ipv4Addr::LOCALHOST, 8080);

/// The addresses and the URL of a server.
struct Site {
    media: SocketAddr,
    api: SocketAddr,
    /// `None` if the settings have no URL.
    url: Option<MediaUrl>,
    media_tls: bool,
}

impl Site {
    fn of(settings: &Settings) -> Self {
        let media = settings.media_listen.unwrap_or_else(|| MEDIA.into());
        let media_tls = settings.media_tls_cert.is_some();
        let url = settings.media_url.clone().or_else(|| MediaUrl::of_listener(media, media_tls).ok());
        Self { media, api: settings.api_listen.unwrap_or_else(|| API.into()), url, media_tls }
    }
}

pub(super) fn run(arguments: &DoctorArguments, options: &Options) -> Result<Diagnosis, Failure> {
    let named = arguments.config.iter().flat_map(|file| ["--config".into(), file.clone().into_os_string()]);
    let line = CommandLine::new(Program::Serve, named.chain(arguments.options.iter().cloned()));
    let loaded = load(&line).map_err(|error| load_failure(&error))?;
    let settings = loaded.serve().map_err(|error| load_failure(&error))?.settings;
    let site = Site::of(&settings);
    block_on(examine(&loaded, &settings, &site, options))?
}

async fn examine(
    loaded: &crate::settings::Loaded,
    settings: &Settings,
    site: &Site,
    options: &Options,
) -> Result<Diagnosis, Failure> {
    let begun = Instant::now();
    let local = local::ask(site.media, site.media_tls).await?;
    let mut examinations = vec![
        settings::examine(loaded),
        ports::examine(site, &local),
        machine::open_files(settings, site.media),
        machine::storage(settings),
        machine::clock(),
    ];
    let media = match (&site.url, &local) {
        (Some(url), Local::Runs { content, answers_calls }) => through(url, content, *answers_calls, options).await?,
        (url, _) => Reached::not_examined(url.as_ref()),
    };
    examinations.extend(media.examinations);
    let outcome = examinations.iter().map(|examination| examination.outcome).max().unwrap_or(Severity::Ok);
    let url = site.url.as_ref().map_or_else(|| "no media URL".to_owned(), ToString::to_string);
    let Reached { requests, bytes, .. } = media;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Diagnosis { url, outcome, size: None, examinations, requests, bytes, seconds })
}

/// What requests through the media URL have shown.
#[derive(Default)]
struct Reached {
    examinations: Vec<Examination>,
    requests: u64,
    bytes: u64,
}

impl Reached {
    fn only(findings: Vec<Finding>) -> Self {
        let title = "way through the media URL, from this machine";
        Self { examinations: vec![Examination::new("media-url", title, findings)], ..Self::default() }
    }

    fn not_examined(url: Option<&MediaUrl>) -> Self {
        let message = match url {
            Some(url) => format!("{url} was not examined, because this machine's server does not answer"),
            None => "there is no media URL to examine: the settings have none".to_owned(),
        };
        Self::only(vec![Finding::local(Severity::Unknown, "media-url-not-examined", message)])
    }
}

/// Examines the way through the media URL to the file that the local server has, and that of calls home if the server answers them.
async fn through(url: &MediaUrl, content: &[u8], answers_calls: bool, options: &Options) -> Result<Reached, Failure> {
    let probe = url.file(&PROBE_TOKEN, PROBE_FILE);
    let mut reached = match doctor::examine_probe(&probe, content, options).await {
        Ok(Diagnosis { examinations, requests, bytes, .. }) => Reached { examinations, requests, bytes },
        Err(error) => return Ok(Reached::only(vec![unreachable(&error)])),
    };
    if answers_calls {
        reached.examinations.push(calls(url).await?);
        reached.requests += 1;
    }
    Ok(reached)
}

/// Examines whether hosts can call home through the media URL: a proxy may pass on only the paths of images.
async fn calls(url: &MediaUrl) -> Result<Examination, Failure> {
    let lost = local::call(&url.call_home(&PROBE_TOKEN)).await?;
    let finding = lost.map(|why| {
        let message = format!("calls home do not reach the server through its media URL: {why}");
        Finding::local(Severity::Fails, "calls-lost", message).advice(
            "pass on /h/ as well as /i/ to the images' address; otherwise, boots that wait for call-home fail although the hosts run",
        )
    });
    Ok(Examination::new("calls", "calls home through the media URL", finding.into_iter().collect()))
}

fn unreachable(error: &DoctorError) -> Finding {
    let DoctorError::Unreachable { stage, reason } = error else {
        return Finding::local(Severity::Fails, "media-url-wrong", error.to_string());
    };
    let (code, advice) = match stage {
        Stage::Name => (
            "media-url-name",
            "use an IP address in media-url, or make the name known; networks of BMCs often have no DNS",
        ),
        Stage::Connection => (
            "media-url-not-reachable",
            "is the address this machine's, or that of a proxy or a port forwarding that leads here? Does a firewall refuse the port?",
        ),
        Stage::Tls => (
            "media-url-tls",
            "does the URL begin with https:// while the listener speaks plain HTTP, or is another server there?",
        ),
        Stage::Answer => ("media-url-no-answer", "look into the log of the server and of what is in between"),
    };
    Finding::local(Severity::Fails, code, format!("the server does not answer through its media URL: {reason}"))
        .advice(advice)
}

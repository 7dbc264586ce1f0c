//! Which requests fail in the same way again, so that dayone need not try again for minutes.

use std::cell::RefCell;
use std::error::Error;
use std::io;

use reqwest::redirect::{Action, Attempt};
use url::Url;

use super::allowed::{AllowedSources, NotAllowed};
use super::error::FetchError;
use crate::error_chain::chain;
use crate::store::Location;

/// How many redirects dayone follows.
const MAX_REDIRECTS: usize = 10;

/// What the C libraries (glibc, musl) say of a name that does not exist. They say something else if a name server does not answer.
const UNKNOWN_NAME: [&str; 4] = [
    "Name or service not known",
    "No address associated with hostname",
    "Name does not resolve",
    "Name has no usable address",
];

tokio::task_local! {
    /// Where redirects have led the request of this task. reqwest's errors name only the first URL.
    pub(super) static REACHED: RefCell<Option<Url>>;
}

/// Why dayone does not follow a redirect.
#[derive(Debug, Clone, thiserror::Error)]
enum RedirectRefused {
    #[error(transparent)]
    NotAllowed(NotAllowed),
    #[error("the server redirects to {0}: dayone fetches over http and https only")]
    Scheme(String),
    #[error("the server redirects more than {MAX_REDIRECTS} times, perhaps in a circle")]
    TooMany,
}

impl From<RedirectRefused> for FetchError {
    fn from(refused: RedirectRefused) -> Self {
        match refused {
            RedirectRefused::NotAllowed(refused) => Self::NotAllowed(refused),
            other => Self::Unreachable(other.to_string()),
        }
    }
}

/// Returns the URL without its query, and without other parts that may be a credential in the URL of a redirect.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for URLs without a host, which have neither a user name nor a password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    Location::Url(url).to_string()
}

/// Follows redirects to allowed sources, and never from HTTPS to HTTP.
pub(super) fn redirect(allowed: &AllowedSources, attempt: Attempt<'_>) -> Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error(RedirectRefused::TooMany);
    }
    let scheme = attempt.url().scheme();
    if !matches!(scheme, "http" | "https") {
        let to = shown(attempt.url());
        return attempt.error(RedirectRefused::Scheme(to));
    }
    let was_https = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
    let to = || shown(attempt.url());
    let refused = match allowed.check_url(attempt.url()) {
        Err(NotAllowed::Ambiguous(_)) => NotAllowed::Ambiguous(to()),
        Err(NotAllowed::Source(_) | NotAllowed::Redirect(_)) => NotAllowed::Redirect(to()),
        Ok(()) if was_https && scheme != "https" => NotAllowed::Redirect(to()),
        Ok(()) => {
            let _ = REACHED.try_with(|reached| reached.replace(Some(attempt.url().clone())));
            return attempt.follow();
        }
    };
    attempt.error(RedirectRefused::NotAllowed(refused))
}

/// The error if another attempt would fail in the same way.
pub(super) fn final_error(error: &reqwest::Error) -> Option<FetchError> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref::<RedirectRefused>() {
            return Some(refused.clone().into());
        }
        if is_final(error) {
            return Some(FetchError::Unreachable(chain(error)));
        }
        // `source` of an I/O error is not the error in it, but what is behind that.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = inner.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source());
    }
    None
}

fn is_final(error: &(dyn Error + 'static)) -> bool {
    use rustls::{AlertDescription as Alert, Error as Tls};
    let is_tls = |error: &Tls| match error {
        Tls::InvalidCertificate(_) | Tls::PeerIncompatible(_) | Tls::InvalidMessage(_) => true,
        // The other server requires a client certificate, which dayone does not have, or something else that dayone does not offer.
        Tls::AlertReceived(alert) => matches!(
            alert,
            Alert::BadCertificate
                | Alert::CertificateRequired
                | Alert::HandshakeFailure
                | Alert::InsufficientSecurity
                | Alert::ProtocolVersion
                | Alert::UnrecognisedName
        ),
        _ => false,
    };
    error.downcast_ref::<Tls>().is_some_and(is_tls)
        || error.downcast_ref::<io::Error>().is_some_and(|error| is_unknown_name(&error.to_string()))
}

fn is_unknown_name(text: &str) -> bool {
    UNKNOWN_NAME.iter().any(|known| text.contains(known))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use redfish::Verification;

    use super::super::download::{Downloader, Patience};
    use super::*;

    /// Answers every connection, and returns the port.
    fn serve(answer: impl Fn(TcpStream, u16) + Send + 'static) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, port)));
        port
    }

    fn say(mut stream: impl io::Read + io::Write, answer: &str) {
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
            request.extend(byte);
        }
        // The client may be gone.
        drop(stream.write_all(answer.as_bytes()));
    }

    fn redirect_to(place: impl Fn(u16) -> String + Send + 'static) -> u16 {
        serve(move |stream, port| {
            say(
                stream,
                &format!(
                    "HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                    place(port)
                ),
            );
        })
    }

    fn tls() -> u16 {
        let issued = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = rustls_pki_types::PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![issued.cert.der().clone()], key).unwrap();
        let config = Arc::new(config);
        serve(move |stream, _| {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            say(rustls::StreamOwned::new(connection, stream), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        })
    }

    fn fetched(url: &str) -> FetchError {
        fetched_from(AllowedSources::any(), url)
    }

    fn fetched_from(allowed: AllowedSources, url: &str) -> FetchError {
        let patience = Patience { attempts: 5, longest_wait: Duration::from_secs(8) };
        let downloader = Downloader::new(allowed, &Verification::System, patience, 1 << 20).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let begun = Instant::now();
        let error = runtime.block_on(downloader.read_small(&Url::parse(url).unwrap())).unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(8), "it tried again: {error}");
        error
    }

    #[test]
    fn what_would_fail_again_is_not_tried_again() {
        let circle = redirect_to(|port| format!("http://127.0.0.1:{port}/again"));
        let elsewhere = redirect_to(|_| "ftp://127.0.0.1/file".to_owned());
        let plain = serve(|mut stream, _| {
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
            // Until the client closes it: unread bytes would reset the connection.
            drop(io::copy(&mut stream, &mut io::sink()));
        });
        for (url, expected) in [
            (format!("http://127.0.0.1:{circle}/"), "redirects more than 10 times"),
            (format!("http://127.0.0.1:{elsewhere}/"), "redirects to ftp://127.0.0.1/file"),
            (format!("https://127.0.0.1:{}/", tls()), "certificate"),
            (format!("https://127.0.0.1:{plain}/"), "corrupt message"),
        ] {
            let error = fetched(&url).to_string();
            assert!(error.contains(expected), "{url}: {error}");
        }
    }

    #[test]
    fn alerts_that_mean_the_same_each_time_end_at_once() {
        for (code, expected) in [
            (0x28, "HandshakeFailure"),
            (0x2a, "BadCertificate"),
            (0x46, "ProtocolVersion"),
            (0x47, "InsufficientSecurity"),
            (0x70, "UnrecognisedName"),
            (0x74, "CertificateRequired"),
        ] {
            let port = serve(move |mut stream, _| {
                // A record with a fatal alert (RFC 8446 §5.1, §6).
                drop(stream.write_all(&[0x15, 3, 3, 0, 2, 2, code]));
                drop(io::copy(&mut stream, &mut io::sink()));
            });
            let error = fetched(&format!("https://127.0.0.1:{port}/")).to_string();
            assert!(error.contains(expected), "{code:#x}: {error}");
        }
    }

    #[test]
    fn credentials_in_the_url_of_a_redirect_are_not_told() {
        for (scheme, place, expected) in [
            ("ftp", "127.0.0.1/file", "redirects to ftp://127.0.0.1/file?…"),
            ("http", "192.0.2.1/file", "redirected to http://192.0.2.1/file?…"),
            ("http", "127.0.0.1:PORT/images/..%2ffile", "/images/..%2ffile?…"),
        ] {
            let port = redirect_to(move |port| {
                format!("{scheme}://user:hunter2@{}?key=hunter2", place.replace("PORT", &port.to_string()))
            });
            let source = format!("http://127.0.0.1:{port}/images/");
            let allowed = AllowedSources::only(vec![source.parse().unwrap()]);
            let error = fetched_from(allowed, &format!("{source}a")).to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("hunter2") && !error.contains("user"), "{error}");
        }
    }

    #[test]
    fn a_signature_that_is_too_large_is_no_large_base() {
        let large = serve(|stream, _| {
            let body = "x".repeat((4 << 20) + 1);
            say(stream, &format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        });
        let url = format!("http://127.0.0.1:{large}/a.sig");
        let error = fetched(&url);
        assert!(matches!(&error, FetchError::SmallTooLarge { url: told, .. } if *told == url), "{error}");
    }

    #[test]
    fn an_unknown_name_is_told_from_a_name_server_that_does_not_answer() {
        let told = |detail: &str| is_unknown_name(&format!("failed to lookup address information: {detail}"));
        assert!(told("Name or service not known") && told("Name does not resolve"));
        assert!(!told("Temporary failure in name resolution") && !told("Try again"));
    }
}

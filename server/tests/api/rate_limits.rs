//! How many requests a client may send.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::support::{Answer, Dayone, Place, TOKEN};

async fn start(rate: Option<u32>) -> Dayone {
    let place = Place::new();
    let mut config = place.config();
    config.api_clients.add(TOKEN, "the test").unwrap();
    config.api_requests_per_second = rate.and_then(NonZeroU32::new);
    Dayone::start_with(place, config).await
}

/// How many of these requests got the answer 429.
async fn refused(dayone: &Dayone, count: usize, token: &str) -> usize {
    let mut refused = 0;
    for _ in 0..count {
        let answer = Answer::of(dayone.get("/v1/bases").bearer_auth(token)).await;
        if answer.status == 429 {
            answer.problem("too-many-requests");
            assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
            refused += 1;
        }
    }
    refused
}

#[tokio::test]
async fn a_client_that_sends_too_many_requests_waits_and_probes_do_not() {
    let dayone = start(Some(1)).await;
    let count = refused(&dayone, 20, TOKEN).await;
    // Four at once, and one more for each second that the test takes.
    assert!((5..=16).contains(&count), "{count}");
    for path in ["/healthz", "/readyz"] {
        assert_eq!(Answer::of(dayone.get(path)).await.status, 200);
    }
    let page = dayone.get("/").header("accept", "text/html");
    assert_eq!(Answer::of(page).await.status, 429, "the page counts, too");
    // A reload changes the limit.
    let mut config = dayone.place.config();
    config.api_clients.add(TOKEN, "the test").unwrap();
    dayone.server.configure(config);
    assert_eq!(refused(&dayone, 20, TOKEN).await, 0);
}

#[tokio::test]
async fn who_guesses_tokens_is_stopped_long_before_the_limit() {
    let dayone = start(Some(1000)).await;
    assert!(refused(&dayone, 30, "not-a-token-of-this-server").await > 10);
    assert_eq!(Answer::of(dayone.get("/v1/bases").bearer_auth(TOKEN)).await.status, 429, "a right guess shows nothing");
    assert_eq!(refused(&start(None).await, 30, "not-a-token-of-this-server").await, 0, "without the setting");
    let login = |dayone: &Dayone| {
        let form = dayone.client.post(dayone.url("/login")).header("content-type", "application/x-www-form-urlencoded");
        form.body("token=not-a-token-of-this-server")
    };
    let dayone = start(Some(1000)).await;
    let mut last = 0;
    for _ in 0..30 {
        last = Answer::of(login(&dayone)).await.status.as_u16();
    }
    assert_eq!(last, 429, "logins count, too");
}

#[tokio::test]
async fn requests_for_what_does_not_exist_count_too() {
    let dayone = start(Some(1)).await;
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(Answer::of(dayone.get("/no/such/path")).await.status.as_u16());
        statuses.push(Answer::of(dayone.client.patch(dayone.url("/v1/bases"))).await.status.as_u16());
    }
    assert!(statuses.starts_with(&[404, 405]) && statuses.contains(&429), "{statuses:?}");
    assert_eq!(Answer::of(dayone.client.patch(dayone.url("/healthz"))).await.status, 405);
}

/// The bodies arrive when all heads were admitted.
#[tokio::test]
async fn logins_whose_forms_arrive_late_are_no_more_and_make_nobody_wait_longer() {
    let dayone = start(Some(1000)).await;
    let mut logins = Vec::new();
    // The last token is valid.
    for token in [vec!["not-a-token-of-this-server"; 40], vec![TOKEN]].concat() {
        let mut stream = TcpStream::connect(dayone.server.api_address()).await.unwrap();
        let form = format!("token={token}");
        let head = format!(
            "POST /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            form.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        logins.push((stream, form));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    for (stream, form) in &mut logins[..40] {
        stream.write_all(form.as_bytes()).await.unwrap();
    }
    let mut statuses = Vec::new();
    for (mut stream, form) in logins {
        if statuses.len() == 40 {
            stream.write_all(form.as_bytes()).await.unwrap();
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        statuses.push(answer.get(9..12).unwrap_or_default().to_owned());
    }
    let is_early = begun.elapsed() < Duration::from_millis(900);
    let refused = statuses.iter().filter(|status| *status == "403").count();
    // Ten, and one more for each second that the test takes.
    assert!((10..=15).contains(&refused), "{statuses:?}");
    if is_early {
        assert_eq!(statuses.last().unwrap(), "429", "a right guess shows nothing");
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(Answer::of(dayone.get("/v1/bases").bearer_auth(TOKEN)).await.status, 200);
}

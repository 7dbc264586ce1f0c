//! How many requests a client may send.

use std::num::NonZeroU32;

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

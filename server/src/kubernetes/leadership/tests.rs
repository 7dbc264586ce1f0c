//! How often a replica sends requests, and whether it leads meanwhile. The tests with a real API server are in
//! `tests/tests/kubernetes/controller`; here an answer is missing, or a refusal.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;
use tower::service_fn;

use super::*;

fn candidate(client: Client, rights: Rights) -> Candidate {
    let (leads, _) = watch::channel(rights == Rights::Missing);
    Candidate {
        api: Api::namespaced(client, "hosts"),
        name: "dayone".to_owned(),
        identity: "one".to_owned(),
        leads,
        can_make_images: watch::channel(true).1,
        seen: None,
        relied_upon: None,
        rights,
        refused: None,
        unanswered: 0,
        trouble: None,
    }
}

/// An API server that nobody reaches.
fn unreachable() -> Client {
    let refused = |_: Request<Body>| async { Err::<Response<Body>, _>(std::io::Error::other("connection refused")) };
    Client::new(service_fn(refused), "hosts")
}

/// An API server that refuses everything, with this code and this message. Its answers take a moment.
fn refusing(code: u16, message: &str) -> Client {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code});
    let refused = move |_: Request<Body>| {
        let mut answer = Response::new(Body::from(status.to_string().into_bytes()));
        *answer.status_mut() = StatusCode::from_u16(code).unwrap();
        async move {
            sleep(Duration::from_millis(20)).await;
            Ok::<_, Infallible>(answer)
        }
    };
    Client::new(service_fn(refused), "hosts")
}

/// An API server whose Role for this replica has no rule for Leases.
fn forbidding() -> Client {
    let message = "leases.coordination.k8s.io \"dayone\" is forbidden: User \"system:serviceaccount:hosts:dayone\" \
                   cannot get resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"hosts\"";
    refusing(403, message)
}

async fn waits(candidate: &mut Candidate, turns: usize) -> Vec<Duration> {
    let mut waits = Vec::new();
    for _ in 0..turns {
        waits.push(candidate.step().await);
    }
    waits
}

#[tokio::test]
async fn requests_to_an_api_server_that_does_not_answer_become_rare() {
    for (rights, leads) in [(Rights::Unknown, false), (Rights::Granted, false), (Rights::Missing, true)] {
        let mut candidate = candidate(unreachable(), rights);
        let waits = waits(&mut candidate, 6).await;
        for (wait, at_least) in waits.iter().zip([2, 4, 8, 10, 10, 10]) {
            let at_least = Duration::from_secs(at_least);
            assert!(*wait >= at_least && *wait <= at_least.mul_f64(1.21), "{waits:?}");
        }
        assert_eq!(*candidate.leads.borrow(), leads, "nothing is known of who leads");
    }
}

#[tokio::test]
async fn without_an_answer_the_holder_leads_no_longer_than_its_lease() {
    let mut candidate = candidate(unreachable(), Rights::Granted);
    candidate.lead(true);
    candidate.relied_upon = Some(Instant::now() + Duration::from_millis(50));
    let wait = candidate.step().await;
    assert!(*candidate.leads.borrow() && wait <= Duration::from_millis(50), "{wait:?}");
    sleep(wait).await;
    candidate.step().await;
    assert!(!*candidate.leads.borrow());
}

#[tokio::test]
async fn the_end_of_a_lease_does_not_hide_what_the_api_server_answers() {
    let mut candidate = candidate(refusing(500, "down"), Rights::Granted);
    candidate.lead(true);
    candidate.relied_upon = Some(Instant::now());
    candidate.step().await;
    assert_eq!(candidate.trouble.as_deref(), Some("down (500)"));
    assert!(!*candidate.leads.borrow());

    // It does not lead while it waits for an answer.
    let lease = Arc::default();
    let mut candidate = holds(slow(Duration::from_secs(5), &lease), &lease);
    candidate.lead(true);
    candidate.relied_upon = Some(Instant::now());
    let answered = timeout(Duration::from_millis(100), candidate.step()).await;
    assert!(answered.is_err() && !*candidate.leads.borrow());
}

#[tokio::test]
async fn without_the_right_from_the_start_a_replica_leads_after_three_refusals() {
    let mut candidate = candidate(forbidding(), Rights::Unknown);
    assert_eq!(waits(&mut candidate, 2).await, [RETRY, RETRY]);
    assert!(!*candidate.leads.borrow());
    let wait = candidate.step().await;
    assert!(*candidate.leads.borrow() && wait >= FORBIDDEN, "{wait:?}");
}

#[tokio::test]
async fn after_a_revoked_right_the_lease_of_another_replica_expires_first() {
    let mut candidate = candidate(forbidding(), Rights::Granted);
    waits(&mut candidate, 5).await;
    assert!(!*candidate.leads.borrow(), "another replica may still hold the Lease");
    let since = Instant::now().checked_sub(DURATION).unwrap();
    candidate.refused = Some((5, since));
    candidate.step().await;
    assert!(*candidate.leads.borrow());
}

#[tokio::test]
async fn a_quota_or_a_webhook_that_refuses_the_lease_does_not_end_the_election() {
    for (code, message) in [
        (403, "leases.coordination.k8s.io \"dayone\" is forbidden: exceeded quota: leases, requested: count/leases=1"),
        (403, "admission webhook \"policy.example.com\" denied the request: no leases here"),
        (500, "Internal error occurred: failed calling webhook \"policy.example.com\""),
    ] {
        let mut candidate = candidate(refusing(code, message), Rights::Unknown);
        waits(&mut candidate, 5).await;
        assert!(!*candidate.leads.borrow() && candidate.rights == Rights::Unknown, "{message}");
        // What the log has.
        assert_eq!(candidate.trouble, Some(format!("{message} ({code})")));
    }
}

#[tokio::test]
async fn what_is_wrong_with_the_lease_is_over_with_an_answer() {
    let lease = Arc::new(Mutex::new(Some(Lease::default())));
    let mut candidate = candidate(unreachable(), Rights::Unknown);
    candidate.step().await;
    assert!(candidate.trouble.as_ref().is_some_and(|trouble| trouble.contains("connection refused")));
    candidate.api = Api::namespaced(slow(Duration::ZERO, &lease), "hosts");
    candidate.step().await;
    assert!(*candidate.leads.borrow() && candidate.trouble.is_none());
}

/// Reading and writing the Lease takes more than 4 s together. The Lease counts from the write.
#[tokio::test]
async fn a_replica_that_holds_nothing_waits_for_a_slow_api_server() {
    let delay = Duration::from_millis(2100);
    let lease = Arc::new(Mutex::new(Some(Lease::default())));
    let mut candidate = candidate(slow(delay, &lease), Rights::Unknown);
    let wait = candidate.step().await;
    assert!(*candidate.leads.borrow(), "{:?}", candidate.trouble);
    let left = candidate.relied_upon.unwrap().saturating_duration_since(Instant::now());
    assert!(left > Duration::from_secs(7) && left <= RELIED_UPON.saturating_sub(delay), "{left:?}");
    assert!(wait > Duration::from_secs(2) && wait <= RENEW.saturating_sub(delay), "{wait:?}");
}

/// An API server that carries each request out at once, answers it after this time, and keeps the Lease. The Lease has no versions.
fn slow(answers_after: Duration, lease: &Arc<Mutex<Option<Lease>>>) -> Client {
    let lease = Arc::clone(lease);
    let keep = move |request: Request<Body>| {
        let lease = Arc::clone(&lease);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let text = {
                let mut lease = lease.lock();
                if head.method != Method::GET {
                    *lease = Some(serde_json::from_slice(&body).unwrap());
                }
                serde_json::to_vec(&*lease).unwrap()
            };
            sleep(answers_after).await;
            Ok::<_, Infallible>(Response::new(Body::from(text)))
        }
    };
    Client::new(service_fn(keep), "hosts")
}

fn holder(lease: &Mutex<Option<Lease>>) -> Option<String> {
    lease.lock().as_ref()?.spec.as_ref()?.holder_identity.clone()
}

/// A candidate that holds the Lease and has to renew it.
fn holds(client: Client, lease: &Mutex<Option<Lease>>) -> Candidate {
    let mut candidate = candidate(client, Rights::Granted);
    let mut spec = LeaseSpec::default();
    candidate.fill(&mut spec, Timestamp::now());
    let held = Lease { spec: Some(spec), ..Lease::default() };
    *lease.lock() = Some(held.clone());
    candidate.seen = Some((held, Instant::now()));
    candidate.relied_upon = Some(Instant::now() + RELIED_UPON);
    candidate
}

#[tokio::test]
async fn the_next_renewal_is_due_as_long_after_a_slow_one_as_after_a_fast_one() {
    let (delay, lease) = (Duration::from_millis(200), Arc::default());
    let mut candidate = holds(slow(delay, &lease), &lease);
    let wait = candidate.step().await;
    assert!(*candidate.leads.borrow() && wait <= RENEW.saturating_sub(delay), "{wait:?}");
}

#[tokio::test]
async fn a_replica_that_is_stopped_during_a_renewal_releases_the_lease() {
    let lease = Arc::default();
    let candidate = holds(slow(Duration::from_millis(200), &lease), &lease);
    let stopping = CancellationToken::new();
    let task = tokio::spawn(candidate.run(stopping.clone()));
    sleep(Duration::from_millis(50)).await;
    stopping.cancel();
    task.await.unwrap();
    assert_eq!(holder(&lease).as_deref(), Some(""));
}

#[tokio::test]
async fn a_replica_whose_last_renewal_had_no_answer_reads_the_lease_to_release_it() {
    let lease = Arc::default();
    let mut candidate = holds(slow(Duration::ZERO, &lease), &lease);
    candidate.seen = None;
    candidate.withdraw().await;
    assert_eq!(holder(&lease).as_deref(), Some(""));

    // Another replica has taken it meanwhile.
    let mut candidate = holds(slow(Duration::ZERO, &lease), &lease);
    candidate.seen = None;
    if let Some(spec) = lease.lock().as_mut().and_then(|lease| lease.spec.as_mut()) {
        spec.holder_identity = Some("two".to_owned());
    }
    candidate.withdraw().await;
    assert_eq!(holder(&lease).as_deref(), Some("two"));
}

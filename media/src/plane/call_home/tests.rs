//! Tests of calls home.

use tokio::time::Instant;

use super::*;

const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz";

fn head(agent: &str) -> Parts {
    http::Request::get("/").header(USER_AGENT, agent).body(()).unwrap().into_parts().0
}

fn expected(calls: &CallHomes) -> ExpectedCall {
    calls.expect(TOKEN.parse().unwrap()).unwrap()
}

fn pending(called: Option<Called>) -> Pending {
    match called {
        Some(Called::Pending(pending)) => pending,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_reaches_those_who_wait_for_it_and_the_first_one_counts() {
    let calls = CallHomes::default();
    assert!(calls.call(TOKEN, &head("early")).is_none(), "nobody waits yet");
    let (mut one, two) = (expected(&calls), expected(&calls));
    assert_eq!(one.call(), None, "what came before does not count");
    assert!(calls.call(&TOKEN.replace('a', "b"), &head("other")).is_none());
    assert!(calls.call("short", &head("none")).is_none());
    pending(calls.call(TOKEN, &head("first")));
    pending(calls.call(TOKEN, &head("second")));
    one.arrives().await;
    for waiting in [&one, &two] {
        assert_eq!(waiting.call().unwrap().user_agent.as_deref(), Some("first"));
    }
    drop((one, two));
    assert!(calls.call(TOKEN, &head("late")).is_none(), "nobody waits any longer");
    let _waiting = expected(&calls);
    calls.forget(&TOKEN.parse().unwrap());
    assert!(calls.call(TOKEN, &head("forgotten")).is_none());
}

#[tokio::test]
async fn an_answer_waits_for_the_record_and_later_calls_get_theirs_at_once() {
    let calls = CallHomes::default();
    let (one, two) = (expected(&calls), expected(&calls));
    let first = tokio::spawn(pending(calls.call(TOKEN, &head("first"))).until_recorded());
    tokio::time::sleep(MAX_WAIT / 4).await;
    assert!(!first.is_finished());
    drop(two);
    tokio::time::sleep(MAX_WAIT / 4).await;
    assert!(!first.is_finished(), "the other one has yet to record it");
    one.recorded();
    assert!(first.await.unwrap());
    assert!(matches!(calls.call(TOKEN, &head("again")), Some(Called::Recorded)), "its answer was lost");
    let _next = expected(&calls);
    pending(calls.call(TOKEN, &head("the next boot")));
}

#[tokio::test]
async fn nobody_who_stops_waiting_or_takes_too_long_gives_a_host_its_answer() {
    let calls = CallHomes::default();
    let waiting = expected(&calls);
    let stopped = tokio::spawn(pending(calls.call(TOKEN, &head("host"))).until_recorded());
    tokio::time::sleep(MAX_WAIT / 4).await;
    drop(waiting);
    assert!(!stopped.await.unwrap());

    let waiting = expected(&calls);
    let begin = Instant::now();
    assert!(!pending(calls.call(TOKEN, &head("host"))).until_recorded().await);
    assert!((MAX_WAIT..MAX_WAIT * 11 / 10).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    waiting.recorded();
    assert!(matches!(calls.call(TOKEN, &head("again")), Some(Called::Recorded)));
}

#[test]
fn the_number_of_expected_calls_is_limited_and_what_nobody_waits_for_does_not_count() {
    let calls = CallHomes::default();
    let token = |number: usize| {
        let letters = (0..4).map(|place| char::from(b'a' + u8::try_from((number >> (4 * place)) % 16).unwrap()));
        format!("{}{}", letters.collect::<String>(), "a".repeat(22)).parse::<MediaToken>().unwrap()
    };
    let mut waiting: Vec<_> = (0..MAX_EXPECTED).map(|number| calls.expect(token(number)).unwrap()).collect();
    assert_eq!(calls.expect(token(MAX_EXPECTED)).unwrap_err(), TooManyExpected);
    calls.recorded(token(MAX_EXPECTED));
    waiting.pop().unwrap().recorded();
    waiting.pop();
    assert!(calls.expect(token(MAX_EXPECTED)).is_ok());
    calls.recorded(token(MAX_EXPECTED + 1));
    assert_eq!(calls.by_token().len(), MAX_EXPECTED);
}

#[tokio::test]
async fn a_dismissed_call_gets_its_answer_and_the_next_one_counts() {
    let calls = CallHomes::default();
    let one = expected(&calls);
    let first = pending(calls.call(TOKEN, &head("another host")));
    let mut one = one.dismiss().unwrap();
    assert!(first.until_recorded().await);
    assert_eq!(one.call(), None);
    let second = tokio::spawn(pending(calls.call(TOKEN, &head("the host"))).until_recorded());
    one.arrives().await;
    assert_eq!(one.call().unwrap().user_agent.as_deref(), Some("the host"));
    tokio::time::sleep(MAX_WAIT / 4).await;
    assert!(!second.is_finished(), "it has yet to be recorded");
    one.recorded();
    assert!(second.await.unwrap());
}

//! Hosts that call home.

use super::server::start;

const HOME: &str = "/h/abcdefghijklmnopqrstuvwxyz";

#[tokio::test]
async fn a_host_is_answered_while_somebody_waits_for_it() {
    let server = start().await;
    let mut client = server.connect().await;
    assert_eq!(client.ask("GET", HOME, &[]).await.status, 404);

    let token = HOME.trim_start_matches("/h/");
    let mut waiting = server.call_homes.expect(token.parse().unwrap()).unwrap();
    assert_eq!(client.ask("POST", HOME, &["Content-Length: 0"]).await.status, 405);
    for other in ["/h/abcdefghijklmnopqrstuvwxya", "/h/abcdefghijklmnopqrstuvwxyz/", "/h/"] {
        assert_eq!(client.ask("GET", other, &[]).await.status, 404, "{other}");
    }
    assert!(!waiting.has_changed().unwrap());

    let answer = client.ask("GET", HOME, &["User-Agent: host/1"]).await;
    assert_eq!((answer.status, answer.header("cache-control")), (204, "no-store"));
    waiting.changed().await.unwrap();
    let call = waiting.borrow().clone().unwrap();
    assert_eq!((call.user_agent.as_deref(), call.tls), (Some("host/1"), None));
    assert_eq!(call.peer.map(|peer| peer.ip()), Some([127, 0, 0, 1].into()));
    assert_eq!(client.ask("HEAD", HOME, &[]).await.status, 204);

    drop(waiting);
    assert_eq!(client.ask("GET", HOME, &[]).await.status, 404);
}

//! Names that do not resolve.

use super::super::*;
use crate::Verification;

#[tokio::test]
async fn a_name_that_does_not_resolve_is_looked_up_again() {
    let address = "http://no-such-host.invalid".parse().unwrap();
    let target = Target { address, credentials: None, verification: Verification::System };
    let options = ClientOptions { retries: 1, ..ClientOptions::default() };
    // Without `Client::connect`, whose error does not say how often the client has tried.
    let client = Client {
        exchange: Arc::new(Exchange::new(&target, &options).unwrap()),
        root: Box::default(),
        sessions: None,
        login: Mutex::new(Login::Fixed(Authorization::None)),
        password_accepted: AtomicBool::new(false),
        password_refusal: OnceLock::new(),
    };
    let error = client.get(ROOT).await.unwrap_err();
    assert!(matches!(error, RedfishError::Unresolved { .. }) && error.is_transient(), "{error}");
    assert_eq!(client.requests().len(), 2);
}

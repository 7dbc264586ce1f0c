//! Authentication of clients: sessions (DSP0266, clause "Redfish session login authentication") and HTTP's basic authentication.

use std::collections::BTreeMap;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};
use serde_json::{Value, json};

use super::answer::Answer;
use super::behaviour::Login;

/// The user of every emulated BMC.
pub const USERNAME: &str = "operator";
/// The password of every emulated BMC.
pub const PASSWORD: &str = "emulated-secret";
/// The header of basic authentication with both.
const BASIC: &str = "Basic b3BlcmF0b3I6ZW11bGF0ZWQtc2VjcmV0";

const TOKEN: HeaderName = HeaderName::from_static("x-auth-token");
/// The maximum number of sessions, as on many BMCs: a client that does not close its sessions locks itself out.
const MAX_SESSIONS: usize = 6;

/// The open sessions: the token of each, by its path.
#[derive(Default)]
pub(super) struct Sessions {
    open: BTreeMap<String, String>,
    count: usize,
}

impl Sessions {
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    pub(super) fn close_all(&mut self) {
        self.open.clear();
    }

    /// Logs a client in. `collection` is the path of the sessions.
    pub(super) fn log_in(&mut self, login: Login, collection: &str, body: &Value) -> Answer {
        if login == Login::Basic {
            return Answer::not_allowed("GET, HEAD");
        }
        if body["UserName"] != USERNAME || body["Password"] != PASSWORD {
            return refused();
        }
        if self.open.len() >= MAX_SESSIONS {
            let text =
                "The session establishment failed due to the number of simultaneous sessions exceeding the limit.";
            return Answer::error(503, "SessionLimitExceeded", text, &[]);
        }
        self.count += 1;
        let path = format!("{collection}/{}", self.count);
        let token = format!("emulated-token-{}", self.count);
        self.open.insert(path.clone(), token.clone());
        let session = json!({
            "@odata.id": path,
            "@odata.type": "#Session.v1_3_0.Session",
            "Id": self.count.to_string(),
            "Name": "Session",
            "UserName": USERNAME,
        });
        Answer::json(201, session).location(&path).header(TOKEN, &token)
    }

    /// Logs a client out.
    pub(super) fn log_out(&mut self, path: &str) -> Answer {
        let status = if self.open.remove(path).is_some() { 204 } else { 404 };
        Answer::status(status)
    }

    /// Whether these headers authenticate a client.
    pub(super) fn knows(&self, login: Login, headers: &HeaderMap) -> bool {
        let of = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let by_token = of(TOKEN).is_some_and(|token| self.open.values().any(|open| open == token));
        let by_password = of(AUTHORIZATION) == Some(BASIC);
        match login {
            Login::SessionOrBasic => by_token || by_password,
            Login::Session => by_token,
            Login::Basic => by_password,
        }
    }
}

/// Returns status 401.
pub(super) fn refused() -> Answer {
    let text = "There is no valid session established with the implementation.";
    Answer::error(401, "NoValidSession", text, &[])
}

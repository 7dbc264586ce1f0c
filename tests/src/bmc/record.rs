//! The requests that a BMC has received.

use http::Method;
use serde_json::Value;

/// A request and the status of its answer, or 0 without an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub method: Method,
    pub path: String,
    /// The body, or `null`. Passwords are `***`.
    pub body: Value,
    pub status: u16,
}

impl Record {
    pub(super) fn new(method: Method, path: &str, body: &Value, status: u16) -> Self {
        let mut body = body.clone();
        if let Some(password) = body.get_mut("Password").filter(|password| *password != "none") {
            *password = "***".into();
        }
        Self { method, path: path.to_owned(), body, status }
    }

    /// Whether the request changes something. Logins and logouts do not count.
    pub fn is_write(&self) -> bool {
        !matches!(self.method, Method::GET | Method::HEAD) && !self.path.contains("/Sessions")
    }
}

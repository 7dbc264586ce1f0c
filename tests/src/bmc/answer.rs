//! Answers, and errors as Redfish words them (DSP0266, clause "Error responses"; messages of the Base registry).

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, ETAG, LOCATION};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

/// The answer to a request.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(HeaderName, String)>,
    body: Option<Value>,
}

impl Answer {
    pub(super) fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: None }
    }

    pub(super) fn json(status: u16, body: Value) -> Self {
        Self { body: Some(body), ..Self::status(status) }
    }

    /// Returns an error with a message of the Base registry.
    pub(super) fn error(status: u16, message: &str, text: &str, arguments: &[&str]) -> Self {
        let id = if message.contains('.') { message.to_owned() } else { format!("Base.1.8.{message}") };
        let extended = json!({
            "@odata.type": "#Message.v1_1_1.Message",
            "MessageId": id,
            "Message": text,
            "MessageArgs": arguments,
            "Severity": "Critical",
            "Resolution": "None.",
        });
        let body = json!({"error": {
            "code": "Base.1.8.GeneralError",
            "message": "A general error has occurred. See ExtendedInfo for more information.",
            "@Message.ExtendedInfo": [extended],
        }});
        Self::json(status, body)
    }

    /// Returns status 405 with the allowed methods.
    pub(super) fn not_allowed(allow: &str) -> Self {
        let text = "The request is not allowed on this resource.";
        Self::error(405, "OperationNotAllowed", text, &[]).header(ALLOW, allow)
    }

    pub(super) fn header(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn etag(self, etag: Option<&str>) -> Self {
        match etag {
            Some(etag) => self.header(ETAG, etag),
            None => self,
        }
    }

    pub(super) fn location(self, path: &str) -> Self {
        self.header(LOCATION, path)
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let body = self.body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = StatusCode::from_u16(self.status).expect("a status");
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("OData-Version", HeaderValue::from_static("4.0"));
        for (name, value) in self.headers {
            headers.insert(name, HeaderValue::from_str(&value).expect("a header"));
        }
        response
    }
}

impl Answer {
    /// Returns the messages of an error, in the form of a task.
    pub(super) fn messages(&self) -> Vec<Value> {
        let messages = self.body.as_ref().map(|body| &body["error"]["@Message.ExtendedInfo"]);
        messages.and_then(Value::as_array).cloned().unwrap_or_default()
    }
}

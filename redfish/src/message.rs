//! Reads a BMC's messages (`@Message.ExtendedInfo`, DSP0266 §8.6, schema `Message`) as short texts with secrets masked.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::secrets::Secrets;

/// Maximum number of messages of one answer.
const MAX_MESSAGES: usize = 8;
/// Maximum length of one text, in characters.
const MAX_TEXT: usize = 400;
/// How many characters of a token are shown.
const SHOWN: usize = 6;

/// A message of a BMC (schema `Message`). Secrets in it are masked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `MessageId`: registry, version and key, such as `Base.1.8.PropertyUnknown`. Empty if the BMC gives none.
    pub id: String,
    /// `Message`: the text. Empty if the BMC gives none.
    pub text: String,
    /// `Resolution`: what the BMC recommends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
    /// `RelatedProperties` and `MessageArgs`: what the message is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<String>,
}

impl Message {
    /// The last part of the id, such as `PropertyUnknown`.
    pub fn key(&self) -> &str {
        self.id.rsplit('.').next().unwrap_or_default()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.text.as_str(), self.id.as_str()) {
            ("", id) => f.write_str(id),
            (text, "") => f.write_str(text),
            (text, id) => write!(f, "{text} ({id})"),
        }
    }
}

/// Displays messages behind an error: `: first; second`.
pub(super) struct Messages<'a>(pub(super) &'a [Message]);

impl fmt::Display for Messages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, message) in self.0.iter().enumerate() {
            write!(f, "{}{message}", if n == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

/// Reads the messages of an answer: of an error, of a success with additional information, or of a task (`Messages`).
pub(super) fn messages(body: &Value, secrets: &Secrets) -> Vec<Message> {
    let error = body.get("error");
    let lists = [
        error.and_then(|error| error.get("@Message.ExtendedInfo")),
        body.get("@Message.ExtendedInfo"),
        body.get("Messages"),
    ];
    let mut found: Vec<Message> = Vec::new();
    for list in lists.into_iter().flatten() {
        // Some firmware sends one message instead of a list with one.
        let members = match list {
            Value::Array(members) => members.as_slice(),
            single => std::slice::from_ref(single),
        };
        for member in members {
            let message = message(member, secrets);
            if found.len() < MAX_MESSAGES
                && !(message.id.is_empty() && message.text.is_empty())
                && !found.contains(&message)
            {
                found.push(message);
            }
        }
    }
    // The error's own message usually refers to the list. If the list has no text, it is the only text.
    if found.iter().all(|message| message.text.is_empty())
        && let Some(error) = error
    {
        let text = text(error.get("message"), secrets);
        if !text.is_empty() {
            let id = self::text(error.get("code"), secrets);
            found.retain(|message| message.id != id);
            found.insert(0, Message { id, text, ..Message::default() });
            found.truncate(MAX_MESSAGES);
        }
    }
    found
}

fn message(member: &Value, secrets: &Secrets) -> Message {
    let list = |name: &str| member.get(name).and_then(Value::as_array).into_iter().flatten();
    let about = list("RelatedProperties").chain(list("MessageArgs")).take(MAX_MESSAGES);
    let resolution = text(member.get("Resolution"), secrets);
    Message {
        id: text(member.get("MessageId"), secrets),
        text: text(member.get("Message"), secrets),
        resolution: (!matches!(resolution.as_str(), "" | "None" | "None.")).then_some(resolution),
        about: about.map(|value| text(Some(value), secrets)).filter(|text| !text.is_empty()).collect(),
    }
}

fn text(value: Option<&Value>, secrets: &Secrets) -> String {
    value.and_then(Value::as_str).map(|text| clean(text, secrets)).unwrap_or_default()
}

/// Makes a BMC's text safe to show: short, on one line, with secrets masked and tokens shortened.
pub(super) fn clean(text: &str, secrets: &Secrets) -> String {
    // Masking comes first: a secret that was cut in two would not be recognised.
    let text = without_tokens(&secrets.mask(text));
    let line: Vec<&str> =
        text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty()).collect();
    let line = line.join(" ");
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Shortens the tokens in images' URLs to six characters. Such a token, the segment after `/i/` or `/h/` in a path, is
/// a credential, and BMCs show the URLs of images and repeat them in errors. Some BMCs percent-encode them there.
pub fn without_tokens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = split_before_token(rest) {
        out.push_str(before);
        let token = after_slash(behind).unwrap_or_default();
        let end = token.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(token.len());
        if let (Some(beginning), true) = (token.get(..SHOWN), end > SHOWN) {
            let slash = behind.get(..behind.len() - token.len()).unwrap_or_default();
            out.extend([slash, beginning, "…"]);
            rest = token.get(end..).unwrap_or_default();
        } else {
            // It is no token. Its slash may be the first one of another `/i/`.
            rest = behind;
        }
    }
    out.push_str(rest);
    out
}

/// Splits a text before the second slash of the first `/i/` or `/h/`.
fn split_before_token(text: &str) -> Option<(&str, &str)> {
    text.match_indices(['/', '%']).find_map(|(at, _)| {
        let behind = after_slash(text.get(at..)?)?.strip_prefix(['i', 'h'])?;
        after_slash(behind)?;
        text.split_at_checked(text.len() - behind.len())
    })
}

/// The text behind a slash, which may be percent-encoded: `%2F`, or `%252F` after another time.
fn after_slash(text: &str) -> Option<&str> {
    text.strip_prefix('/').or_else(|| {
        let mut encoded = text.strip_prefix('%')?;
        while let Some(once_less) = encoded.strip_prefix("25") {
            encoded = once_less;
        }
        ["2F", "2f"].iter().find_map(|hex| encoded.strip_prefix(hex))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn extended_information_is_read_wherever_firmware_puts_it() {
        let info = json!([{"MessageId": "Base.1.8.PropertyUnknown", "Message": "Inserted is not known.",
            "RelatedProperties": ["#/Inserted"], "MessageArgs": ["Inserted"], "Resolution": "Remove it."}]);
        let expected = Message {
            id: "Base.1.8.PropertyUnknown".to_owned(),
            text: "Inserted is not known.".to_owned(),
            resolution: Some("Remove it.".to_owned()),
            about: vec!["#/Inserted".to_owned(), "Inserted".to_owned()],
        };
        assert_eq!(expected.key(), "PropertyUnknown");
        for body in [
            json!({"error": {"code": "Base.1.8.GeneralError", "message": "See the list.", "@Message.ExtendedInfo": info}}),
            json!({"@Message.ExtendedInfo": info}),
            json!({"Messages": info}),
            json!({"error": {"@Message.ExtendedInfo": info[0]}}),
        ] {
            assert_eq!(messages(&body, &Secrets::default()), std::slice::from_ref(&expected), "{body}");
        }
        let emulator = json!({"error": {"code": "Base.1.0.GeneralError", "message": "No such thing",
            "@Message.ExtendedInfo": [{"MessageId": "Base.1.0.GeneralError"}]}});
        let found = messages(&emulator, &Secrets::default());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "No such thing (Base.1.0.GeneralError)");
        for nothing in
            [json!(null), json!([]), json!("text"), json!({"error": "text"}), json!({"error": {"message": 4}})]
        {
            assert_eq!(messages(&nothing, &Secrets::default()), [], "{nothing}");
        }
    }

    #[test]
    fn texts_are_bounded_and_hold_no_secret() {
        let token = "uws2ljnfuws2ljnfuws2ljnfuw";
        let body = json!({"error": {"@Message.ExtendedInfo": [{"MessageId": "Base.1.8.X",
            "Message": format!("The value http://192.0.2.1/i/{token}/boot.iso\nof user root with hunter2"),
            "MessageArgs": [format!("http://192.0.2.1/i/{token}/boot.iso"), "hunter2"]}]}});
        let mut secrets = Secrets::default();
        secrets.add("hunter2");
        secrets.add("");
        let shown = format!("{:?}", messages(&body, &secrets));
        assert!(
            !shown.contains("hunter2") && !shown.contains("uws2ljn") && shown.contains("/i/uws2lj…/boot.iso"),
            "{shown}"
        );
        assert!(!shown.contains('\n'));
        let many: Vec<Value> =
            (0..100).map(|n| json!({"MessageId": n.to_string(), "Message": "ü".repeat(10_000)})).collect();
        let found = messages(&json!({"Messages": many}), &Secrets::default());
        assert_eq!(found.len(), MAX_MESSAGES);
        assert!(found.iter().all(|message| message.text.chars().count() == MAX_TEXT + 1));
    }

    #[test]
    fn tokens_are_shortened_however_their_url_is_encoded() {
        for (text, shown) in [
            ("x/i/uws2ljnfuws2/boot.iso /h/uws2ljnfuws2", "x/i/uws2lj…/boot.iso /h/uws2lj…"),
            ("http%3A%2F%2Fx%2Fi%2Fuws2ljnfuws2%2Fboot.iso", "http%3A%2F%2Fx%2Fi%2Fuws2lj…%2Fboot.iso"),
            ("http%3a%2f%2fx%2fh%2fuws2ljnfuws2", "http%3a%2f%2fx%2fh%2fuws2lj…"),
            ("x%252Fi%252Fuws2ljnfuws2%252Fboot.iso", "x%252Fi%252Fuws2lj…%252Fboot.iso"),
            ("/%2Fi%2Fi/uws2ljnfuws2", "/%2Fi%2Fi/uws2lj…"),
            ("/i/i/uws2ljnfuws2", "/i/i/uws2lj…"),
            ("100%/i%2Fuws2ljnfuws2", "100%/i%2Fuws2lj…"),
            ("/i/short 100% /x/ü%", "/i/short 100% /x/ü%"),
        ] {
            assert_eq!(without_tokens(text), shown);
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let key = prop_oneof![
            Just("error"),
            Just("@Message.ExtendedInfo"),
            Just("Messages"),
            Just("MessageId"),
            Just("Message"),
            Just("MessageArgs"),
            Just("TaskState"),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,40}(/i/[a-z2-7]{0,30})?".prop_map(Value::from)
        ];
        leaf.prop_recursive(5, 60, 6, move |inner| {
            let members = proptest::collection::vec((key.clone(), inner.clone()), 0..6);
            let object =
                members.prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
            prop_oneof![proptest::collection::vec(inner, 0..6).prop_map(Value::Array), object]
        })
    }

    proptest! {
        #[test]
        fn no_answer_panics_or_shows_a_token(body in any_json()) {
            let mut secrets = Secrets::default();
            secrets.add("a");
            for message in messages(&body, &secrets) {
                prop_assert!(!message.text.contains('a'), "{}", message);
                let token = message.text.split("/i/").nth(1).unwrap_or_default();
                prop_assert!(token.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().len() <= SHOWN);
            }
            let _ = crate::task::progress(http::StatusCode::OK, &body);
            let _ = crate::task::monitor(None, &body);
        }
    }
}

//! Reading JSON of ours, and saying where it is wrong without repeating what it holds.

use serde::de::DeserializeOwned;

use super::problem::{Problem, ProblemKind};

/// Reads `body`. What is unknown is refused; the problem names its place by line, column and path, and never a value,
/// which might be a secret.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        let place = format!("line {}, column {}", error.line(), error.column());
        let message = without_value(&error);
        if path == "." {
            refuse(&format!("{place}: {message}"))
        } else {
            refuse(&format!("{place}, {path}: {message}"))
        }
    })?;
    let end = deserializer.end();
    end.map_err(|error| refuse(&format!("line {}, column {}: something follows it", error.line(), error.column())))?;
    Ok(value)
}

/// Reads a part of a body, put together anew: places in it say nothing to the client, and only paths are named.
pub(super) fn read_part<T: DeserializeOwned>(part: &[u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(part);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let message = without_value(error.inner());
        if path == "." { refuse(&message) } else { refuse(&format!("{path}: {message}")) }
    })
}

fn refuse(message: &str) -> Problem {
    Problem::new(ProblemKind::MalformedRequest, format!("the JSON of the request is wrong: {message}"))
}

/// Serde's own messages about a wrong type quote the value. All other messages are ours, or name members.
fn without_value(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    let quotes = ["invalid type: ", "invalid value: ", "invalid length ", "unknown variant "];
    if quotes.iter().any(|quote| message.starts_with(quote)) {
        return message.rsplit_once(", expected ").map_or_else(
            || "it is not of the right type".to_owned(),
            |(_, expected)| format!("this should be {expected}"),
        );
    }
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Outer {
        inner: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Inner {
        list: Vec<u8>,
    }

    #[test]
    fn places_are_named_and_values_are_not() {
        for (bad, expected) in [
            ("{\"inner\": [\n{\"list\": \"hunter2\"}]}", "line 2, column 18, inner[0].list: this should be a sequence"),
            ("{\"inner\": [{\"list\": [], \"x\": 1}]}", "inner[0].x: unknown field `x`, expected `list`"),
            ("{\"inner\": [{}]}", "inner[0]: missing field `list`"),
            ("{\"inner\": [], \"inner\": []}", "duplicate field"),
            ("{\"inner\": []} hunter2", "line 1, column 15: something follows it"),
            ("{\"inner\": [}", "line 1, column 12"),
            ("", "line 1, column 0: EOF"),
            ("\"hunter2, expected hunter2\"", "this should be struct Outer"),
            ("\u{feff}{}", "line 1, column 1"),
        ] {
            let problem = read::<Outer>(bad.as_bytes()).unwrap_err();
            assert!(problem.detail().contains(expected), "{bad}: {}", problem.detail());
            assert!(!problem.detail().contains("hunter2"), "{}", problem.detail());
        }
        assert!(read::<Outer>(b"{\"inner\": [{\"list\": [1]}]}").is_ok());
        assert!(read::<Outer>(b"\xff").is_err());
    }
}

//! Formats errors with their causes.

use std::error::Error;

/// Formats an error and its causes on one line. Leaves out a cause that the error already quotes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut sentence = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !sentence.contains(&message) {
            sentence = format!("{sentence}: {message}");
        }
        cause = error.source();
    }
    sentence
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Example {
        #[error("the base cannot be read: {0}")]
        Quoting(#[source] io::Error),
        #[error("the base cannot be read")]
        Silent(#[source] io::Error),
    }

    #[test]
    fn causes_are_named_once() {
        let error = || io::Error::other("disk on fire");
        for example in [Example::Quoting(error()), Example::Silent(error())] {
            assert_eq!(chain(&example), "the base cannot be read: disk on fire");
        }
    }
}

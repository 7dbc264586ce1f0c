//! User names and passwords of BMCs. No error, log or `Debug` output shows a password.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Maximum size of a file with a user name or a password, in bytes.
const MAX_LENGTH: u64 = 4096;

/// A BMC's password. `Debug` hides it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Password(String);

impl Password {
    /// The password itself. Pass it to nothing but the BMC.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Reads the password from a file of at most 4096 bytes, without a byte order mark and the line break at the end.
    pub fn from_file(path: &Path) -> Result<Self, CredentialsError> {
        Ok(Self(read_line(path)?))
    }
}

impl From<String> for Password {
    fn from(password: String) -> Self {
        Self(password)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// The account that logs in to a BMC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The account's name.
    pub username: String,
    /// The account's password.
    pub password: Password,
}

/// Why credentials cannot be used. Names files and variables, but never shows their content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file is too large.
    #[error("{} is longer than {MAX_LENGTH} bytes, too long for a user name or a password", _0.display())]
    TooLong(PathBuf),
    /// A file is not UTF-8.
    #[error("{} is not UTF-8 text", _0.display())]
    NotText(PathBuf),
    /// Only one of two variables is set.
    #[error("only one of {prefix}_USERNAME and {prefix}_PASSWORD is set; set both")]
    Half {
        /// The prefix of the variables' names.
        prefix: String,
    },
    /// The user name is empty, or has a colon or a control character.
    #[error("the BMC's user name is empty, or contains a colon or a control character")]
    Username,
    /// The password has a control character, such as a line break.
    #[error("the BMC's password contains a control character, such as a line break")]
    Password,
}

impl Credentials {
    /// Checks that both can be sent to a BMC.
    pub fn new(username: String, password: Password) -> Result<Self, CredentialsError> {
        // RFC 7617 §2: the user name ends at the first colon.
        if username.is_empty() || username.contains(|c: char| c == ':' || c.is_control()) {
            return Err(CredentialsError::Username);
        }
        if password.0.contains(char::is_control) {
            return Err(CredentialsError::Password);
        }
        Ok(Self { username, password })
    }

    /// Reads the files `username` and `password` in a directory, such as a mounted Kubernetes Secret.
    pub fn from_directory(directory: &Path) -> Result<Self, CredentialsError> {
        Self::from_files(&directory.join("username"), &directory.join("password"))
    }

    /// Reads two files, each with one line.
    pub fn from_files(username: &Path, password: &Path) -> Result<Self, CredentialsError> {
        let username = read_line(username)?;
        Self::new(username, Password::from_file(password)?)
    }

    /// Reads the environment variables `PREFIX_USERNAME` and `PREFIX_PASSWORD`. Returns `None` if neither is set.
    pub fn from_environment(prefix: &str) -> Result<Option<Self>, CredentialsError> {
        let variable = |name: &str| std::env::var(format!("{prefix}_{name}")).ok().filter(|value| !value.is_empty());
        match (variable("USERNAME"), variable("PASSWORD")) {
            (None, None) => Ok(None),
            (Some(username), Some(password)) => Self::new(username, Password(password)).map(Some),
            _ => Err(CredentialsError::Half { prefix: prefix.to_owned() }),
        }
    }
}

/// Reads a short file, without the line break at the end. Some editors put a byte order mark at the beginning, which nobody sees.
fn read_line(path: &Path) -> Result<String, CredentialsError> {
    let read = |source| CredentialsError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_LENGTH + 1).read_to_end(&mut bytes)).map_err(read)?;
    if bytes.len() as u64 > MAX_LENGTH {
        return Err(CredentialsError::TooLong(path.to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|_| CredentialsError::NotText(path.to_owned()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line)).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(username: &[u8], password: &[u8]) -> Result<Credentials, CredentialsError> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("username"), username).unwrap();
        std::fs::write(directory.path().join("password"), password).unwrap();
        Credentials::from_directory(directory.path())
    }

    #[test]
    fn files_are_read_with_and_without_the_end_of_their_line_and_a_byte_order_mark() {
        let expected = Credentials::new("root".to_owned(), Password("cal:vin ".to_owned())).unwrap();
        assert_eq!(directory(b"root", b"cal:vin ").unwrap(), expected);
        assert_eq!(directory(b"root\n", b"cal:vin \r\n").unwrap(), expected);
        assert_eq!(directory(b"\xef\xbb\xbfroot\r\n", b"\xef\xbb\xbfcal:vin ").unwrap(), expected);
    }

    #[test]
    fn invalid_credentials_are_refused_and_not_shown() {
        for (username, password) in
            [("", "calvin"), ("ro:ot", "calvin"), ("ro\tot", "calvin"), ("root", "cal\u{7}vin"), ("root", "calvin\n\n")]
        {
            let error = directory(username.as_bytes(), password.as_bytes()).expect_err(username);
            assert!(!format!("{error} {error:?}").contains("calvin"), "{error}");
        }
        assert!(matches!(directory(b"root", &[b'x'; 5000]), Err(CredentialsError::TooLong(_))));
        assert!(matches!(directory(b"root", b"\xff"), Err(CredentialsError::NotText(_))));
        let none = Credentials::from_directory(Path::new("/nowhere")).unwrap_err();
        assert!(none.to_string().starts_with("/nowhere/username: "), "{none}");
        let credentials = Credentials::new("root".to_owned(), Password("calvin".to_owned())).unwrap();
        assert!(!format!("{credentials:?}").contains("calvin"));
    }
}

//! User names and passwords of BMCs. They are shown nowhere.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// No user name or password is longer.
const MAX_LENGTH: u64 = 4096;

/// A BMC's password. `Debug` hides it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Password(String);

impl Password {
    /// The password itself, for the BMC and for nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The content of a file, without the end of its line.
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

/// Who logs in to a BMC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The account.
    pub username: String,
    /// Its password.
    pub password: Password,
}

/// Why credentials cannot be used. Names files and variables, never what is in them.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is too large.
    #[error("{} is longer than {MAX_LENGTH} bytes, which no user name or password is", _0.display())]
    TooLong(PathBuf),
    /// A file is not UTF-8.
    #[error("{} is not text in UTF-8", _0.display())]
    NotText(PathBuf),
    /// A file does not hold both.
    #[error("{} does not hold credentials: write user:password, or YAML with username and password", _0.display())]
    Form(PathBuf),
    /// Only one of two variables is set.
    #[error("{prefix}_USERNAME and {prefix}_PASSWORD go together: only one of them is set")]
    Half {
        /// What their names begin with.
        prefix: String,
    },
    /// A user name that no BMC takes.
    #[error("the BMC's user name is empty, or has a colon or a control character in it")]
    Username,
    /// A password with a line break.
    #[error("the BMC's password has a control character in it, such as a line break")]
    Password,
}

impl Credentials {
    /// Checks that both can be sent.
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

    /// From the files `username` and `password` of a directory, as a Secret of Kubernetes is mounted.
    pub fn from_directory(directory: &Path) -> Result<Self, CredentialsError> {
        let username = read_line(&directory.join("username"))?;
        Self::new(username, Password::from_file(&directory.join("password"))?)
    }

    /// From one file: a line `user:password`, or YAML with `username` and `password`.
    pub fn from_file(path: &Path) -> Result<Self, CredentialsError> {
        #[derive(Deserialize)]
        struct Form {
            username: String,
            password: Password,
        }
        let text = read_line(path)?;
        if let Ok(form) = serde_yaml::from_str::<Form>(&text) {
            return Self::new(form.username, form.password);
        }
        let line = text.split_once(':').filter(|(_, password)| !password.starts_with(' ') && !text.contains('\n'));
        let (username, password) = line.ok_or_else(|| CredentialsError::Form(path.to_owned()))?;
        Self::new(username.to_owned(), Password(password.to_owned()))
    }

    /// From the variables `PREFIX_USERNAME` and `PREFIX_PASSWORD`; `None` when neither is set.
    pub fn from_environment(prefix: &str) -> Result<Option<Self>, CredentialsError> {
        let variable = |name: &str| std::env::var(format!("{prefix}_{name}")).ok().filter(|value| !value.is_empty());
        match (variable("USERNAME"), variable("PASSWORD")) {
            (None, None) => Ok(None),
            (Some(username), Some(password)) => Self::new(username, Password(password)).map(Some),
            _ => Err(CredentialsError::Half { prefix: prefix.to_owned() }),
        }
    }
}

/// A short file, without the line break at its end.
fn read_line(path: &Path) -> Result<String, CredentialsError> {
    let read = |source| CredentialsError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_LENGTH + 1).read_to_end(&mut bytes)).map_err(read)?;
    if bytes.len() as u64 > MAX_LENGTH {
        return Err(CredentialsError::TooLong(path.to_owned()));
    }
    let mut text = String::from_utf8(bytes).map_err(|_| CredentialsError::NotText(path.to_owned()))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str) -> Result<Credentials, CredentialsError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        Credentials::from_file(file.path())
    }

    #[test]
    fn files_are_read_as_people_write_them() {
        let expected = Credentials::new("root".to_owned(), Password("cal:vin".to_owned())).unwrap();
        for content in
            ["root:cal:vin\n", "username: root\npassword: cal:vin\n", r#"{"username":"root","password":"cal:vin"}"#]
        {
            assert_eq!(file(content).unwrap(), expected, "{content}");
        }
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("username"), "root").unwrap();
        std::fs::write(directory.path().join("password"), "cal:vin\r\n").unwrap();
        assert_eq!(Credentials::from_directory(directory.path()).unwrap(), expected);
    }

    #[test]
    fn what_is_none_is_refused_and_not_shown() {
        for content in
            ["", "calvin", "root: calvin", ":calvin", "ro\tot:calvin", "root:cal\u{7}vin", "root:calvin\nroot:calvin"]
        {
            let error = file(content).expect_err(content);
            assert!(!format!("{error} {error:?}").contains("calvin"), "{error}");
        }
        let long = "x".repeat(5000);
        assert!(matches!(file(&long), Err(CredentialsError::TooLong(_))));
        let credentials = Credentials::new("root".to_owned(), Password("calvin".to_owned())).unwrap();
        assert!(!format!("{credentials:?}").contains("calvin"));
    }
}

//! The keys that encrypt a data directory, and the file that holds them.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::HEXLOWER_PERMISSIVE;

use super::record_cipher::{CannotEncrypt, DataKeyId, Form, KEY_LENGTH, RecordCipher, RecordKind};
use crate::secret_file;

/// The maximum size of a file with keys, in bytes: larger than any real one.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// The first line of a file whose keys only decrypt.
const NONE: &str = "none";

/// Why a file has no usable keys. The text never has the content.
#[derive(Debug, thiserror::Error)]
pub enum DataKeysError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Too many may read the file.
    #[error(
        "{}: others than its owner and its group may read it, or others than its owner may change it (mode {mode:04o}); run chmod 600 on it",
        path.display()
    )]
    Mode {
        /// The file.
        path: PathBuf,
        /// The permission bits.
        mode: u32,
    },
    /// The file has no key.
    #[error("{}: it has no key; `openssl rand -hex 32` makes one", .0.display())]
    Empty(PathBuf),
    /// A line is not a key.
    #[error(
        "{}: line {line} is not a key of 64 hexadecimal digits, as `openssl rand -hex 32` makes it{}",
        path.display(), if *is_none { "; `none` can only be the first line" } else { "" }
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        line: usize,
        /// Whether it is `none`.
        is_none: bool,
    },
}

/// Why a file in the data directory cannot be decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecryptError {
    /// There is no key.
    #[error("it is encrypted; give the file with its key (data-key-file in the settings file, --data-key-file FILE)")]
    NoKey,
    /// Another key has encrypted the file.
    #[error(
        "it is encrypted with the key {0}, which is not in the file of data-key-file (--data-key-file); add that key as another line"
    )]
    OtherKey(DataKeyId),
    /// The file is not as dayone wrote it.
    #[error("it was changed since dayone encrypted it, or it is another file under this name")]
    Changed,
}

impl DecryptError {
    /// Whether the file may be right, and only its key is missing.
    pub(super) fn is_about_keys(self) -> bool {
        matches!(self, Self::NoKey | Self::OtherKey(_))
    }
}

impl From<DecryptError> for io::Error {
    fn from(error: DecryptError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

impl From<CannotEncrypt> for io::Error {
    fn from(error: CannotEncrypt) -> Self {
        Self::other(error)
    }
}

/// The keys of a data directory. Without any, dayone encrypts nothing. Clones share them.
#[derive(Clone, Default)]
pub struct DataKeys {
    /// Encrypts. `None`: dayone writes files that are not encrypted.
    writing: Option<Arc<RecordCipher>>,
    /// Decrypt, the writing one first.
    reading: Vec<Arc<RecordCipher>>,
}

impl DataKeys {
    /// Reads the file: one key of 64 hexadecimal digits a line. The first encrypts, and all decrypt. If the first line is `none`, dayone
    /// only decrypts. Empty lines and lines that begin with `#` have no meaning.
    pub fn from_file(path: &Path) -> Result<Self, DataKeysError> {
        let failed = |source| DataKeysError::Read { path: path.to_owned(), source };
        let opened = secret_file::open(path).map_err(failed)?;
        let file = opened.map_err(|mode| DataKeysError::Mode { path: path.to_owned(), mode })?;
        let mut text = String::new();
        file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(failed)?;
        Self::parse(&text, path)
    }

    /// One key.
    pub(crate) fn of(key: &[u8; KEY_LENGTH]) -> Self {
        let reading: Vec<_> = RecordCipher::new(key).map(Arc::new).into_iter().collect();
        Self { writing: reading.first().cloned(), reading }
    }

    fn parse(text: &str, path: &Path) -> Result<Self, DataKeysError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().zip(1..).map(|(line, number)| (line.trim(), number));
        let mut lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#')).peekable();
        let only_decrypts = lines.next_if(|(line, _)| *line == NONE).is_some();
        let mut reading = Vec::new();
        for (line, number) in lines {
            let refused = || DataKeysError::Line { path: path.to_owned(), line: number, is_none: line == NONE };
            let bytes = HEXLOWER_PERMISSIVE.decode(line.as_bytes()).map_err(|_| refused())?;
            let key: [u8; KEY_LENGTH] = bytes.try_into().map_err(|_| refused())?;
            reading.push(Arc::new(RecordCipher::new(&key).map_err(|_| refused())?));
        }
        if reading.is_empty() && !only_decrypts {
            return Err(DataKeysError::Empty(path.to_owned()));
        }
        let writing = reading.first().filter(|_| !only_decrypts).cloned();
        Ok(Self { writing, reading })
    }

    /// Whether dayone encrypts what it writes.
    pub fn encrypts(&self) -> bool {
        self.writing.is_some()
    }

    /// How many keys only decrypt.
    pub(super) fn only_decrypting(&self) -> usize {
        self.reading.len() - usize::from(self.encrypts())
    }

    /// Whether a file in this form is as dayone would write it now.
    pub(super) fn is_present(&self, form: Form) -> bool {
        form == self.writing.as_ref().map_or(Form::Plain, |cipher| Form::Encrypted(Some(cipher.id())))
    }

    /// Whether there is a key for a file in this form.
    pub(super) fn check(&self, form: Form) -> Result<(), DecryptError> {
        match form {
            Form::Plain => Ok(()),
            Form::Encrypted(_) if self.reading.is_empty() => Err(DecryptError::NoKey),
            Form::Encrypted(None) => Err(DecryptError::Changed),
            Form::Encrypted(Some(id)) => self.cipher(id).map(drop),
        }
    }

    /// The content of a file that holds `plain`.
    pub(crate) fn encrypt(&self, kind: RecordKind, name: &str, plain: &[u8]) -> Result<Vec<u8>, CannotEncrypt> {
        match &self.writing {
            None => Ok(plain.to_vec()),
            Some(cipher) => cipher.encrypt(kind, name, plain),
        }
    }

    /// What a file holds. A file that is not encrypted holds itself.
    pub(crate) fn decrypt(&self, kind: RecordKind, name: &str, file: Vec<u8>) -> Result<Vec<u8>, DecryptError> {
        let form = Form::of(&file);
        self.check(form)?;
        let Form::Encrypted(Some(id)) = form else { return Ok(file) };
        self.cipher(id)?.decrypt(kind, name, &file).map_err(|_| DecryptError::Changed)
    }

    fn cipher(&self, id: DataKeyId) -> Result<&RecordCipher, DecryptError> {
        let found = self.reading.iter().find(|cipher| cipher.id() == id);
        found.map(AsRef::as_ref).ok_or(DecryptError::OtherKey(id))
    }
}

impl fmt::Debug for DataKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataKeys")
            .field("encrypts", &self.encrypts())
            .field("keys", &self.reading.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222222222222222222222222222";

    fn keys(text: &str) -> Result<DataKeys, DataKeysError> {
        DataKeys::parse(text, Path::new("keys"))
    }

    fn decrypt(keys: &DataKeys, file: &[u8]) -> Result<Vec<u8>, DecryptError> {
        keys.decrypt(RecordKind::Image, "name", file.to_vec())
    }

    #[test]
    fn the_first_key_encrypts_and_all_decrypt() {
        let encrypt = |keys: &DataKeys| keys.encrypt(RecordKind::Image, "name", b"plain").unwrap();
        let (one, two) = (keys(ONE).unwrap(), keys(TWO).unwrap());
        let both = keys(&format!("# the new one\n\n {TWO} \r\n{ONE}\n")).unwrap();
        let only_decrypts = keys(&format!("none\n{ONE}")).unwrap();
        assert!(both.encrypts() && !only_decrypts.encrypts() && !DataKeys::default().encrypts());
        assert_eq!((one.only_decrypting(), both.only_decrypting(), only_decrypts.only_decrypting()), (0, 1, 1));
        let (by_one, by_both) = (encrypt(&one), encrypt(&both));
        for reader in [&one, &both, &only_decrypts] {
            assert_eq!(decrypt(reader, &by_one), Ok(b"plain".to_vec()));
        }
        assert_eq!(decrypt(&two, &by_both), Ok(b"plain".to_vec()));
        assert!(matches!(decrypt(&one, &by_both), Err(DecryptError::OtherKey(_))));
        assert_eq!(decrypt(&DataKeys::default(), &by_one), Err(DecryptError::NoKey));
        assert_eq!(encrypt(&only_decrypts), b"plain");
        for reader in [&one, &both, &only_decrypts, &DataKeys::default()] {
            assert_eq!(decrypt(reader, b"plain"), Ok(b"plain".to_vec()), "a file from before there was a key");
        }
        assert!(both.is_present(Form::of(&by_both)) && !both.is_present(Form::of(&by_one)));
        assert!(only_decrypts.is_present(Form::Plain) && !one.is_present(Form::Plain));
    }

    #[test]
    fn what_is_no_key_is_refused_without_its_content() {
        for (text, line) in [
            ("5ecret", 1),
            (&ONE[1..], 1),
            (&format!("{ONE}1"), 1),
            (&format!("{ONE}\n# other\nzz{}", &ONE[2..]), 3),
            (&format!("{ONE}\nnone"), 2),
        ] {
            let error = keys(text).unwrap_err();
            assert!(matches!(error, DataKeysError::Line { line: found, .. } if found == line), "{error}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("5ecret") && !shown.contains("1111"), "{shown}");
        }
        assert!(matches!(keys("\n# nothing\n"), Err(DataKeysError::Empty(_))));
        assert!(keys("none\n").unwrap().reading.is_empty());
        assert!(keys(&format!("\u{feff}{ONE}\n")).unwrap().encrypts());
        assert!(!format!("{:?}", keys(ONE).unwrap()).contains("1111"));
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        std::fs::write(&path, ONE).unwrap();
        for (mode, is_good) in
            [(0o600, true), (0o400, true), (0o440, true), (0o644, false), (0o660, false), (0o604, false)]
        {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            match DataKeys::from_file(&path) {
                Ok(_) => assert!(is_good, "{mode:o}"),
                Err(error) => assert!(!is_good && error.to_string().contains("chmod 600"), "{error}"),
            }
        }
        let error = DataKeys::from_file(&directory.path().join("missing")).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }
}

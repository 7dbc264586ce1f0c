//! Who may use the API: the clients, each with its role, and its bearer token or its certificate.

mod caller;
pub(super) mod client_file;
mod role;
mod secret_file;
mod token;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

pub use caller::{Caller, ClientName, Identity, NotAClientName};
use client_file::Proof;
pub use client_file::{ClientFileError, Mistake};
pub use role::{NotARole, Role};
pub use secret_file::SecretFileError;
pub(crate) use token::TokenDigest;
pub use token::TokenError;

/// Why the tokens in a file are not valid. Never contains a token.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// dayone does not use the file.
    #[error(transparent)]
    File(#[from] SecretFileError),
    /// A token in it is not valid.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The file has no token.
    #[error("the API token file {} has no token; make one with: openssl rand -hex 32", .0.display())]
    Empty(PathBuf),
}

/// The clients of the API. Clones share them.
#[derive(Clone, Default)]
pub struct ApiClients(Arc<RwLock<Known>>);

#[derive(Clone, Default, PartialEq, Eq)]
struct Known {
    tokens: Vec<(TokenDigest, Arc<Caller>)>,
    /// By a name in the certificate.
    certificates: Vec<(String, Arc<Caller>)>,
}

impl Known {
    /// Adds a token. If it is known from elsewhere, such as a file of tokens beside a file of clients, the smaller role counts.
    fn add_token(&mut self, digest: TokenDigest, name: ClientName, role: Role) {
        let caller = Arc::new(Caller { identity: Identity::Token(name), role });
        match self.tokens.iter_mut().find(|(known, _)| *known == digest) {
            Some((_, known)) if known.role > role => *known = caller,
            Some(_) => {}
            None => self.tokens.push((digest, caller)),
        }
    }
}

impl ApiClients {
    /// Adds a client with `token` that may do everything. `source` names the origin of the token in errors.
    pub fn add(&mut self, token: &str, source: &str) -> Result<(), TokenError> {
        let digest = TokenDigest::of_strong(token, source)?;
        self.write().add_token(digest, ClientName::of_text(source.trim_start_matches("the variable ")), Role::Boot);
        Ok(())
    }

    /// Adds clients with the tokens in the file at `path`, one a line, that may do everything. Several can be valid, so that you can
    /// add a new token before you remove the old one.
    pub fn add_token_file(&mut self, path: &Path) -> Result<(), TokenFileError> {
        let text = secret_file::read(path, "API token file")?;
        let source = path.display().to_string();
        let mut digests = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            digests.push((TokenDigest::of_strong(line, &source)?, ClientName::of_line(path, index + 1)));
        }
        if digests.is_empty() {
            return Err(TokenFileError::Empty(path.to_owned()));
        }
        let mut known = self.write();
        for (digest, name) in digests {
            known.add_token(digest, name, Role::Boot);
        }
        Ok(())
    }

    /// Adds the clients in the YAML file at `path`, each with its role.
    pub fn add_client_file(&mut self, path: &Path) -> Result<(), ClientFileError> {
        let clients = client_file::read(path)?;
        let mut known = self.write();
        for client in clients {
            match client.proof {
                Proof::Token(digest) => known.add_token(digest, client.name, client.role),
                Proof::Certificate(certificate) => {
                    let caller = Caller { identity: Identity::Certificate(client.name), role: client.role };
                    known.certificates.push((certificate, Arc::new(caller)));
                }
            }
        }
        Ok(())
    }

    /// Replaces the clients by those of `other`, at once. Returns whether they are others.
    pub fn replace(&self, other: &Self) -> bool {
        let new = other.read().clone();
        let old = std::mem::replace(&mut *self.write(), new.clone());
        old != new
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many clients there are.
    pub fn len(&self) -> usize {
        let known = self.read();
        known.tokens.len() + known.certificates.len()
    }

    /// Whether there are no clients, so that the API is open to every local program.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a client is known by its certificate.
    pub fn has_certificates(&self) -> bool {
        !self.read().certificates.is_empty()
    }

    /// The client with this token.
    pub(crate) fn with_token(&self, token: &str) -> Option<Arc<Caller>> {
        self.with_digest(&TokenDigest::of(token))
    }

    /// The client whose token has this digest.
    pub(super) fn with_digest(&self, TokenDigest(digest): &TokenDigest) -> Option<Arc<Caller>> {
        let known = self.read();
        // Always compare all tokens and select without a branch, so that the time does not show which one matched.
        let mut found = u64::MAX;
        for (index, (known, _)) in (0_u64..).zip(&known.tokens) {
            found.conditional_assign(&index, known.0.ct_eq(digest));
        }
        usize::try_from(found).ok().and_then(|found| known.tokens.get(found)).map(|(_, caller)| Arc::clone(caller))
    }

    /// The client that one of the names in a certificate belongs to. The listener has verified the certificate.
    pub(super) fn with_certificate(&self, names: &[String]) -> Option<Arc<Caller>> {
        let known = self.read();
        let found = known.certificates.iter().find(|(name, _)| names.contains(name));
        found.map(|(_, caller)| Arc::clone(caller))
    }
}

impl fmt::Debug for ApiClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiClients({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn any_token_of_the_file_opens_and_nothing_else_does() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let write = |text: &str, mode| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let mut tokens = ApiClients::default();
        assert!(tokens.is_empty());
        write("\u{feff}0123456789abcdef\r\n", 0o600);
        tokens.add_token_file(&path).unwrap();
        assert!(tokens.with_token("0123456789abcdef").is_some());

        write("\n 0123456789abcdef \r\nfedcba9876543210\n", 0o600);
        let mut tokens = ApiClients::default();
        tokens.add_token_file(&path).unwrap();
        assert!(tokens.with_token("0123456789abcdef").is_some() && tokens.with_token("fedcba9876543210").is_some());
        for wrong in
            ["", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef\n", "0123456789abcdeffedcba9876543210"]
        {
            assert!(tokens.with_token(wrong).is_none(), "{wrong:?}");
        }
        assert_eq!(format!("{tokens:?}"), "ApiClients(2)");

        // Other tokens take the place of these at once, also in clones.
        let shared = tokens.clone();
        write("another-0123456789\n", 0o600);
        let mut others = ApiClients::default();
        others.add_token_file(&path).unwrap();
        others.add("from-the-environment", "the test").unwrap();
        tokens.replace(&others);
        let admitted = |token: &str| shared.with_token(token).is_some();
        assert!(admitted("another-0123456789") && admitted("from-the-environment") && !admitted("0123456789abcdef"));
        for (text, mode) in [("", 0o600), ("0123456789abcdef\nshort\n", 0o600), ("0123456789abcdef\n", 0o644)] {
            write(text, mode);
            assert!(ApiClients::default().add_token_file(&path).is_err());
        }
    }

    #[test]
    fn a_file_that_others_may_use_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0123456789abcdef\n").unwrap();
        let add = |mode| {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            ApiClients::default().add_token_file(file.path())
        };
        for mode in [0o600, 0o400] {
            add(mode).unwrap();
        }
        for mode in [0o644, 0o660, 0o604, 0o620, 0o602] {
            let error = add(mode).unwrap_err().to_string();
            assert!(error.contains(&format!("mode {mode:04o}")) && error.contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn weak_tokens_are_refused_and_not_repeated() {
        let mut tokens = ApiClients::default();
        for bad in ["", "secret", "secret secret secret", "sécret-sécret-sécret"] {
            let error = tokens.add(bad, "DAYONE_API_TOKEN").unwrap_err().to_string();
            assert!(error.contains("DAYONE_API_TOKEN") && !error.contains("secret "), "{error}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(tokens.add_token_file(file.path()), Err(TokenFileError::Empty(_))));
        assert!(tokens.is_empty());
    }

    #[test]
    fn each_token_has_its_own_name_and_role() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("clients.yaml");
        std::fs::write(
            &path,
            "clients:\n- {name: dashboard, role: read, token: dashboard-dashboard}\n\
             - {name: ci, role: build, token: ci-ci-ci-ci-ci-ci-ci}\n- {name: ops, role: boot, certificate: ops.example}\n",
        )
        .unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(ApiClients::default().add_client_file(&path).unwrap_err().to_string().contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut clients = ApiClients::default();
        clients.add("0123456789abcdef", "the variable DAYONE_API_TOKEN").unwrap();
        clients.add_client_file(&path).unwrap();
        let caller = |token: &str| clients.with_token(token).map(|caller| (caller.identity.to_string(), caller.role));
        assert_eq!(caller("dashboard-dashboard"), Some(("the token 'dashboard'".to_owned(), Role::Read)));
        assert_eq!(caller("ci-ci-ci-ci-ci-ci-ci"), Some(("the token 'ci'".to_owned(), Role::Build)));
        assert_eq!(caller("0123456789abcdef"), Some(("the token 'DAYONE_API_TOKEN'".to_owned(), Role::Boot)));
        assert_eq!(caller("ops.example"), None);
        // A file of tokens and the environment may have the token of a client, too, read before it or after it.
        let mut again = ApiClients::default();
        let role = |clients: &ApiClients| clients.with_token("dashboard-dashboard").map(|caller| caller.role);
        again.add("dashboard-dashboard", "the variable DAYONE_API_TOKEN").unwrap();
        assert_eq!(role(&again), Some(Role::Boot));
        again.add_client_file(&path).unwrap();
        assert_eq!(role(&again), Some(Role::Read));
        again.add("dashboard-dashboard", "the variable DAYONE_API_TOKEN").unwrap();
        assert_eq!(role(&again), Some(Role::Read));
        assert!(clients.has_certificates());
        let certificate = |name: &str| clients.with_certificate(&[name.to_owned()]).map(|caller| caller.role);
        assert_eq!((certificate("ops.example"), certificate("ops")), (Some(Role::Boot), None));
        assert_eq!(format!("{clients:?}"), "ApiClients(4)");
    }
}

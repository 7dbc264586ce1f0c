//! The file with the API's clients, each with its name, its role, and its token or its certificate.

use std::path::{Path, PathBuf};

use vocabulary::report::LineColumn;

use super::caller::{ClientName, NotAClientName};
use super::role::{NotARole, Role};
use super::secret_file::{self, SecretFileError};
use super::token::{TokenDigest, TokenError};
use crate::settings::yaml::{self, Content, Node};

/// Why a file of clients is not valid. Never contains a token.
#[derive(Debug, thiserror::Error)]
pub enum ClientFileError {
    /// dayone does not use the file.
    #[error(transparent)]
    File(#[from] SecretFileError),
    /// The file is wrong.
    #[error("{}:{}:{}: {mistake}", path.display(), at.line, at.column)]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Where it is wrong.
        at: LineColumn,
        /// What is wrong.
        mistake: Mistake,
    },
}

/// What is wrong in a file of clients.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// The text is not YAML.
    #[error("{0}")]
    Yaml(String),
    /// Another value was expected.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A client has an unknown member.
    #[error("a client has the members name, role, and one of token-sha256, token and certificate")]
    Unknown,
    /// A client lacks a member.
    #[error("the client has no {0}")]
    Missing(&'static str),
    /// A client has a member twice.
    #[error("the client has {0} twice")]
    Twice(&'static str),
    /// A client has none or several of the ways to show who it is.
    #[error("the client needs exactly one of token-sha256, token and certificate")]
    OneProof,
    /// The name is not valid.
    #[error(transparent)]
    Name(#[from] NotAClientName),
    /// The role is not valid.
    #[error(transparent)]
    Role(#[from] NotARole),
    /// The token is not valid.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The digest is not valid.
    #[error("token-sha256 must have 64 hexadecimal digits: printf %s \"$TOKEN\" | sha256sum")]
    Digest,
    /// The digest belongs to a token of no characters.
    #[error("token-sha256 is the SHA-256 of an empty text; was the variable with the token set?")]
    EmptyToken,
    /// Another client has the same name, token or certificate.
    #[error("another client has the same {0}")]
    Same(&'static str),
}

/// How a client shows who it is.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::api) enum Proof {
    Token(TokenDigest),
    /// A name in its certificate.
    Certificate(String),
}

/// A client.
#[derive(Clone)]
pub(in crate::api) struct Client {
    pub(in crate::api) name: ClientName,
    pub(in crate::api) role: Role,
    pub(in crate::api) proof: Proof,
}

/// Reads the clients in a file.
pub(super) fn read(path: &Path) -> Result<Vec<Client>, ClientFileError> {
    let text = secret_file::read(path, "file of API clients")?;
    parse(&text).map_err(|(at, mistake)| ClientFileError::Wrong { path: path.to_owned(), at, mistake })
}

/// A value, or what is wrong and where.
type At<T> = Result<T, (LineColumn, Mistake)>;

/// Reads the clients in the text of a file.
pub(in crate::api) fn parse(text: &str) -> At<Vec<Client>> {
    let top = yaml::read(text).map_err(|error| (error.at, Mistake::Yaml(error.message)))?;
    let expected = "a mapping with the member clients, which is a list";
    let list = match &top.content {
        Content::Mapping(members) => match members.as_slice() {
            [(key, Node { content: Content::List(list), .. })] if key.name == "clients" => list,
            _ => return Err((top.at, Mistake::Expected(expected))),
        },
        _ => return Err((top.at, Mistake::Expected(expected))),
    };
    if list.is_empty() {
        return Err((top.at, Mistake::Expected("at least one client")));
    }
    let mut clients: Vec<Client> = Vec::new();
    for node in list {
        let client = client(node)?;
        for other in &clients {
            if other.name == client.name {
                return Err((node.at, Mistake::Same("name")));
            }
            if other.proof == client.proof {
                return Err((node.at, Mistake::Same("token or certificate")));
            }
        }
        clients.push(client);
    }
    Ok(clients)
}

fn client(node: &Node) -> At<Client> {
    let at = node.at;
    let Content::Mapping(members) = &node.content else {
        return Err((at, Mistake::Expected("a client, which is a mapping")));
    };
    let (mut name, mut role, mut proof) = (None, None, None);
    for (key, value) in members {
        let Content::Scalar(text) = &value.content else { return Err((value.at, Mistake::Expected("a text"))) };
        let wrong = |mistake: Mistake| (value.at, mistake);
        match key.name.as_str() {
            "name" if name.is_some() => return Err((key.at, Mistake::Twice("name"))),
            "name" => name = Some(ClientName::parse(text).map_err(|error| wrong(error.into()))?),
            "role" if role.is_some() => return Err((key.at, Mistake::Twice("role"))),
            "role" => role = Some(text.parse::<Role>().map_err(|error| wrong(error.into()))?),
            "token" | "token-sha256" | "certificate" if proof.is_some() => return Err((key.at, Mistake::OneProof)),
            "token" => {
                let digest = TokenDigest::of_strong(text, "the file").map_err(|error| wrong(error.into()))?;
                proof = Some(Proof::Token(digest));
            }
            "token-sha256" => {
                let digest = TokenDigest::parse(text).ok_or_else(|| wrong(Mistake::Digest))?;
                if digest == TokenDigest::of("") {
                    return Err(wrong(Mistake::EmptyToken));
                }
                proof = Some(Proof::Token(digest));
            }
            "certificate" if text.is_empty() => return Err(wrong(Mistake::Expected("a name in a certificate"))),
            "certificate" => proof = Some(Proof::Certificate(text.clone())),
            _ => return Err((key.at, Mistake::Unknown)),
        }
    }
    Ok(Client {
        name: name.ok_or((at, Mistake::Missing("name")))?,
        role: role.ok_or((at, Mistake::Missing("role")))?,
        proof: proof.ok_or((at, Mistake::OneProof))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_names_roles_and_one_proof_each() {
        let text = "clients:\n\
                    - {name: dashboard, role: read, token-sha256: 9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08}\n\
                    - {name: ci, role: build, token: 0123456789abcdef}\n\
                    - {name: ops, role: boot, certificate: ops.example}\n";
        let clients = parse(text).unwrap();
        let shown: Vec<_> = clients.iter().map(|client| (client.name.as_str(), client.role)).collect();
        assert_eq!(shown, [("dashboard", Role::Read), ("ci", Role::Build), ("ops", Role::Boot)]);
        assert!(clients[0].proof == Proof::Token(TokenDigest::of("test")));
        assert!(clients[1].proof == Proof::Token(TokenDigest::of("0123456789abcdef")));
        assert!(clients[2].proof == Proof::Certificate("ops.example".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_refused_where_it_is_and_no_token_is_repeated() {
        const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        for (text, line, sign) in [
            ("", 1, "clients"),
            ("clients: []\n", 1, "at least one"),
            ("- name: a\n", 1, "clients"),
            ("clients:\n- hunter2-hunter2-hunter2\n", 2, "mapping"),
            ("clients:\n- name: a\n  role: read\n", 2, "exactly one"),
            ("clients:\n- name: a\n  token: hunter2-hunter2-hunter2\n", 2, "no role"),
            ("clients:\n- role: read\n  token: hunter2-hunter2-hunter2\n", 2, "no name"),
            ("clients:\n- name: a\n  role: admin\n  token: hunter2-hunter2-hunter2\n", 3, "read, build or boot"),
            ("clients:\n- name: a b\n  role: read\n  token: hunter2-hunter2-hunter2\n", 2, "letters"),
            ("clients:\n- name: a\n  role: read\n  token: hunter2\n", 4, "shorter"),
            ("clients:\n- name: a\n  role: read\n  token-sha256: hunter2\n", 4, "hexadecimal"),
            (&format!("clients:\n- name: a\n  role: read\n  token-sha256: {EMPTY}\n"), 4, "empty"),
            ("clients:\n- name: a\n  role: read\n  password: hunter2\n", 4, "members"),
            ("clients:\n- name: a\n  name: b\n", 3, "twice"),
            (
                "clients:\n- name: a\n  role: read\n  token: hunter2-hunter2-hunter2\n  certificate: b\n",
                5,
                "exactly one",
            ),
            (
                "clients:\n- {name: a, role: read, token: hunter2-hunter2-hunter2}\n- {name: a, role: boot, certificate: b}\n",
                3,
                "same name",
            ),
            (
                "clients:\n- {name: a, role: read, token: hunter2-hunter2-hunter2}\n- {name: b, role: boot, token: hunter2-hunter2-hunter2}\n",
                3,
                "same token",
            ),
        ] {
            let (at, mistake) = parse(text).map(|_| ()).unwrap_err();
            let shown = mistake.to_string();
            assert!(at.line == line && shown.contains(sign), "{text}: {at:?} {shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}

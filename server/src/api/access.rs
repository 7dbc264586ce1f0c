//! Access control of the API: bearer tokens of programs, and sessions of browsers.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, Uri};
use media::listen::{ClientCertificate, Peer, Tls};

use super::clients::{ApiClients, Caller, ClientName, Identity, Role, TokenDigest};
use super::local;
use super::origin::Source;
use super::permissions::Permissions;
use super::problem::{Problem, ProblemKind};
use super::sessions::Sessions;
use crate::audit::{Actor, Audit, AuditState, Authentications, Who};

/// How clients connect to the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Plain HTTP.
    Plain,
    /// TLS.
    Tls,
    /// TLS, and every client has a certificate that the listener has verified.
    MutualTls,
}

impl Transport {
    /// The transport of an API with these certificates.
    pub(crate) fn of(tls: Option<&Tls>) -> Self {
        match tls {
            None => Self::Plain,
            Some(tls) if tls.requires_certificates() => Self::MutualTls,
            Some(_) => Self::Tls,
        }
    }
}

/// Who may use the API. Clones share their clients and sessions.
#[derive(Debug, Clone)]
pub struct Access {
    clients: ApiClients,
    sessions: Sessions,
    transport: Transport,
    authentications: Authentications,
}

impl Access {
    /// Access for `clients`, or for every program on this machine if there are none.
    pub fn new(clients: ApiClients, transport: Transport) -> Self {
        let (sessions, authentications) = (Sessions::default(), Authentications::default());
        Self { clients, sessions, transport, authentications }
    }

    /// Records logins and failed attempts at authentication in this log.
    #[must_use]
    pub fn with_audit(self, audit: Audit) -> Self {
        Self { authentications: Authentications::new(audit), ..self }
    }

    /// Whether the API speaks TLS.
    pub(crate) fn tls(&self) -> bool {
        self.transport != Transport::Plain
    }

    /// Whether every client has a certificate that the listener has verified.
    fn has_certificates(&self) -> bool {
        self.transport == Transport::MutualTls
    }

    /// Whether a client needs a token.
    pub(crate) fn needs_token(&self) -> bool {
        !self.clients.is_empty()
    }

    /// Begins a session if the token is valid. Returns its id. The client has this address.
    pub(crate) fn log_in(&self, token: &str, address: Option<IpAddr>) -> Result<Option<String>, getrandom::Error> {
        let Some(caller) = self.clients.with_token(token) else {
            self.authentications.login_failed(address);
            return Ok(None);
        };
        let id = self.sessions.begin(TokenDigest::of(token))?;
        self.authentications.logged_in(who(&caller, address));
        Ok(Some(id))
    }

    /// Records that a request was refused, if it has not shown who sends it.
    pub(crate) fn record_refused(&self, problem: &Problem, address: Option<IpAddr>) {
        if problem.kind() == ProblemKind::Unauthorized {
            self.authentications.request_failed(address);
        }
    }

    /// Ends the sessions in the cookies of a request.
    pub(crate) fn log_out(&self, headers: &HeaderMap) {
        self.cookies(headers).for_each(|id| self.sessions.end(id));
    }

    /// The name of the cookie with a session's id. With TLS, its prefix makes browsers refuse such a cookie from anybody else.
    pub(crate) fn cookie(&self) -> &'static str {
        if self.tls() { "__Host-dayone-session" } else { "dayone-session" }
    }

    fn cookies<'a>(&self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let name = self.cookie();
        let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(move |(given, _)| *given == name).map(|(_, id)| id)
    }

    /// The client whose session a request has the cookie of.
    pub(crate) fn session(&self, headers: &HeaderMap) -> Option<Arc<Caller>> {
        self.cookies(headers).find_map(|id| self.sessions.client(id, &self.clients))
    }

    /// Returns who sends a request. A session counts only for requests of the server's own pages: browsers send its cookie with
    /// requests of other pages on the same site, too.
    pub(crate) fn caller(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        certificate: Option<&ClientCertificate>,
    ) -> Result<Arc<Caller>, Problem> {
        // A token that is given decides.
        if self.needs_token() && headers.contains_key(AUTHORIZATION) {
            return check_token(&self.clients, headers);
        }
        if let Some(caller) = self.session(headers) {
            return if Source::of(uri, headers) == Source::Own { Ok(caller) } else { Err(foreign_session()) };
        }
        if let Some(caller) = certificate.and_then(|certificate| self.certified(certificate)) {
            // A browser shows its certificate to this server whatever page makes it send a request.
            return if Source::of(uri, headers) == Source::Foreign { Err(foreign_session()) } else { Ok(caller) };
        }
        if self.needs_token() || self.has_certificates() {
            return check_token(&self.clients, headers);
        }
        local::check(uri, headers).map(|()| Arc::new(Caller::LOCAL))
    }

    /// Returns who looks at the page, also by a link from elsewhere: what it leads to is shown to the user, and not to the web site with the
    /// link.
    pub(crate) fn visitor(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        certificate: Option<&ClientCertificate>,
    ) -> Result<Arc<Caller>, Problem> {
        if !self.needs_token() && !self.has_certificates() && local::is_link(headers) {
            return local::check_name(uri, headers).map(|()| Arc::new(Caller::LOCAL));
        }
        self.caller(uri, headers, certificate)
    }

    /// The client with this certificate. Without clients, every certificate of the authority may do everything. An expired certificate is
    /// of no client, so that an answer without an end, such as events, ends with it.
    pub(crate) fn certified(&self, certificate: &ClientCertificate) -> Option<Arc<Caller>> {
        if certificate.has_expired() {
            return None;
        }
        if self.needs_token() || !self.has_certificates() {
            return self.clients.with_certificate(certificate.names());
        }
        let name = ClientName::of_text(certificate.names().first().map_or("", String::as_str));
        Some(Arc::new(Caller { identity: Identity::Certificate(name), role: Role::Boot }))
    }
}

fn foreign_session() -> Problem {
    let detail = "the session or the certificate of a browser is valid only for requests of this server's own pages; other programs send a token";
    Problem::new(ProblemKind::ForeignOrigin, detail)
}

/// Marks an answer to an authenticated client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownClient;

/// The state of the middleware: who may use the API, and for what.
#[derive(Debug, Clone)]
pub(super) struct AccessState {
    pub(super) access: Access,
    pub(super) permissions: Arc<Permissions>,
    pub(super) audit: Audit,
}

/// Routes whose POST changes nothing.
pub(super) const READ_ONLY_POSTS: [&str; 2] = ["/v1/check", "/v1/keyfiles"];

/// Middleware: lets a request pass if it has one of the tokens or comes from a page with a session; or, if the server has no
/// tokens, if it comes from a program on this machine. A certificate that belongs to a client counts like its token. The client's role must allow the operation.
pub(super) async fn check(
    State(state): State<AccessState>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let address = request.extensions().get::<Peer>().map(|peer| peer.address.ip().to_canonical());
    let caller = state.access.caller(request.uri(), request.headers(), request.extensions().get());
    let caller = caller.inspect_err(|problem| state.access.record_refused(problem, address))?;
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str).unwrap_or_default();
    let needed = state.permissions.needed(request.method(), route);
    let actor = Actor::new(who(&caller, address), state.audit);
    if let Err(problem) = check_role(&caller, needed) {
        state.access.authentications.refused(actor.who, request.method().as_str(), route, needed.word());
        return Ok(to_known_client(problem));
    }
    let changes = !request.method().is_safe() && !READ_ONLY_POSTS.contains(&route);
    if changes && actor.audit.state() == AuditState::Unavailable {
        let detail = "the server cannot write its audit log, so it changes nothing; it still serves images";
        return Ok(to_known_client(Problem::new(ProblemKind::AuditUnavailable, detail)));
    }
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(actor.clone());
    let response = next.run(request).await;
    if changes && !actor.is_written().await {
        let detail = "the change is made, but the server cannot write its audit log now: it keeps the entry in memory, and writes it \
                      when it can; look at the present state before you send the request again";
        return Ok(to_known_client(Problem::new(ProblemKind::AuditUnavailable, detail)));
    }
    Ok(to_known_client(response))
}

fn to_known_client(answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    response.extensions_mut().insert(KnownClient);
    response
}

/// Who sends a request, for the audit log.
fn who(caller: &Caller, address: Option<IpAddr>) -> Who {
    match &caller.identity {
        Identity::Local => Who::local(address),
        Identity::Token(name) => Who::token(name.as_str(), address),
        Identity::Certificate(name) => Who::certificate(name.as_str(), address),
    }
}

fn check_role(caller: &Caller, needed: Role) -> Result<(), Problem> {
    if caller.role >= needed {
        return Ok(());
    }
    let detail = format!(
        "this needs the role '{needed}', and {} has the role '{}'; use another token, or ask the server's operator",
        caller.identity, caller.role
    );
    Err(Problem::new(ProblemKind::RoleTooSmall, detail).with_needed_role(needed))
}

fn check_token(clients: &ApiClients, headers: &HeaderMap) -> Result<Arc<Caller>, Problem> {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = header.and_then(|value| value.split_once(' ')).and_then(|(scheme, token)| {
        // RFC 9110 §11.1: schemes are case-insensitive.
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    match token {
        Some(token) => clients
            .with_token(token)
            .ok_or_else(|| Problem::new(ProblemKind::Unauthorized, "the bearer token is not valid on this server")),
        None => Err(Problem::new(
            ProblemKind::Unauthorized,
            "send one of this server's tokens in the header: Authorization: Bearer TOKEN",
        )),
    }
}

#[cfg(test)]
mod tests {
    use http::header::HOST;

    use super::*;

    #[test]
    fn an_open_api_hears_what_a_browser_tells_and_the_page_opens_by_a_link() {
        let access = Access::new(ApiClients::default(), Transport::Plain);
        let admitted = |told: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "localhost:8080".parse().unwrap());
            for (name, value) in told {
                headers.insert(*name, value.parse().unwrap());
            }
            let uri = Uri::from_static("/bases");
            (access.caller(&uri, &headers, None).is_ok(), access.visitor(&uri, &headers, None).is_ok())
        };
        let (site, mode) = ("sec-fetch-site", "sec-fetch-mode");
        for own in [
            &[][..],
            &[(site, "none"), (mode, "navigate")],
            &[(site, "same-origin"), (mode, "cors")],
            &[(site, "same-origin"), (mode, "navigate")],
            &[("referer", "http://localhost:8080/images")],
        ] {
            assert_eq!(admitted(own), (true, true), "{own:?}");
        }
        for link in [
            &[(site, "cross-site"), (mode, "navigate")][..],
            &[(site, "same-site"), (mode, "navigate")],
            &[("referer", "http://evil.example/")],
        ] {
            assert_eq!(admitted(link), (false, true), "{link:?}");
        }
        for foreign in [
            &[(site, "cross-site"), (mode, "no-cors")][..],
            &[(site, "same-site"), (mode, "cors"), ("origin", "http://localhost:3000")],
            &[(site, "cross-site"), (mode, "navigate"), ("origin", "null")],
            &[("origin", "http://evil.example")],
        ] {
            assert_eq!(admitted(foreign), (false, false), "{foreign:?}");
        }
    }

    #[test]
    fn a_token_is_read_as_rfc_6750_writes_it() {
        let mut tokens = ApiClients::default();
        tokens.add("0123456789abcdef", "the test").unwrap();
        let admitted = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            check_token(&tokens, &headers).is_ok()
        };
        assert!(admitted("Bearer 0123456789abcdef") && admitted("bearer  0123456789abcdef"));
        for wrong in ["0123456789abcdef", "Basic 0123456789abcdef", "Bearer", "Bearer ", "Bearer 0123456789abcde"] {
            assert!(!admitted(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_session_is_for_the_servers_own_pages() {
        let mut tokens = ApiClients::default();
        tokens.add("0123456789abcdef", "the test").unwrap();
        let access = Access::new(tokens, Transport::Plain);
        assert_eq!(access.log_in("0123456789abcdee", None).unwrap(), None);
        let id = access.log_in("0123456789abcdef", None).unwrap().unwrap();
        let checked = |told: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "dayone.example".parse().unwrap());
            headers.insert(COOKIE, format!("a=b; dayone-session={id}").parse().unwrap());
            for (name, value) in told {
                headers.insert(*name, value.parse().unwrap());
            }
            access
                .caller(&Uri::from_static("/v1/bases"), &headers, None)
                .map(|caller| caller.role)
                .map_err(|problem| problem.kind())
        };
        assert_eq!(checked(&[("sec-fetch-site", "same-origin")]), Ok(Role::Boot));
        assert_eq!(checked(&[("referer", "http://dayone.example/")]), Ok(Role::Boot));
        for told in [&[][..], &[("sec-fetch-site", "same-site")], &[("origin", "http://evil.example")]] {
            assert_eq!(checked(told), Err(ProblemKind::ForeignOrigin), "{told:?}");
        }
        let wrong = [("sec-fetch-site", "same-origin"), ("authorization", "Bearer wrong")];
        assert_eq!(checked(&wrong), Err(ProblemKind::Unauthorized), "a token that is given decides");
    }
}

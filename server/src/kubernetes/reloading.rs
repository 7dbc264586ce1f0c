//! A client that follows its kubeconfig. Whoever renews certificates and tokens replaces files, and expects programs to read them again.
//! The library rereads only files of tokens.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Request, StatusCode, Uri};
use imagelib::digest::Digest;
use kube::Client;
use kube::client::Body;
use kube::config::Kubeconfig;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::configuration::{self, ConnectError};
use super::kubeconfig::{fingerprint, kubeconfig_files, read};

/// What makes the client anew.
struct Reloading {
    setting: Option<PathBuf>,
    /// The context at the start. `kubectl config use-context` must not move a running controller to another cluster.
    context: Option<String>,
    /// The API server, for the same reason.
    server: Uri,
    /// How long to wait before dayone looks for changes again.
    interval: Duration,
    state: Mutex<State>,
}

struct State {
    client: Client,
    /// The fingerprint of what the client was made from.
    used: Option<Digest>,
    /// Whether the API server answered 401. A new client asks a plugin of the kubeconfig for new credentials.
    refused: bool,
    looked: Instant,
    look: Option<JoinHandle<()>>,
    /// Why dayone cannot use the present kubeconfig.
    problem: Option<String>,
}

/// Makes a client from a kubeconfig. When a request is sent, but not more often than once in the interval, dayone looks for changes of the
/// kubeconfig and of the files that it names. Later requests use them.
pub(super) async fn client(
    setting: Option<&Path>,
    file: Kubeconfig,
    interval: Duration,
) -> Result<Client, ConnectError> {
    // Before the client reads the files: a change meanwhile is then seen as one.
    let (context, used) = (file.current_context.clone(), fingerprint(&file));
    let config = configuration::of(file).await?;
    let (server, namespace) = (config.cluster_url.clone(), config.default_namespace.clone());
    let client = Client::try_from(config)?;
    // A pipe can be read only once.
    if !setting.map(kubeconfig_files).unwrap_or_default().iter().all(|file| file.is_file()) {
        return Ok(client);
    }
    let state = State { client, used, refused: false, looked: Instant::now(), look: None, problem: None };
    let setting = setting.map(Path::to_owned);
    let reloading = Arc::new(Reloading { setting, context, server, interval, state: Mutex::new(state) });
    let service = tower::service_fn(move |request: Request<Body>| {
        let reloading = Arc::clone(&reloading);
        async move {
            let client = reloading.client();
            let answer = client.send(request).await;
            if answer.as_ref().is_ok_and(|answer| answer.status() == StatusCode::UNAUTHORIZED) {
                reloading.state.lock().refused = true;
            }
            answer
        }
    });
    Ok(Client::new(service, namespace))
}

impl Reloading {
    /// Returns the client for a request, and begins to look for changes when it is time.
    fn client(self: &Arc<Self>) -> Client {
        let mut state = self.state.lock();
        let is_looking = state.look.as_ref().is_some_and(|look| !look.is_finished());
        if !is_looking && state.looked.elapsed() >= self.interval {
            state.looked = Instant::now();
            let (reloading, runtime) = (Arc::clone(self), Handle::current());
            // Nothing waits for it: a file may be on a network file system that hangs, and a plugin is a program.
            state.look = Some(tokio::task::spawn_blocking(move || runtime.block_on(reloading.look())));
        }
        state.client.clone()
    }

    async fn look(&self) {
        let problem = self.reload().await.err().map(|error| error.to_string());
        let mut state = self.state.lock();
        if let Some(problem) = &problem
            && state.problem.as_ref() != Some(problem)
        {
            tracing::warn!("cannot read the kubeconfig again: {problem}; dayone goes on with what it read before");
        }
        state.problem = problem;
    }

    /// Makes the client anew if the kubeconfig or a file that it names has changed, or if the API server refused the credentials.
    async fn reload(&self) -> Result<(), ConnectError> {
        let mut file = read(self.setting.as_deref())?;
        file.current_context.clone_from(&self.context);
        let found = fingerprint(&file);
        let has_changed = {
            let mut state = self.state.lock();
            let refused = std::mem::take(&mut state.refused);
            let has_changed = state.used != found;
            if !has_changed && !refused {
                return Ok(());
            }
            has_changed
        };
        let config = configuration::of(file).await?;
        if config.cluster_url != self.server {
            return Err(ConnectError::OtherServer(config.cluster_url));
        }
        let client = Client::try_from(config)?;
        if has_changed {
            tracing::info!("the kubeconfig or a file that it names has changed; dayone uses the new content");
        }
        let mut state = self.state.lock();
        state.client = client;
        state.used = found;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use k8s_openapi::api::core::v1::Secret;
    use kube::Api;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that answers 200 to this token, and 401 to others. It also refuses clients that do not say who they are.
    async fn server(token: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut connection, _) = listener.accept().await.unwrap();
                let mut head = vec![0; 4096];
                let length = connection.read(&mut head).await.unwrap();
                let head = String::from_utf8_lossy(&head[..length]).to_lowercase();
                let agent = concat!("user-agent: dayone/", env!("CARGO_PKG_VERSION"), "\r\n");
                let known = head.contains(agent) && head.contains(&format!("authorization: bearer {token}\r\n"));
                let (status, body) = if known {
                    ("200 OK", r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}"#)
                } else {
                    ("401 Unauthorized", r#"{"apiVersion":"v1","kind":"Status","status":"Failure","code":401}"#)
                };
                let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n");
                let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        format!("http://{address}")
    }

    /// A kubeconfig in a directory, with a certificate authority, so that the client does not need those of the system.
    struct Files(tempfile::TempDir);

    impl Files {
        fn new() -> Self {
            let files = Self(tempfile::tempdir().unwrap());
            let issued = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
            fs::write(files.0.path().join("ca.crt"), issued.cert.pem()).unwrap();
            files
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("kubeconfig")
        }

        fn write(&self, current: &str, server: &str, user: &str) {
            let config = format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: {current}\nusers:\n\
                 - {{name: a, user: {user}}}\ncontexts:\n\
                 - {{name: a, context: {{cluster: a, user: a}}}}\n\
                 - {{name: b, context: {{cluster: b, user: a}}}}\nclusters:\n\
                 - {{name: a, cluster: {{server: '{server}', certificate-authority: ca.crt}}}}\n\
                 - {{name: b, cluster: {{server: 'http://127.0.0.1:1', certificate-authority: ca.crt}}}}\n"
            );
            // As a whole: a half-written file would be read again anyway.
            fs::write(self.0.path().join("new"), config).unwrap();
            fs::rename(self.0.path().join("new"), self.path()).unwrap();
        }

        async fn secrets(&self) -> Api<Secret> {
            let file = read(Some(&self.path())).unwrap();
            Api::namespaced(client(Some(&self.path()), file, Duration::ZERO).await.unwrap(), "hosts")
        }
    }

    /// Whether the API server accepts a request within some seconds.
    async fn is_accepted(secrets: &Api<Secret>) -> bool {
        for _ in 0..100 {
            if secrets.get("a").await.is_ok() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }

    async fn is_refused(secrets: &Api<Secret>) -> bool {
        matches!(secrets.get("a").await, Err(kube::Error::Api(status)) if status.code == 401)
    }

    #[tokio::test]
    async fn a_changed_kubeconfig_is_used_but_not_for_another_cluster() {
        let (server, files) = (server("new").await, Files::new());
        files.write("a", &server, "{token: old}");
        let secrets = files.secrets().await;
        assert!(is_refused(&secrets).await);
        fs::write(files.path(), "{").unwrap();
        for _ in 0..10 {
            assert!(is_refused(&secrets).await, "what cannot be read is left alone");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        files.write("a", "http://127.0.0.1:1", "{token: new}");
        for _ in 0..10 {
            assert!(is_refused(&secrets).await, "the server is that of the start");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        files.write("b", &server, "{token: new}");
        assert!(is_accepted(&secrets).await, "the context is that of the start");
    }

    #[tokio::test]
    async fn a_plugin_is_asked_again_when_its_credentials_are_refused() {
        let (server, files) = (server("new").await, Files::new());
        let token = files.0.path().join("token");
        fs::write(&token, "old").unwrap();
        let api = "client.authentication.k8s.io/v1";
        let credential = format!(r#"{{"apiVersion":"{api}","kind":"ExecCredential","status":{{"token":"%s"}}}}"#);
        let script = format!("printf '{credential}' \"$(cat '{}')\"", token.display());
        let script = serde_json::to_string(&script).unwrap();
        let plugin =
            format!("{{exec: {{apiVersion: {api}, command: sh, args: [-c, {script}], interactiveMode: Never}}}}");
        files.write("a", &server, &plugin);
        let secrets = files.secrets().await;
        assert!(is_refused(&secrets).await);
        fs::write(&token, "new").unwrap();
        assert!(is_accepted(&secrets).await);
    }
}

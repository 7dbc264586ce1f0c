//! The kubeconfig, and the files that it names.

use std::fs;
use std::path::{Path, PathBuf};

use imagelib::digest::Digest;
use kube::config::{AuthInfo, Cluster, Kubeconfig, KubeconfigError};

/// The files that a setting for the kubeconfig names. As in kubectl, `KUBECONFIG` may be a list; files in it that do not exist are left
/// out. A file that dayone cannot look for stays in the list, and reading it is an error: without it, another cluster may be the current one.
pub fn kubeconfig_files(setting: &Path) -> Vec<PathBuf> {
    let listed: Vec<PathBuf> =
        std::env::split_paths(setting).filter(|file| file.try_exists().unwrap_or(true)).collect();
    if setting.exists() || listed.is_empty() { vec![setting.to_owned()] } else { listed }
}

/// Reads the files of a kubeconfig, which complement one another. Without a setting, reads the user's kubeconfig.
pub(super) fn read(setting: Option<&Path>) -> Result<Kubeconfig, KubeconfigError> {
    let Some(setting) = setting else { return Kubeconfig::read() };
    let mut files = kubeconfig_files(setting).into_iter();
    files.try_fold(Kubeconfig::default(), |all, file| all.merge(Kubeconfig::read_from(file)?))
}

/// The cluster and the user of the current context.
fn current(file: &Kubeconfig) -> Option<(&Cluster, Option<&AuthInfo>)> {
    let context = file.contexts.iter().find(|context| Some(&context.name) == file.current_context.as_ref())?;
    let context = context.context.as_ref()?;
    let cluster = file.clusters.iter().find(|cluster| cluster.name == context.cluster)?;
    let user = file.auth_infos.iter().find(|user| Some(&user.name) == context.user.as_ref());
    Some((cluster.cluster.as_ref()?, user.and_then(|user| user.auth_info.as_ref())))
}

/// The proxy that the kubeconfig itself sets for its current cluster.
pub(super) fn proxy(file: &Kubeconfig) -> Option<http::Uri> {
    current(file)?.0.proxy_url.as_deref()?.parse().ok()
}

/// Whether the kubeconfig itself names a proxy for its current cluster, valid or not.
pub(super) fn names_proxy(file: &Kubeconfig) -> bool {
    let proxy = current(file).and_then(|(cluster, _)| cluster.proxy_url.as_deref());
    proxy.is_some_and(|proxy| !proxy.is_empty())
}

/// The digest of what a client of the current context is made from: its cluster, its user, and the files that they name. Files of
/// tokens are left out, because the library rereads them.
pub(super) fn fingerprint(file: &Kubeconfig) -> Option<Digest> {
    let (cluster, user) = current(file)?;
    let mut both = serde_json::to_value((cluster, user)).ok()?;
    // The library keeps some of it in hash maps, whose order differs each time.
    both.sort_all_objects();
    let mut content = both.to_string().into_bytes();
    let of_user = user.map(|user| [&user.client_certificate, &user.client_key]);
    let named = of_user.into_iter().flatten().chain([&cluster.certificate_authority]);
    // Whoever reads a pipe takes its content away from the library.
    for path in named.flatten().map(Path::new).filter(|path| path.is_file()) {
        content.extend(fs::read(path).unwrap_or_default());
    }
    Some(Digest::of(&content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_may_be_in_several_files() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let clusters = "apiVersion: v1\nkind: Config\nclusters:\n- {name: one, cluster: {server: 'https://a'}}\n";
        fs::write(file("clusters"), clusters).unwrap();
        let contexts =
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- {name: a, context: {cluster: one}}\n";
        fs::write(file("contexts"), contexts).unwrap();
        let list = std::env::join_paths([file("clusters"), file("none"), file("contexts"), PathBuf::new()]).unwrap();
        let read = read(Some(Path::new(&list))).unwrap();
        assert_eq!((read.clusters.len(), read.current_context.as_deref()), (1, Some("a")));
        assert_eq!(kubeconfig_files(&file("none")), [file("none")], "the error names it");

        std::os::unix::fs::symlink(file("circle"), file("circle")).unwrap();
        let list = std::env::join_paths([file("circle"), file("contexts")]).unwrap();
        assert_eq!(kubeconfig_files(Path::new(&list)), [file("circle"), file("contexts")], "the error names it");
    }

    #[test]
    fn the_proxy_is_that_of_the_current_contexts_cluster() {
        let file = |current: &str| {
            let text = format!(
                "current-context: {current}\ncontexts:\n- {{name: a, context: {{cluster: one, user: u}}}}\n\
                 - {{name: b, context: {{cluster: two, user: u}}}}\nclusters:\n- name: one\n  cluster: {{server: 'https://a'}}\n\
                 - name: two\n  cluster: {{server: 'https://b', proxy-url: 'http://proxy:3128'}}\n"
            );
            proxy(&Kubeconfig::from_yaml(&text).unwrap()).map(|url| url.to_string())
        };
        assert_eq!(file("b").as_deref(), Some("http://proxy:3128/"));
        assert_eq!(file("a"), None);
        assert_eq!(file("none"), None);
    }

    #[test]
    fn the_fingerprint_changes_with_the_current_context_and_with_each_file_that_it_names() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        let kubeconfig = |own: &str, other: &str| {
            format!(
                "current-context: a\ncontexts:\n- {{name: a, context: {{cluster: c, user: own}}}}\nclusters:\n\
                 - {{name: c, cluster: {{server: 'https://a', certificate-authority: ca.crt}}}}\nusers:\n\
                 - name: own\n  user: {{client-certificate: client.crt, client-key: client.key, username: {own},\n    \
                   exec: {{command: c, env: [{{name: n, value: v}}]}}}}\n\
                 - {{name: other, user: {{username: {other}}}}}\n"
            )
        };
        let now = || fingerprint(&read(Some(&directory.path().join("kubeconfig"))).unwrap()).unwrap();
        let files = ["ca.crt", "client.crt", "client.key"];
        for name in files {
            write(name, name);
        }
        write("kubeconfig", &kubeconfig("a", "a"));
        let mut seen = vec![now()];
        write("kubeconfig", &kubeconfig("a", "b"));
        assert_eq!(now(), seen[0], "nobody uses the other user");
        write("kubeconfig", &kubeconfig("b", "b"));
        seen.push(now());
        for name in files {
            write(name, "renewed");
            seen.push(now());
        }
        seen.dedup();
        assert_eq!(seen.len(), 5);
    }
}

//! The settings of `dayone controller` and `dayone static-server`.

use std::path::{Path, PathBuf};

use super::super::Problem;
use super::{Checking, files};
use crate::arguments::{ContentsArguments, ImagesArguments, Program};
use crate::host_images::Environment;
use crate::kubernetes::kubeconfig_files;

/// The settings that name files.
const FILES: [(&str, &str); 4] = [
    ("ironic-agent-pull-secret-file", "IRONIC_AGENT_PULL_SECRET_FILE"),
    ("ironic-ca-bundle", "IRONIC_CA_BUNDLE"),
    ("ca-bundle", "CA_BUNDLE"),
    ("registries-conf-path", "REGISTRIES_CONF_PATH"),
];

/// The settings that name base images.
const BASES: [(&str, &str); 3] =
    [("deploy-iso", "DEPLOY_ISO"), ("deploy-initrd", "DEPLOY_INITRD"), ("deploy-kernel", "DEPLOY_KERNEL")];

/// Checks all settings.
pub(super) fn check(mut checking: Checking<'_>) -> Vec<Problem> {
    let arguments = match checking.loaded.program {
        Program::StaticServer => {
            checking.loaded.static_server().map(|all| (all.images, all.contents, None, all.nmstate_dir))
        }
        _ => checking.loaded.controller().map(|all| (all.images, all.contents, all.kubeconfig, None)),
    };
    let (images, contents, kubeconfig, nmstate_dir) = match arguments {
        Ok(arguments) => arguments,
        Err(error) => {
            checking.mistake("config", "wrong-value", error.to_string(), "");
            return checking.problems;
        }
    };
    checking.log(Some(&images.log));
    checking.images(&images);
    checking.contents(&contents);
    checking.audit_log(given(images.audit_log.as_deref()), images.audit_log_max_mib.is_some());
    for file in given(kubeconfig.as_deref()).map(kubeconfig_files).unwrap_or_default() {
        if let Some(unusable) = files::unreadable(&file) {
            checking.mistake("kubeconfig", "file", unusable.message, unusable.fix);
        }
    }
    if checking.loaded.program == Program::StaticServer {
        match given(nmstate_dir.as_deref()) {
            None => {
                checking.mistake("nmstate-dir", "missing", "the directory of NMState documents is missing", "set it");
            }
            Some(path) if !path.is_dir() => {
                let message = format!("{} is not a directory", path.display());
                checking.mistake("nmstate-dir", "file", message, "name the directory of the documents");
            }
            Some(_) => {}
        }
    }
    checking.problems
}

/// An empty path counts as none.
fn given(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| !path.as_os_str().is_empty())
}

impl Checking<'_> {
    fn images(&mut self, images: &ImagesArguments) {
        let tls = [given(images.images_tls_cert_file.as_deref()), given(images.images_tls_key_file.as_deref())];
        let url = &images.images_publish_addr;
        let host = url.host();
        self.tls(["images-tls-cert-file", "images-tls-key-file"], tls, url.is_https().then_some(host.as_str()));
        if tls[0].is_some() && !url.is_https() {
            let message = "images are served over TLS, but their URL begins with http://";
            self.doubt("images-publish-addr", "doubtful", message, "write https://");
        }
        if let Some(unusable) = given(images.cache_dir.as_deref()).and_then(files::unwritable) {
            self.mistake("cache-dir", "cache-directory", unusable.message, unusable.fix);
        }
    }

    fn contents(&mut self, contents: &ContentsArguments) {
        let setting = |name: &str| contents.variable(name).map(str::to_owned);
        let given = |name: &str| setting(name).filter(|value| !value.trim().is_empty()).map(PathBuf::from);
        if let Err(error) = Environment::read(setting, false) {
            self.mistake("ironic-ramdisk-ssh-key", "wrong-value", error.to_string(), "write public keys, one a line");
        }
        for (key, variable) in FILES {
            if let Some(unusable) = given(variable).as_deref().and_then(files::unreadable) {
                self.mistake(key, "file", unusable.message, unusable.fix);
            }
        }
        for (key, variable) in BASES {
            // They may arrive later: an init container copies them.
            if let Some(unusable) = given(variable).as_deref().and_then(files::unreadable) {
                self.doubt(key, "base-file", unusable.message, unusable.fix);
            }
        }
        if let Some(directory) = given("IMAGE_SHARED_DIR").filter(|path| !path.is_dir()) {
            let message = format!("{} is not a directory", directory.display());
            self.doubt("image-shared-dir", "base-file", message, "name the directory of base images");
        }
    }
}

//! Drives for cloud-init and for other readers of the same files.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{DataImage, DataImageError};
use vocabulary::host::HostName;

/// `OpenStack`'s config drive, version `latest`.
#[derive(Clone, Default)]
pub struct ConfigDrive {
    /// `network_data.json`.
    pub network_data: Option<Bytes>,
    /// `meta_data.json`. If absent, dayone makes one from the host name and a UUID that depends on the drive's content.
    pub meta_data: Option<Bytes>,
    /// `user_data`.
    pub user_data: Option<Bytes>,
    /// `vendor_data.json`.
    pub vendor_data: Option<Bytes>,
    /// The host name, where `meta_data` is not given.
    pub hostname: Option<HostName>,
    /// The publisher of the volume, which Ironic compares with the kernel argument `ir_pub_id`.
    pub publisher: String,
}

/// A seed of cloud-init's data source `NoCloud`.
#[derive(Clone, Default)]
pub struct NoCloud {
    /// `network-config`: version 1, or version 2, which is that of netplan.
    pub network_config: Option<Bytes>,
    /// `meta-data`. If absent, dayone makes one from the host name and an instance id that depends on the drive's content.
    pub meta_data: Option<Bytes>,
    /// `user-data`.
    pub user_data: Option<Bytes>,
    /// `vendor-data`.
    pub vendor_data: Option<Bytes>,
    /// The host name, where `meta_data` is not given.
    pub hostname: Option<HostName>,
}

/// Empty user data. cloud-init requires the file.
const NO_USER_DATA: &str = "#cloud-config\n{}\n";

impl ConfigDrive {
    pub(super) fn image(&self) -> Result<DataImage, DataImageError> {
        let given = [&self.network_data, &self.meta_data, &self.user_data, &self.vendor_data];
        if self.hostname.is_none() && given.iter().all(|file| file.is_none()) {
            return Err(DataImageError::Empty("give network_data, meta_data, user_data, vendor_data or a host name"));
        }
        let mut image = DataImage::new("config-2");
        image.publisher.clone_from(&self.publisher);
        for (file, path, content) in [
            ("network_data.json", "openstack/latest/network_data.json", &self.network_data),
            ("vendor_data.json", "openstack/latest/vendor_data.json", &self.vendor_data),
        ] {
            if let Some(content) = content {
                object(file, content)?;
                image.add(path, content.clone())?;
            }
        }
        if let Some(content) = &self.user_data {
            image.add("openstack/latest/user_data", content.clone())?;
        }
        let meta_data = if let Some(given) = &self.meta_data {
            if !object("meta_data.json", given)?.get("uuid").is_some_and(Value::is_string) {
                let reason = "has no \"uuid\", without which cloud-init ignores the drive";
                return Err(DataImageError::Document { file: "meta_data.json", reason });
            }
            given.clone()
        } else {
            let mut meta_data = Map::new();
            if let Some(hostname) = &self.hostname {
                meta_data.insert("hostname".to_owned(), json!(hostname));
                meta_data.insert("name".to_owned(), json!(hostname));
            }
            meta_data.insert("uuid".to_owned(), json!(identified(&image, self.hostname.as_ref())?));
            Value::Object(meta_data).to_string().into()
        };
        image.add("openstack/latest/meta_data.json", meta_data)?;
        Ok(image)
    }
}

impl NoCloud {
    pub(super) fn image(&self) -> Result<DataImage, DataImageError> {
        let given = [&self.network_config, &self.meta_data, &self.user_data, &self.vendor_data];
        if self.hostname.is_none() && given.iter().all(|file| file.is_none()) {
            return Err(DataImageError::Empty(
                "give the documents of a host, network_data, meta_data, user_data, vendor_data or a host name",
            ));
        }
        let mut image = DataImage::new("cidata");
        if let Some(content) = &self.network_config {
            mapping("network-config", content)?;
            image.add("network-config", content.clone())?;
        }
        if let Some(content) = &self.vendor_data {
            image.add("vendor-data", content.clone())?;
        }
        image.add("user-data", self.user_data.clone().unwrap_or_else(|| NO_USER_DATA.into()))?;
        let meta_data = if let Some(given) = &self.meta_data {
            if !mapping("meta-data", given)?.contains_key("instance-id") {
                let reason = "has no instance-id, without which cloud-init cannot tell a new instance from an old one";
                return Err(DataImageError::Document { file: "meta-data", reason });
            }
            given.clone()
        } else {
            let hostname = self.hostname.as_ref();
            let instance = format!("instance-id: {}\n", identified(&image, hostname)?);
            // Quoted: a host name may look like a number.
            let hostname = hostname.map(|hostname| format!("local-hostname: \"{hostname}\"\n"));
            (instance + &hostname.unwrap_or_default()).into()
        };
        image.add("meta-data", meta_data)?;
        Ok(image)
    }
}

/// The instance that the files so far and the host name make.
fn identified(image: &DataImage, hostname: Option<&HostName>) -> Result<String, DataImageError> {
    let mut image = image.clone();
    if let Some(hostname) = hostname {
        image.add("hostname", hostname.to_string())?;
    }
    Ok(image.instance())
}

fn object(file: &'static str, content: &[u8]) -> Result<Map<String, Value>, DataImageError> {
    let reason = "is not a JSON object; check it with a JSON parser, such as `jq . FILE`";
    serde_json::from_slice(content).map_err(|_| DataImageError::Document { file, reason })
}

fn mapping(file: &'static str, content: &[u8]) -> Result<serde_yaml::Mapping, DataImageError> {
    let reason = "is not a YAML mapping of keys to values";
    serde_yaml::from_slice(content).map_err(|_| DataImageError::Document { file, reason })
}

debug_only!(ConfigDrive { hostname, publisher });

debug_only!(NoCloud { hostname });

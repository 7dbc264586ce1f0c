//! Makes the recipe of an image from an order and a host's network, for the API, the commands and the controller.

use hosts::network::{ConvertedNetwork, Target};
use imagelib::base::Base;
use imagelib::data_image::DataKind;
use imagelib::delivery::DeliveryProfile;
use imagelib::ignition::Additions;
use imagelib::recipe::{DataDrive, Recipe};

/// The parts of an order that determine the form of the host's network.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NetworkOrder {
    /// The kind of a data image.
    pub(crate) data: Option<DataKind>,
    /// The delivery profile, if it overrides the base's.
    pub(crate) delivery: Option<DeliveryProfile>,
    /// Whether NICs that the documents do not mention may come up with DHCP.
    pub(crate) auto_default: bool,
}

impl NetworkOrder {
    /// Whether NICs without a profile stay down. A drive does not affect NICs that the documents do not mention.
    pub(crate) fn no_auto_default(self) -> bool {
        !self.auto_default && self.data.is_none()
    }

    /// Returns the target of the conversion: the readers of a drive, or the system in the base. The base is optional, because
    /// dayone can check documents without it.
    pub(crate) fn target(self, base: Option<&Base>) -> Target {
        let files = match (self.data, self.delivery) {
            (Some(kind), _) => kind.network_files(),
            (None, Some(delivery)) => delivery.network_files(),
            (None, None) => base.map(|base| base.profile().network_files()).unwrap_or_default(),
        };
        let release = base.and_then(Base::network_manager_version);
        Target { files, release, no_auto_default: self.no_auto_default() }
    }
}

/// Adds the network to the recipe of an order. The order's host name overrides that of the network.
pub(crate) fn compose(order: Recipe, network: ConvertedNetwork) -> Recipe {
    let ConvertedNetwork { keyfiles, networkd_units, network_data, hostname, topology: _ } = network;
    let Additions { hostname: ordered, .. } = order.additions;
    let data = order.data.map(|drive| {
        let network_data = network_data.map(Into::into).or(drive.network_data);
        DataDrive { network_data, ..drive }
    });
    let additions = Additions { keyfiles, networkd_units, hostname: ordered.or(hostname), ..order.additions };
    Recipe { additions, data, ..order }
}

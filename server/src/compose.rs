//! From an order and a host's network to the recipe of its image: the one way, whoever orders.

use hosts::network::{ConvertedNetwork, Target};
use imagelib::base::Base;
use imagelib::data_image::DataKind;
use imagelib::delivery::DeliveryProfile;
use imagelib::ignition::Additions;
use imagelib::recipe::{DataDrive, Recipe};

/// What an order says of the form that its host's network is to have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NetworkOrder {
    /// Whom a data image is for.
    pub(crate) data: Option<DataKind>,
    /// How the system takes what is added, where that is not as its base says.
    pub(crate) delivery: Option<DeliveryProfile>,
    /// Whether NICs that the documents do not mention may come up with DHCP.
    pub(crate) auto_default: bool,
}

impl NetworkOrder {
    /// Whether NICs without a profile stay as they are. A drive says nothing of NICs that the documents do not mention.
    pub(crate) fn no_auto_default(self) -> bool {
        !self.auto_default && self.data.is_none()
    }

    /// What the host's network is to be converted for: a drive's readers, or the system in the base. Where the base is not
    /// there, documents can be checked all the same.
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

/// The recipe of the image that `order` describes but for the network, with the network. The order's own host name comes
/// first.
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

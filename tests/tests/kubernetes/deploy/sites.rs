//! What sites write, with each component at least once.

/// Only its own namespace, and bases on a volume.
pub(crate) const ONE_NAMESPACE: &str = "
namespace: one
resources: [dayone/deploy/base]
components: [dayone/deploy/components/bases-volume]
";

/// All that a Deployment of its own can have.
pub(crate) const EVERYTHING: &str = "
namespace: everything
resources: [dayone/deploy/base]
components:
- dayone/deploy/components/cluster-wide
- dayone/deploy/components/machine-os-images
- dayone/deploy/components/tls
- dayone/deploy/components/site-key
- dayone/deploy/components/monitoring
";

/// In the operator's Pod.
pub(crate) const SIDECAR: &str = "
namespace: baremetal-operator-system
resources: [baremetal-operator]
components:
- dayone/deploy/components/sidecar
- dayone/deploy/components/machine-os-images
- dayone/deploy/components/site-key
- dayone/deploy/components/monitoring
configMapGenerator:
- name: dayone-settings
  literals: ['IRONIC_BASE_URL=https://192.0.2.5:6385', 'IRONIC_AGENT_IMAGE=agent']
";

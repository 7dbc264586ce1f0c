//! Limits on the access to images that a server makes.

use std::num::NonZeroU32;

use clap::Args;
use media::access::{Network, Ttl};

/// Who may read the images, how often, and for how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "Access to the images")]
pub struct AccessArguments {
    /// How long the images are served, in seconds; choose more than the hosts need their medium [default: until somebody
    /// deletes them]
    #[arg(long, value_name = "SECONDS")]
    pub ttl: Option<Ttl>,

    /// How many times each file of an image may be read as a whole [default: any number of times]
    #[arg(long, value_name = "NUMBER")]
    pub max_reads: Option<NonZeroU32>,

    /// Network (CIDR) or address whose clients may read the images; repeatable [default: all clients, unless the server has
    /// another default (boot-only-from)]
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    pub only_from: Vec<Network>,
}

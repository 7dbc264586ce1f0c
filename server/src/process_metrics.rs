//! The usual metrics of a process, under the names that Prometheus gives them, read when somebody asks for the metrics.

use std::fmt;
use std::time::Duration;

use procfs::process::Process;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use rustix::process::{Resource, getrlimit};

/// The metrics of this process. A value that the system does not show is left out.
#[derive(Debug)]
pub(crate) struct ProcessMetrics;

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let process = Process::myself().ok();
        if let Some(stat) = process.as_ref().and_then(|process| process.stat().ok()) {
            let seconds = processor_time(stat.utime.saturating_add(stat.stime), procfs::ticks_per_second());
            let help = "User and system CPU time spent";
            write(&mut encoder, "process_cpu", help, Some(&Unit::Seconds), &ConstCounter::new(seconds.as_secs_f64()))?;
            let resident = stat.rss.saturating_mul(procfs::page_size());
            let help = "Resident memory size";
            write(&mut encoder, "process_resident_memory", help, Some(&Unit::Bytes), &gauge(resident))?;
        }
        if let Some(open) = process.as_ref().and_then(|process| process.fd_count().ok()) {
            write(&mut encoder, "process_open_fds", "Open file descriptors", None, &gauge(open as u64))?;
        }
        // None: there is no limit.
        if let Some(limit) = getrlimit(Resource::Nofile).current {
            write(&mut encoder, "process_max_fds", "Limit on open file descriptors", None, &gauge(limit))?;
        }
        Ok(())
    }
}

fn write(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    metric: &impl EncodeMetric,
) -> Result<(), fmt::Error> {
    metric.encode(encoder.encode_descriptor(name, help, unit, metric.metric_type())?)
}

fn gauge(value: u64) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX))
}

fn processor_time(ticks: u64, per_second: u64) -> Duration {
    Duration::from_millis(ticks.saturating_mul(1000).checked_div(per_second).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_seconds() {
        assert_eq!(processor_time(250, 100), Duration::from_millis(2500));
        assert_eq!(processor_time(1, 0), Duration::ZERO);
    }
}

//! Metrics of boots. No label names a host.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::record::{BootRecord, BootState};
use super::step::{Step, StepRecord, StepState};
use crate::metrics::{registered, registered_counters};

/// Buckets for the duration of a step: from a single request to a host that tests its memory.
const SECONDS: [f64; 12] = [0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 180.0, 600.0, 1200.0, 1800.0, 3600.0];

/// No step takes longer: a boot waits for its host for a day at most.
const LONGEST_STEP: Duration = Duration::from_hours(48);

/// The outcomes of a boot. A boot that somebody deletes may have two, one after the other.
const OUTCOMES: [BootState; 4] = [BootState::Booted, BootState::Unknown, BootState::Failed, BootState::Ejected];

/// Metrics of boots. Clones share their values.
#[derive(Debug, Clone)]
pub struct BootMetrics {
    outcomes: Family<[(&'static str, String); 1], Counter>,
    steps: Family<[(&'static str, String); 2], Histogram>,
    queued: Gauge,
    running: Gauge,
}

impl BootMetrics {
    /// Makes the metrics, and registers them with an exporter.
    pub fn new(registry: &mut Registry) -> Self {
        let steps: Family<_, _> = Family::new_with_constructor(|| Histogram::new(SECONDS));
        let duration = "How long the steps of boots took";
        registry.register_with_unit("boot_step_duration", duration, Unit::Seconds, steps.clone());
        Self {
            outcomes: registered_counters(
                registry,
                ("boots", "Boots that came to an outcome; a deleted boot may count twice"),
                "outcome",
                OUTCOMES.map(|state| state.to_string()),
            ),
            steps,
            queued: registered(registry, "boots_queued", "Boots that wait for others to end"),
            running: registered(registry, "boots_running", "Running boots"),
        }
    }

    /// Updates the metrics for a change of a record.
    pub(super) fn changed(&self, old: &BootRecord, new: &BootRecord) {
        for (before, after) in old.steps().iter().zip(new.steps()) {
            if before.state != after.state {
                self.step(after);
            }
        }
        if old.state != new.state && OUTCOMES.contains(&new.state) {
            self.outcomes.get_or_create(&[("outcome", new.state.to_string())]).inc();
        }
    }

    /// Sets the gauges. The server counts the boots whenever the metrics are read: a gauge that is only changed by one each
    /// time would stay wrong after a single mistake.
    pub(super) fn measured(&self, queued: usize, running: usize) {
        for (gauge, count) in [(&self.queued, queued), (&self.running, running)] {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    fn step(&self, record: &StepRecord) {
        let ended = matches!(record.state, StepState::Done | StepState::Failed | StepState::Unknown);
        // The image is published before the boot exists.
        if let (true, Some(started), Some(end)) = (ended && record.step != Step::Image, record.started, record.ended) {
            let labels = [("step", record.step.to_string()), ("state", record.state.to_string())];
            // More only if the clock was set meanwhile, and one such value would spoil the sum for good.
            let took = started.until(end);
            if took <= LONGEST_STEP {
                self.steps.get_or_create(&labels).observe(took.as_secs_f64());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use prometheus_client::encoding::text;

    use super::*;
    use crate::boots::time::Timestamp;

    #[test]
    fn a_step_during_which_the_clock_was_set_does_not_spoil_the_sum() {
        let mut registry = Registry::default();
        let metrics = BootMetrics::new(&mut registry);
        for took in [2, 5 * 365 * 24 * 3600, 3] {
            let began = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
            let at = |seconds| Some(Timestamp::of(began + Duration::from_secs(seconds)));
            let (started, ended) = (at(0), at(took));
            metrics.step(&StepRecord { state: StepState::Done, started, ended, ..StepRecord::waiting(Step::Power) });
        }
        let mut shown = String::new();
        text::encode(&mut shown, &registry).unwrap();
        assert!(shown.contains(r#"boot_step_duration_seconds_sum{step="power",state="done"} 5.0"#), "{shown}");
    }
}

//! Measured times, and what is said of them.

use std::time::{Duration, Instant};

/// Times in any order.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    ms: Vec<f64>,
}

impl Samples {
    pub fn add(&mut self, span: Duration) {
        self.add_ms(span.as_secs_f64() * 1e3);
    }

    pub fn add_ms(&mut self, ms: f64) {
        self.ms.push(ms);
    }

    /// Times what is awaited and passes it on.
    pub async fn time<T>(&mut self, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.await;
        self.add(begun.elapsed());
        done
    }

    pub fn count(&self) -> usize {
        self.ms.len()
    }

    /// The smallest time that this share of all times does not exceed (nearest rank). NaN of nothing.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        let mut sorted = self.ms.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
        sorted
            .get(rank.saturating_sub(1))
            .copied()
            .unwrap_or(f64::NAN)
    }

    pub fn median_ms(&self) -> f64 {
        self.percentile_ms(50.0)
    }
    pub fn p99_ms(&self) -> f64 {
        self.percentile_ms(99.0)
    }
    pub fn median_us(&self) -> f64 {
        self.median_ms() * 1e3
    }
    pub fn p99_us(&self) -> f64 {
        self.p99_ms() * 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let mut samples = Samples::default();
        (1..=200).rev().for_each(|ms| samples.add_ms(f64::from(ms)));
        let asked = [0.1, 50.0, 99.0, 100.0];
        assert_eq!(
            asked.map(|percent| samples.percentile_ms(percent)),
            [1.0, 100.0, 198.0, 200.0]
        );
        assert!(Samples::default().median_ms().is_nan());
    }
}

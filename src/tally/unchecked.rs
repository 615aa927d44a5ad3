//! Rows whose verdicts mean nothing, because the log holds a proxy's addresses: counted again as not checkable.
//!
//! Example: 980 `failed` and 20 `verified` requests of Googlebot become 1,000 that could not be checked.

use super::fold::Tally;
use super::table::Verification;

impl Tally {
    /// The same hits, all of them not checkable, and no network that failed.
    #[must_use]
    pub fn without_verdicts(mut self) -> Self {
        for series in &mut self.series {
            series.verification = Verification::NotCheckable;
        }
        for day in &mut self.days {
            day.networks.clear();
        }
        let host = self.hosts.first().cloned().unwrap_or_default();
        let mut fresh = Self::new(&host);
        // Series that differed in their verdict only are one now.
        fresh.merge(self);
        fresh
    }
}

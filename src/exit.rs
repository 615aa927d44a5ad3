//! Exit codes: a contract with pipelines, the same for every command.
//!
//! A run collects every reason; the first that applies in the order 2, 5, 1, 3, 4, 0 is returned. A signal goes
//! before all of them: the run was not finished.

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// 0: done, every check passed.
    Success,
    /// 1: a check failed.
    CheckFailed,
    /// 2: usage, configuration or manifest error.
    Usage,
    /// 3: no record at all, or an empty window.
    NoData,
    /// 4: some input was damaged, unreadable or rejected above the share; the rest was kept.
    Partial,
    /// 5: could not write, or another run-time failure.
    Runtime,
    /// 128 + signal.
    Signal(i32),
}

impl ExitStatus {
    /// The process exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::CheckFailed => 1,
            Self::Usage => 2,
            Self::NoData => 3,
            Self::Partial => 4,
            Self::Runtime => 5,
            Self::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Signal(_) => 0,
            Self::Usage => 1,
            Self::Runtime => 2,
            Self::CheckFailed => 3,
            Self::NoData => 4,
            Self::Partial => 5,
            Self::Success => 6,
        }
    }

    /// The status of a run that has met both.
    ///
    /// ```
    /// use crawl_baseline::exit::ExitStatus::{NoData, Partial, Runtime};
    /// assert_eq!(Partial.and(NoData), NoData);
    /// assert_eq!(Runtime.and(NoData), Runtime);
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if other.rank() < self.rank() { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::ExitStatus::{CheckFailed, NoData, Partial, Runtime, Signal, Success, Usage};

    #[test]
    fn the_first_that_applies_is_returned_in_the_order_2_5_1_3_4_0() {
        let order = [Signal(2), Usage, Runtime, CheckFailed, NoData, Partial, Success];
        for (i, a) in order.iter().enumerate() {
            for b in &order[i..] {
                assert_eq!((a.and(*b), b.and(*a)), (*a, *a));
            }
        }
        assert_eq!(order.map(super::ExitStatus::code), [130, 2, 5, 1, 3, 4, 0]);
        assert_eq!(Signal(15).code(), 143);
    }
}

//! What is counted: records in, rows out. Counts add up in any order to the same rows.

pub mod distinct;
pub mod table;
mod latency;
pub mod hit;
pub mod waste;
pub mod queries;
pub mod parameters;
pub mod matched;
pub mod lines;
pub mod fold;
pub mod finish;

/// What one entry of the bot table stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupBy {
    /// A bot's name.
    #[default]
    Bot,
    /// A full User-Agent, as the seed's script counted.
    UserAgent,
    /// A line of the pattern file; a request counts for every pattern that it matches.
    Pattern,
}

impl GroupBy {
    /// The name that users type and read.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bot => "bot",
            Self::UserAgent => "user-agent",
            Self::Pattern => "pattern",
        }
    }
}

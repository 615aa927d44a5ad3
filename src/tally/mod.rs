//! What is counted: records in, rows out. Counts add up in any order to the same rows.

pub mod distinct;
pub mod table;
mod latency;
pub mod hit;
pub mod spill;
pub mod waste;
pub mod queries;
pub mod parameters;
pub mod claims;
pub(crate) mod aside;
pub mod edges;
pub mod lines;
pub mod fold;
pub mod matched;
mod unchecked;
mod wasted;
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
    /// Bots of one crawler together.
    Family,
    /// Bots of one operator together.
    Operator,
    /// Bots of one purpose together.
    Category,
}

impl GroupBy {
    /// The name that users type and read.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bot => "bot",
            Self::UserAgent => "user-agent",
            Self::Pattern => "pattern",
            Self::Family => "family",
            Self::Operator => "operator",
            Self::Category => "category",
        }
    }

    /// Whether it is a sum of rows by bot.
    #[must_use]
    pub fn is_roll_up(self) -> bool {
        matches!(self, Self::Family | Self::Operator | Self::Category)
    }

    /// Whether rows by bot do not hold it, so that the lines have to be counted for it.
    #[must_use]
    pub fn needs_lines(self) -> bool {
        matches!(self, Self::UserAgent | Self::Pattern)
    }
}

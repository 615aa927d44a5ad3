//! From one night to the next: fall at once, rise slowly, and not after trouble.
//!
//! Not the rules that a value comes from. Example: 76 after 60 becomes 66, the most that a ceiling rises in a day.

use super::policy::Policy;
use super::recommendation::Rule;

/// What decides whether a value may change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Brake<'p> {
    pub(super) policy: &'p Policy,
    /// A dead bot gets what it gets.
    pub(super) dead: bool,
    /// A 429 episode ended within the freeze.
    pub(super) refused: bool,
    /// ... or load-related overload did.
    pub(super) troubled: bool,
    pub(super) partial: bool,
    pub(super) unhealthy: bool,
    /// The previous ceiling may hide the demand, and nothing else says that more is safe.
    pub(super) blind: bool,
    /// The best demand; above the previous ceiling, it says that more was safe once.
    pub(super) best_demand: Option<u64>,
    /// The lowest candidate that is neither demand nor the host's room.
    pub(super) firm: Option<u64>,
}

impl Brake<'_> {
    /// The value that may follow `old`, and the rule that binds it then. `room` is what the host leaves, where known.
    pub(super) fn apply(&self, new: u64, rule: Rule, old: Option<u64>, room: Option<u64>) -> (u64, Rule) {
        let Some(old) = old.filter(|old| !self.dead && *old != new) else { return (new, rule) };
        if new > old && self.troubled {
            return (old, if self.refused { Rule::FrozenAfter429 } else { Rule::FrozenAfterOverload });
        }
        if 100 * new.abs_diff(old) <= self.policy.deadband_percent * old && !self.troubled {
            return (old, Rule::Deadband);
        }
        if new < old {
            if self.partial && rule.is_demand() {
                let held = [self.firm, room].into_iter().flatten().fold(old, u64::min);
                if held > new {
                    return (held, Rule::PartialInputHold);
                }
            }
            return (new, rule);
        }
        if self.unhealthy {
            return (old, Rule::UnhealthyHold);
        }
        if self.blind && self.best_demand.is_none_or(|best| best <= old) {
            return (old, Rule::CensoredByOwnCeiling);
        }
        let step = ((100 + self.policy.raise_percent) * old / 100).max(old + 1);
        if new > step { (step, Rule::MaxRaisePerDay) } else { (new, rule) }
    }
}

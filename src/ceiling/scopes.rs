//! The budgets that hold over several hosts: all requests of an hour, of a credential, of an identity.
//!
//! Counters are independent and start again at fixed times. Example: hosts with 4,236 and 2,118 an hour: 6,354.

use serde::Serialize;

use super::policy::Policy;
use super::recommendation::{AllBots, HostRecommendation};
use super::site::SiteConfig;
use crate::manifest::Grade;

/// A limit, if one is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Scope {
    /// Requests.
    pub limit: Option<u64>,
    /// Whether it is known, from the log or as configured.
    pub measured: bool,
}

/// The limits over all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Scopes {
    /// Over all hosts.
    pub global_per_hour: Scope,
    /// Each credential.
    pub credential_per_hour: Scope,
    /// Each identity.
    pub identity_per_day: Scope,
}

/// The scopes over these hosts, for one bot or for all together.
///
/// Of the configuration, the limits of egress, credential and identity and the account's age are used.
#[must_use]
pub fn scopes(
    hosts: &[&HostRecommendation],
    bot: Option<&str>,
    site: &SiteConfig,
    policy: &Policy,
) -> Scopes {
    let entries: Vec<(u64, Grade)> = hosts.iter().filter_map(|host| entry(host, bot)).collect();
    let mut total: u64 = entries.iter().map(|(hourly, _)| hourly).sum();
    let trusted = |grade: &Grade| matches!(grade, Grade::A | Grade::B | Grade::C);
    let mut known = !entries.is_empty() && entries.iter().all(|(_, grade)| trusted(grade));
    if let Some(egress) = site.egress_per_hour {
        known = known || egress <= total;
        total = total.min(egress);
    }
    let young = site.account_age_days.is_some_and(|days| days < policy.young_account_days);
    let configured = |limit: Option<u64>| Scope {
        limit: limit.map(|v| if young { v / 2 } else { v }),
        measured: limit.is_some(),
    };
    Scopes {
        global_per_hour: Scope { limit: Some(total), measured: known },
        credential_per_hour: configured(site.credential_per_hour),
        identity_per_day: configured(site.identity_per_day),
    }
}

fn entry(host: &HostRecommendation, bot: Option<&str>) -> Option<(u64, Grade)> {
    let previous = |e: &super::PreviousEntry| (e.hourly_budget.unwrap_or(0), e.grade);
    match (bot, &host.all_bots) {
        (Some(name), _) => match host.bots.get(name) {
            Some(r) => Some((r.hourly_budget, r.grade)),
            None => host.held.get(name).map(previous),
        },
        (None, AllBots::Recommended(r)) => Some((r.hourly_budget, r.grade)),
        (None, AllBots::Held(entry)) => Some(previous(entry)),
    }
}

//! From the end of a run to its report.
//!
//! Example: 312 pages wait for the credential's hour: `binding: {reason: {scope: credential_per_hour}, pages: 312}`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Settings;
use super::host::Host;
use super::report::{Binding, BudgetReport, Deferred, REPORT_VERSION, Reason, ScopeKey, Spending};
use super::run::{Run, party};
use crate::throttle::{Fund, Party, Scope, Scopes};

/// Budgets that last longer than a minute.
const LONG: [Scope; 6] = [
    Scope::HostPerHour,
    Scope::CredentialPerHour,
    Scope::IdentityPerDay,
    Scope::GlobalPerHour,
    Scope::RetryReserve,
    Scope::PrerequisiteReserve,
];

/// Keeps the most that was spent in one window of each scope that the request counts in.
pub(super) fn note_peaks(
    peaks: &mut BTreeMap<(Scope, String), u64>,
    scopes: &Scopes,
    now: Duration,
    party: Party<'_>,
    fund: Fund,
) {
    for scope in Scope::ALL {
        let key = match scope {
            Scope::HostPerMinute | Scope::HostPerHour => party.host,
            Scope::CredentialPerHour => match party.credential {
                Some(credential) => credential,
                None => continue,
            },
            Scope::IdentityPerDay => match party.identity {
                Some(identity) => identity,
                None => continue,
            },
            Scope::RetryReserve if fund != Fund::Retry => continue,
            Scope::PrerequisiteReserve if fund != Fund::Prerequisite => continue,
            _ => "",
        };
        let spent = scopes.spent(now, scope, key);
        let peak = peaks.entry((scope, key.to_owned())).or_default();
        *peak = spent.max(*peak);
    }
}

/// What is left of the long budgets at `now`, by scope and key; only keys that spent something, and all hosts.
pub(super) fn left(
    scopes: &Scopes,
    peaks: &BTreeMap<(Scope, String), u64>,
    settings: &Settings,
    hosts: &[Host],
    now: Duration,
) -> BTreeMap<Scope, BTreeMap<String, u64>> {
    let mut left = BTreeMap::<Scope, BTreeMap<String, u64>>::new();
    let spent = peaks.keys().map(|(scope, key)| (*scope, key.as_str()));
    let of_hosts = hosts.iter().map(|host| (Scope::HostPerHour, host.name.as_str()));
    let globals =
        [Scope::GlobalPerHour, Scope::RetryReserve, Scope::PrerequisiteReserve].map(|scope| (scope, ""));
    let credential = settings.credential.as_deref().map(|key| (Scope::CredentialPerHour, key));
    let identity = settings.identity.as_deref().map(|key| (Scope::IdentityPerDay, key));
    for (scope, key) in spent.chain(of_hosts).chain(globals).chain(credential).chain(identity) {
        if LONG.contains(&scope)
            && let Some(rest) = scopes.left(now, scope, key)
        {
            left.entry(scope).or_default().insert(key.to_owned(), rest);
        }
    }
    left
}

/// The report of a run that has ended.
pub(super) fn report(run: Run<'_>) -> BudgetReport {
    let (deferred, binding) = (deferred(&run), binding(&run));
    let last_left = run.minutes.last().map(|row| row.left.clone()).unwrap_or_default();
    let exhausted = last_left
        .into_iter()
        .flat_map(|(scope, keys)| keys.into_iter().map(move |(key, left)| (scope, key, left)))
        .filter(|(scope, _, left)| *left == 0 && !is_reserve(*scope))
        .map(|(scope, key, _)| ScopeKey { scope, key })
        .collect();
    let limits = run.scopes.limits();
    let scopes: Vec<Spending> = run
        .peaks
        .iter()
        .map(|((scope, key), spent)| Spending {
            scope: *scope,
            key: key.clone(),
            limit: limits.of(*scope, key),
            spent_peak: *spent,
        })
        .collect();
    let hour = run.peaks.get(&(Scope::GlobalPerHour, String::new())).copied().unwrap_or(0);
    let unset = run.scopes.unset();
    let queued = run.pages.len();
    let hosts: BTreeMap<_, _> = run.hosts.into_iter().map(Host::finish).collect();
    let sum = |figure: fn(&super::HostReport) -> u64| hosts.values().map(figure).sum::<u64>();
    let requests = sum(|host| host.requests);
    let share = |part: u64, whole: u64| (whole > 0).then(|| six_decimals(part as f64 / whole as f64));
    BudgetReport {
        schema_version: REPORT_VERSION,
        seed: run.settings.seed,
        inputs: BTreeMap::new(),
        queued: u64::try_from(queued).unwrap_or(u64::MAX),
        requests,
        delivered: run.delivered,
        prerequisites: run.prerequisites,
        requests_per_delivered_row: share(requests, run.delivered),
        success_share: share(sum(|host| host.successes), requests),
        retries: run.retries,
        retry_share: share(run.retries, requests),
        rate_limited: sum(|host| host.rate_limited),
        unavailable: sum(|host| host.unavailable),
        breaker_trips: sum(|host| host.breaker_trips),
        in_flight_ratio_max: run.ratio_max.map(six_decimals),
        backlog: run.backlog,
        bytes_per_hour_max: run.settings.response_bytes_mean.map(|bytes| bytes.saturating_mul(hour)),
        binding,
        exhausted,
        unset,
        scopes,
        hosts,
        minutes: run.minutes,
        deferred,
        dead_letters: run.dead,
        bans: run.bans,
        orphans: Vec::new(),
    }
}

/// More would not survive being written and read back.
fn six_decimals(figure: f64) -> f64 {
    (figure * 1e6).round() / 1e6
}

fn is_reserve(scope: Scope) -> bool {
    matches!(scope, Scope::RetryReserve | Scope::PrerequisiteReserve)
}

/// Everything that waits at the end, best first.
fn deferred(run: &Run<'_>) -> Vec<Deferred> {
    let why = |rank: usize| if run.progress[rank].failed { Reason::RetryWaits } else { Reason::Fresh };
    let mut waiting: Vec<(usize, Reason)> = run.waiting.iter().map(|(_, rank)| (*rank, why(*rank))).collect();
    for host in &run.hosts {
        let why = reason(run, host);
        waiting.extend(host.pages.iter().chain(&host.prerequisites).map(|rank| (*rank, why)));
        waiting.extend(host.retries.iter().map(|(_, rank)| (*rank, Reason::RetryWaits)));
    }
    waiting.sort_unstable();
    waiting
        .into_iter()
        .map(|(rank, reason)| {
            let page = run.pages[rank];
            Deferred { url: page.url.clone(), host: page.host.clone(), value: page.density(), reason }
        })
        .collect()
}

/// The reason that holds most pages back: each scope without room counts for every page that needs it, so the one that
/// all share is found and not the one that was asked first. Of equal ones the longest window, then the first in their
/// order. A fresh page is not held back.
fn binding(run: &Run<'_>) -> Option<Binding> {
    let mut counts = BTreeMap::<Reason, u64>::new();
    let mut add = |reason: Reason, pages: usize| {
        if pages > 0 {
            *counts.entry(reason).or_default() += u64::try_from(pages).unwrap_or(u64::MAX);
        }
    };
    for host in &run.hosts {
        let pages = host.pages.len() + host.prerequisites.len();
        match run.scopes.check(run.now, party(run.settings, &host.name), Fund::Plan) {
            Err(denied) => denied.exhausted().iter().for_each(|full| add(Reason::Scope(full.scope), pages)),
            Ok(()) => add(reason(run, host), pages),
        }
        add(Reason::RetryWaits, host.retries.len());
    }
    add(Reason::RetryWaits, run.waiting.iter().filter(|(_, rank)| run.progress[*rank].failed).count());
    let window = |reason: Reason| match reason {
        Reason::Scope(scope) => scope.window(),
        _ => Duration::ZERO,
    };
    let most = counts
        .into_iter()
        .max_by(|a, b| a.1.cmp(&b.1).then(window(a.0).cmp(&window(b.0))).then(b.0.cmp(&a.0)));
    most.map(|(reason, pages)| Binding { reason, pages })
}

/// Why a page that waits in its lane at the end does so.
fn reason(run: &Run<'_>, host: &Host) -> Reason {
    match run.scopes.check(run.now, party(run.settings, &host.name), Fund::Plan) {
        Err(denied) => Reason::Scope(denied.binding().scope),
        Ok(()) if host.closed_until(run.now).is_some() => Reason::HostCooling,
        Ok(()) => Reason::TimeOver,
    }
}

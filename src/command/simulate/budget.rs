//! `--budget SCOPE=N` and `--retry-reserve` over what the manifest says.

use std::collections::BTreeSet;

use crate::config::nearest;
use crate::error::Error;
use crate::simulate::Settings;
use crate::throttle::{HostLimits, Scope};

/// Who spends a budget of one account or profile.
const CRAWLER: &str = "crawler";

/// Puts the budgets into the settings.
pub(super) fn apply(
    settings: &mut Settings,
    budgets: &[String],
    retry_reserve: Option<u64>,
    hosts: &BTreeSet<&str>,
) -> Result<(), Error> {
    for typed in budgets {
        let (scope, host, requests) = read(typed)?;
        if let Some(host) = &host {
            if !hosts.contains(host.as_str()) {
                let error =
                    Error::usage(format_args!("--budget {typed}"), format_args!("no URL is on {host:?}"));
                return Err(match nearest(host, hosts.iter().copied()) {
                    Some(near) => error.hint(format_args!("did you mean {near}?")),
                    None => error,
                });
            }
            let limits = settings.limits.hosts.entry(host.clone()).or_default();
            set_host(limits, scope, requests);
            continue;
        }
        let limits = &mut settings.limits;
        match scope {
            Scope::HostPerMinute => limits.host_per_minute = Some(requests),
            Scope::HostPerHour => limits.host_per_hour = Some(requests),
            Scope::CredentialPerHour => limits.credential_per_hour = Some(requests),
            Scope::IdentityPerDay => limits.identity_per_day = Some(requests),
            Scope::GlobalPerMinute => limits.global_per_minute = Some(requests),
            Scope::GlobalPerHour => limits.global_per_hour = Some(requests),
            Scope::RetryReserve => limits.retry_reserve = Some(requests),
            Scope::PrerequisiteReserve => limits.prerequisite_reserve = Some(requests),
        }
        limits.hosts.values_mut().for_each(|limits| set_host(limits, scope, requests));
    }
    if retry_reserve.is_some() {
        settings.limits.retry_reserve = retry_reserve;
    }
    settings.credential = settings.limits.credential_per_hour.map(|_| CRAWLER.to_owned());
    settings.identity = settings.limits.identity_per_day.map(|_| CRAWLER.to_owned());
    Ok(())
}

fn set_host(limits: &mut HostLimits, scope: Scope, requests: u64) {
    match scope {
        Scope::HostPerMinute => limits.per_minute = Some(requests),
        Scope::HostPerHour => limits.per_hour = Some(requests),
        _ => {}
    }
}

/// `SCOPE=N` or `SCOPE:HOST=N`.
fn read(typed: &str) -> Result<(Scope, Option<String>, u64), Error> {
    let place = || format!("--budget {typed}");
    let Some((left, number)) = typed.rsplit_once('=') else {
        return Err(Error::usage(place(), "is no budget").cause("expected SCOPE=N, as global_per_hour=260"));
    };
    let requests = number
        .trim()
        .parse::<u64>()
        .map_err(|e| Error::usage(place(), format_args!("{number:?} is no number of requests")).cause(e))?;
    let (name, host) = match left.split_once(':') {
        Some((name, host)) => (name, Some(host.to_ascii_lowercase())),
        None => (left, None),
    };
    let wanted = name.trim().replace('-', "_");
    let scope = Scope::ALL.into_iter().find(|scope| scope.name() == wanted).ok_or_else(|| {
        let error = Error::usage(place(), format_args!("{name:?} is no scope"));
        match nearest(&wanted, Scope::ALL.into_iter().map(Scope::name)) {
            Some(near) => error.hint(format_args!("did you mean {near}?")),
            None => error.hint(format_args!("one of {}", Scope::ALL.map(Scope::name).join(", "))),
        }
    })?;
    if host.is_some() && !matches!(scope, Scope::HostPerMinute | Scope::HostPerHour) {
        return Err(Error::usage(place(), "only budgets of a host can name one"));
    }
    Ok((scope, host, requests))
}

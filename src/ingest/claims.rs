//! What the claims of one source say of it as a whole, and what of that is kept beside its settings.
//!
//! Example: a log behind a load balancer; its verdicts are taken back, and `proxy-addresses` is recorded with the reason.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Ingested, named, recall};
use crate::pipeline::{Pipeline, SourceCount};
use crate::tally::fold::Tally;

/// The name under which it is recorded that a log holds the addresses of a proxy, and why.
pub(super) const PROXY: &str = "proxy-addresses";

/// Requests by address and bot that a reverse name could prove; and those of addresses past the cap.
pub(super) type Unverified = (BTreeMap<(IpAddr, String), u64>, u64);

/// Takes the verdicts of a source back where they mean nothing, and says why.
pub(super) fn judge(pipeline: &Pipeline<'_>, count: &mut SourceCount) -> (Option<String>, Unverified) {
    let claims = std::mem::take(&mut count.lines.claims);
    let proxy = claims.proxy();
    if proxy.is_some() {
        let all = std::mem::replace(&mut count.all, Tally::new(b""));
        count.all = all.without_verdicts();
        count.window = count.window.take().map(Tally::without_verdicts);
        count.grouped = count.grouped.take().map(Tally::without_verdicts);
    }
    let (unverified, left_out) = claims.to_look_up();
    let name = |who: u32| named(pipeline.matcher.catalogue(), pipeline.names, who).bot;
    let unverified = unverified.into_iter().map(|((client, who), n)| ((client, name(who)), n)).collect();
    (proxy, (unverified, left_out))
}

/// What is kept beside the settings of a source; its remarks, so that a log that is not read again still has them.
pub(super) fn recorded(of_run: &[(String, String)], log: &Ingested) -> Vec<(String, String)> {
    let remarks =
        [(PROXY, &log.proxy), (recall::EDGE, &log.remarks.edge), (recall::PROXY_CLIENTS, &log.remarks.proxy)];
    let remarks = remarks.into_iter().filter_map(|(name, why)| Some((name.to_owned(), why.clone()?)));
    let mut all: Vec<_> = of_run.iter().cloned().chain(remarks).collect();
    all.sort();
    all
}

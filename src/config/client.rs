//! What the flags say of who asked and of which site: proxies that are trusted, and hosts in paths.
//!
//! Example: `--client last-untrusted --trusted-proxy 10.0.0.0/8`

use ipnet::IpNet;

use crate::cli::{Client, ReadingArguments};
use crate::error::Error;
use crate::format::client::ClientChoice;
use crate::format::path_host::PathHost;

/// Which address is the client.
///
/// # Errors
/// A proxy that is no address and no network, or one without the other of `--client last-untrusted` and
/// `--trusted-proxy` (usage).
pub fn client_choice(arguments: &ReadingArguments) -> Result<ClientChoice, Error> {
    let mut networks = Vec::new();
    for text in &arguments.trusted_proxy {
        let address = text.parse::<std::net::IpAddr>().map(IpNet::from);
        let network = address.or_else(|_| text.parse::<IpNet>()).map_err(|_| {
            Error::usage(format_args!("--trusted-proxy {text}"), "is no address and no network")
                .cause(format_args!("expected 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32; found {text:?}"))
        })?;
        networks.push(network.trunc());
    }
    networks.sort_unstable();
    networks.dedup();
    match (arguments.client, networks.is_empty()) {
        (Client::LastUntrusted, true) => Err(Error::usage("--client last-untrusted", "trusts no proxy")
            .cause("expected --trusted-proxy CIDR beside it, found none")
            .hint("name the networks of your own proxies, as --trusted-proxy 10.0.0.0/8")),
        (Client::LastUntrusted, false) => Ok(ClientChoice::LastUntrusted(networks.leak())),
        (_, false) => Err(Error::usage("--trusted-proxy", "has no effect")
            .cause("expected --client last-untrusted beside it")),
        (Client::Peer, true) => Ok(ClientChoice::Peer),
        (Client::FirstXff, true) => Ok(ClientChoice::FirstXff),
    }
}

/// Where a site stands in a request.
///
/// # Errors
/// An expression that cannot be used (usage).
pub fn host_from_path(arguments: &ReadingArguments) -> Result<Option<PathHost>, Error> {
    let compile = |text: &String| {
        PathHost::new(text).map_err(|cause| {
            Error::usage(format_args!("--host-from-path {text}"), "cannot use this expression").cause(cause)
        })
    };
    arguments.host_from_path.as_ref().map(compile).transpose()
}

//! Which addresses are not reached.
//!
//! Link-local addresses and the fixed addresses of cloud metadata services give credentials of the
//! machine to whoever asks, so a URL in a project must not lead there by accident or by trick (also not
//! by a name that resolves there). Loopback and private addresses stay open: that is where a team's own
//! systems are. Behind a proxy the proxy resolves names, and this check is its business.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use url::{Host, Url};

/// The metadata services that do not live on a link-local address.
const METADATA: [Ipv4Addr; 3] =
    [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(192, 0, 0, 192)];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The address of a host that is not reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked(pub IpAddr);

impl fmt::Display for Blocked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the address {} is link-local or a cloud's metadata service, which is not reached", self.0)
    }
}

impl std::error::Error for Blocked {}

/// Whether `address` is not reached.
#[must_use]
pub fn blocked(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => blocked_v4(four),
        IpAddr::V6(six) => six.is_unicast_link_local() || six == METADATA_V6 || embedded(six).is_some_and(blocked_v4),
    }
}

fn blocked_v4(four: Ipv4Addr) -> bool {
    four.is_link_local() || METADATA.contains(&four)
}

/// The IPv4 address inside a mapped, compatible or NAT64 address.
fn embedded(six: Ipv6Addr) -> Option<Ipv4Addr> {
    six.to_ipv4().or_else(|| match six.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low))),
        _ => None,
    })
}

/// Checks a URL whose host is an address; a name is checked when it is resolved.
pub(crate) fn literal(url: &Url) -> Result<(), String> {
    let address = match url.host() {
        Some(Host::Ipv4(four)) => IpAddr::V4(four),
        Some(Host::Ipv6(six)) => IpAddr::V6(six),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    if blocked(address) { Err(Blocked(address).to_string()) } else { Ok(()) }
}

/// The system's name resolution without the addresses that are not reached.
#[derive(Debug)]
pub(crate) struct Resolver {
    pub(crate) link_local: bool,
}

impl reqwest::dns::Resolve for Resolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let link_local = self.link_local;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (bad, good): (Vec<SocketAddr>, Vec<SocketAddr>) =
                found.partition(|address| !link_local && blocked(address.ip()));
            match bad.first() {
                Some(first) if good.is_empty() => Err(Blocked(first.ip()).into()),
                Some(_) | None => Ok(Box::new(good.into_iter()) as reqwest::dns::Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests;

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

/// How far a client reaches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    /// Also to link-local and metadata addresses.
    pub(crate) link_local: bool,
    /// Only out of the house: not to private and loopback addresses.
    pub(crate) public: bool,
}

impl Reach {
    fn refuses(self, address: IpAddr) -> bool {
        (!self.link_local && blocked(address)) || (self.public && private(address))
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if blocked(self.0) { "link-local or a cloud's metadata service" } else { "in a private network" };
        write!(out, "the address {} is {what}, which is not reached", self.0)
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

/// Whether `address` is one of this machine or of a private network.
#[must_use]
pub fn private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => private_v4(four),
        IpAddr::V6(six) => {
            six.is_loopback() || six.is_unspecified() || six.is_unique_local() || embedded(six).is_some_and(private_v4)
        }
    }
}

fn private_v4(four: Ipv4Addr) -> bool {
    let [first, second, ..] = four.octets();
    four.is_private()
        || four.is_loopback()
        || four.is_broadcast()
        || four.is_multicast()
        || first == 0
        // Shared by a carrier's customers.
        || (first == 100 && (64..128).contains(&second))
}

/// Whether the URL leads to this machine or into a private network, as far as can be found out.
pub async fn leads_home(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(four)) => private(IpAddr::V4(four)),
        Some(Host::Ipv6(six)) => private(IpAddr::V6(six)),
        Some(Host::Domain(name)) => match tokio::net::lookup_host((name, 0)).await {
            Ok(mut found) => found.any(|address| private(address.ip())),
            Err(_) => false,
        },
        None => false,
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
pub(crate) fn literal(url: &Url, reach: Reach) -> Result<(), String> {
    let address = match url.host() {
        Some(Host::Ipv4(four)) => IpAddr::V4(four),
        Some(Host::Ipv6(six)) => IpAddr::V6(six),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    if reach.refuses(address) { Err(Blocked(address).to_string()) } else { Ok(()) }
}

/// The system's name resolution without the addresses that are not reached.
#[derive(Debug)]
pub(crate) struct Resolver {
    pub(crate) reach: Reach,
}

impl reqwest::dns::Resolve for Resolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let reach = self.reach;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (bad, good): (Vec<SocketAddr>, Vec<SocketAddr>) =
                found.partition(|address| reach.refuses(address.ip()));
            match bad.first() {
                Some(first) if good.is_empty() => Err(Blocked(first.ip()).into()),
                Some(_) | None => Ok(Box::new(good.into_iter()) as reqwest::dns::Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests;

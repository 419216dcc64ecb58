//! [`client_network`]: the address under which connections of one client are counted.

use std::net::{IpAddr, Ipv6Addr};

/// The address itself, or the /64 network of an IPv6 address: one client usually has all of it
/// (RFC 6177).
pub(crate) fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
        address => address,
    }
}

const NETWORK: u128 = !0 << 64;

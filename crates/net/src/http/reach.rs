//! [`Reach`]: which IP addresses may be fetched from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bergamot_types::Url;

/// How far a fetch may lead.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Reach {
    /// Also into private networks, wherever redirects lead.
    Anywhere,
    /// To the host of the first URL wherever it is, because the user configured it; redirects only to public
    /// addresses.
    FirstAnywhere,
    /// To public addresses only.
    #[default]
    Public,
}

impl Reach {
    /// Whether `address`, which `url` led to on a way that began at `first`, may be connected to.
    pub(super) fn allows(self, address: IpAddr, url: &Url, first: &Url) -> bool {
        match self {
            Self::Anywhere => true,
            Self::FirstAnywhere => is_public(address) || url.same_server(first),
            Self::Public => is_public(address),
        }
    }
}

/// Whether an address is public on the internet, and not one of this machine, its networks, or
/// none at all (the registries of RFC 6890).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = match (a, b, c) {
        (0 | 10 | 127, ..) => true,
        (100, 64..=127, _) => true, // behind a provider's translation of addresses
        (169, 254, _) => true,      // link-local, with the metadata services of cloud providers
        (172, 16..=31, _) => true,
        (192, 0, 0 | 2) | (192, 88, 99) | (192, 168, _) => true,
        (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113) => true,
        (224.., ..) => true, // multicast, reserved, broadcast
        _ => false,
    };
    !special
}

/// All that is given out is in 2000::/3; within it some blocks only wrap IPv4 addresses or document.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = wrapped_v4(address) {
        return is_public_v4(mapped);
    }
    let segments = address.segments();
    let is_global_unicast = segments[0] & 0xe000 == 0x2000;
    let special = match segments[..2] {
        [0x2001, second] => second < 0x0200 || second == 0x0db8,
        [0x3fff, second] => second < 0x1000,
        _ => false,
    };
    is_global_unicast && !special
}

/// Forms of IPv6 that lead to an IPv4 address: mapped, by way of NAT64, and 6to4.
fn wrapped_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(from(high, low)),
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => Some(from(high, low)),
        [0x2002, high, low, ..] => Some(from(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_anybodys_is_public() {
        for public in ["1.1.1.1", "100.63.0.1", "172.32.0.1", "192.169.0.1", "2606:4700::1111"]
            .into_iter()
            .chain(["::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"])
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    #[test]
    fn what_the_owner_vouches_for_is_one_server() {
        let url = |text| Url::parse(text).unwrap();
        let (first, private) = (url("http://nas:9696/a"), "192.168.1.2".parse().unwrap());
        assert!(Reach::FirstAnywhere.allows(private, &url("http://nas:9696/b"), &first));
        assert!(!Reach::FirstAnywhere.allows(private, &url("http://nas:22/"), &first));
        assert!(!Reach::Public.allows(private, &first, &first));
        assert!(Reach::Anywhere.allows(private, &url("http://other/"), &first));
    }
}

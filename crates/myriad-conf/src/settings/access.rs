//! Access by address: nginx's access module and `satisfy`.

use std::net::IpAddr;

use crate::text::Text;

/// What an [`AccessRule`] covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// `all`.
    All,
    /// `unix:`: every client on a unix socket.
    Unix,
    /// An address and the number of leading bits that count; the other bits of the address are zero.
    Cidr(IpAddr, u8),
}

impl Network {
    /// Whether the rule covers a client; `None` is a client on a unix socket. An IPv4 client on an IPv6 socket
    /// (`::ffff:a.b.c.d`) counts as IPv4.
    pub fn contains(&self, client: Option<IpAddr>) -> bool {
        match (*self, client.map(|ip| ip.to_canonical())) {
            (Self::All, _) | (Self::Unix, None) => true,
            (Self::Cidr(IpAddr::V4(net), bits), Some(IpAddr::V4(ip))) => {
                let keep = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                u32::from(ip) & keep == u32::from(net)
            }
            (Self::Cidr(IpAddr::V6(net), bits), Some(IpAddr::V6(ip))) => {
                let keep = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                u128::from(ip) & keep == u128::from(net)
            }
            _ => false,
        }
    }
}

/// One `allow` or `deny`; the first that covers the client decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessRule {
    /// `allow` rather than `deny`.
    pub allow: bool,
    /// The addresses that it covers.
    pub network: Network,
}

/// `satisfy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Satisfy {
    /// Every kind of access rule must agree.
    #[default]
    All,
    /// One kind is enough.
    Any,
}

/// Access rules of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessSettings {
    /// `allow` and `deny` in source order.
    pub rules: Vec<AccessRule>,
    /// `satisfy`.
    pub satisfy: Satisfy,
    /// `auth_basic`: the realm, none for `off`; may hold variables.
    pub basic: Option<Text>,
    /// `auth_basic_user_file`; may hold variables.
    pub user_file: Option<Text>,
    /// `auth_delay`, ms.
    pub auth_delay: u64,
}

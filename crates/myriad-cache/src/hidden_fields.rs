//! Request header fields that are not forwarded to the origin because the client's `Connection` lists them.

use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::OriginPlace;

/// Returns whether a header field of the client is not forwarded to the origin because `Connection` lists it.
///
/// The cache key or the secondary key may contain the field, although the origin did not get it. The stored page would
/// then be wrong for clients that send the same value without listing it in `Connection`.
pub(crate) fn hides_fields(request: &Request, origin: &OriginPlace) -> bool {
    origin.request.pass_fields && origin.protocol.hides_nominated(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{held, site, site_of};

    const PROXY: &str = "proxy_pass http://127.0.0.1:1; proxy_cache ONE; proxy_cache_key $uri;";

    fn hides(site: &myriad_serve::testing::TestSite, fields: &[(&str, &str)]) -> bool {
        let exchange = site.exchange("/a", fields);
        hides_fields(&exchange.request, &held(&exchange).origin)
    }

    #[test]
    fn field_that_connection_names_is_hidden_from_an_http_origin() {
        let proxy = site_of(PROXY);
        assert!(hides(&proxy, &[("X-Language", "de"), ("Connection", "X-Language")]));
        assert!(!hides(&proxy, &[("X-Language", "de"), ("Connection", "close")]));
        assert!(!hides(&proxy, &[("X-Language", "de"), ("Connection", "X-Other")]));
    }

    #[test]
    fn overridden_field_is_not_hidden() {
        let proxy = site_of(&format!("{PROXY} proxy_set_header X-Language en;"));
        assert!(!hides(&proxy, &[("X-Language", "de"), ("Connection", "X-Language")]));
    }

    #[test]
    fn fastcgi_receives_all_fields() {
        assert!(!hides(&site(""), &[("X-Language", "de"), ("Connection", "X-Language")]));
    }
}

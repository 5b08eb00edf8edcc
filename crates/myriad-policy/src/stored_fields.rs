//! Selection of the response fields that are stored with a page.

use myriad_http::{Fields, Known};

use crate::{CachePolicy, Tags};

/// Response fields that are stored. Excluded are `Set-Cookie`, hop-by-hop fields (RFC 9110 §7.6.1), `Status` of CGI and
/// `Content-Length`, which depends on the encoding; and `X-Accel-*`, fields with tags, LiteSpeed's fields and fields of
/// `*_hide_header`, unless they are in `*_pass_header`.
#[derive(Debug)]
pub struct StoredFields<'a> {
    fields: &'a Fields,
    rules: &'a CachePolicy,
}

impl<'a> StoredFields<'a> {
    /// Creates the selection for the fields of a response.
    pub fn new(fields: &'a Fields, rules: &'a CachePolicy) -> StoredFields<'a> {
        StoredFields { fields, rules }
    }

    /// Iterates over the stored fields in order: [`Known`] constant if the field has one, name, value.
    pub fn iter(&self) -> impl Iterator<Item = (Option<Known>, &'a [u8], &'a [u8])> + '_ {
        self.fields.iter_known().filter(|(known, name, _)| self.is_stored(*known, name))
    }

    /// Returns whether a field with this name is stored.
    pub fn is_stored(&self, known: Option<Known>, name: &[u8]) -> bool {
        if known.is_some_and(never_stored) || self.named_in_connection(name) {
            return false;
        }
        if named_in(&self.rules.pass, name) {
            return true;
        }
        !known.is_some_and(|known| for_the_accelerator(known) || Tags::is_field(known))
            && !named_in(&self.rules.hide, name)
    }

    fn named_in_connection(&self, name: &[u8]) -> bool {
        let options =
            self.fields.known_all(Known::Connection).flat_map(|value| value.split(|byte| *byte == b','));
        options.map(<[u8]>::trim_ascii).any(|option| option.eq_ignore_ascii_case(name))
    }
}

/// Returns whether a field is never stored: hop-by-hop fields (RFC 9110 §7.6.1, RFC 9111 §3.1), `Set-Cookie`, the
/// `Status` of CGI, and `Content-Length`.
fn never_stored(known: Known) -> bool {
    matches!(
        known,
        Known::Connection
            | Known::KeepAlive
            | Known::ProxyAuthenticate
            | Known::ProxyAuthorization
            | Known::ProxyConnection
            | Known::Te
            | Known::Trailer
            | Known::TransferEncoding
            | Known::Upgrade
            | Known::SetCookie
            | Known::Status
            | Known::ContentLength
    )
}

/// Returns whether a field of a 304 replaces the field of the stored page (RFC 9111 §3.2). Lengths and fields that
/// describe the body do not, because the stored body remains, and some servers send a 304 with the type of their error
/// pages.
pub fn is_updated(known: Option<Known>) -> bool {
    !matches!(
        known,
        Some(Known::ContentLength | Known::ContentEncoding | Known::ContentRange | Known::ContentType)
    )
}

/// Returns whether a response field is meant only for an accelerator, such as `X-Accel-*`. As in nginx, clients do not
/// receive such fields by default.
fn for_the_accelerator(known: Known) -> bool {
    matches!(
        known,
        Known::XAccelBuffering
            | Known::XAccelCharset
            | Known::XAccelExpires
            | Known::XAccelLimitRate
            | Known::XAccelRedirect
    )
}

fn named_in(list: &[Box<[u8]>], name: &[u8]) -> bool {
    list.iter().any(|listed| listed.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored_names(rules: &CachePolicy, fields: &[(&str, &str)]) -> Vec<String> {
        let fields: Fields = fields.iter().copied().collect();
        let stored = StoredFields::new(&fields, rules);
        stored.iter().map(|(_, name, _)| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn hop_by_hop_fields_end_here_also_those_that_connection_names() {
        let fields = [
            ("Connection", "close, X-Hop ,x-other"),
            ("x-hop", "1"),
            ("X-OTHER", "1"),
            ("Keep-Alive", "5"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "5"),
            ("Content-Type", "text/html"),
            ("X-Hopper", "stays"),
        ];
        assert_eq!(stored_names(&CachePolicy::default(), &fields), ["Content-Type", "X-Hopper"]);
    }

    #[test]
    fn set_cookie_is_never_stored_whatever_is_passed_or_ignored() {
        let rules = CachePolicy {
            pass: vec![(*b"set-cookie").into(), (*b"connection").into()],
            ignore: crate::IgnoreHeaders { set_cookie: true, ..Default::default() },
            ..CachePolicy::default()
        };
        let fields = [("Set-Cookie", "a=b"), ("SET-COOKIE", "c=d"), ("Connection", "x"), ("ETag", "\"1\"")];
        assert_eq!(stored_names(&rules, &fields), ["ETag"]);
    }

    #[test]
    fn hidden_fields_stay_out_unless_passed() {
        let fields = [("X-Accel-Expires", "1"), ("X-Powered-By", "PHP"), ("Link", "<a>")];
        let mut rules = CachePolicy { hide: vec![(*b"x-powered-by").into()], ..CachePolicy::default() };
        assert_eq!(stored_names(&rules, &fields), ["Link"]);
        rules.pass = vec![(*b"x-accel-expires").into(), (*b"x-powered-by").into()];
        assert_eq!(stored_names(&rules, &fields), ["X-Accel-Expires", "X-Powered-By", "Link"]);
    }
}

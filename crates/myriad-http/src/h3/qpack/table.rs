//! Static table of QPACK (RFC 9204 appendix A).

/// Name and value of each entry of the static table (RFC 9204 appendix A). Index 0 refers to the first.
#[rustfmt::skip]
pub(in super::super) static STATIC: [(&[u8], &[u8]); 99] = [
    (b":authority", b""), (b":path", b"/"), (b"age", b"0"), (b"content-disposition", b""), (b"content-length", b"0"),
    (b"cookie", b""), (b"date", b""), (b"etag", b""), (b"if-modified-since", b""), (b"if-none-match", b""),
    (b"last-modified", b""), (b"link", b""), (b"location", b""), (b"referer", b""), (b"set-cookie", b""),
    (b":method", b"CONNECT"), (b":method", b"DELETE"), (b":method", b"GET"), (b":method", b"HEAD"),
    (b":method", b"OPTIONS"), (b":method", b"POST"), (b":method", b"PUT"), (b":scheme", b"http"),
    (b":scheme", b"https"), (b":status", b"103"), (b":status", b"200"), (b":status", b"304"), (b":status", b"404"),
    (b":status", b"503"), (b"accept", b"*/*"), (b"accept", b"application/dns-message"),
    (b"accept-encoding", b"gzip, deflate, br"), (b"accept-ranges", b"bytes"),
    (b"access-control-allow-headers", b"cache-control"), (b"access-control-allow-headers", b"content-type"),
    (b"access-control-allow-origin", b"*"), (b"cache-control", b"max-age=0"), (b"cache-control", b"max-age=2592000"),
    (b"cache-control", b"max-age=604800"), (b"cache-control", b"no-cache"), (b"cache-control", b"no-store"),
    (b"cache-control", b"public, max-age=31536000"), (b"content-encoding", b"br"), (b"content-encoding", b"gzip"),
    (b"content-type", b"application/dns-message"), (b"content-type", b"application/javascript"),
    (b"content-type", b"application/json"), (b"content-type", b"application/x-www-form-urlencoded"),
    (b"content-type", b"image/gif"), (b"content-type", b"image/jpeg"), (b"content-type", b"image/png"),
    (b"content-type", b"text/css"), (b"content-type", b"text/html; charset=utf-8"), (b"content-type", b"text/plain"),
    (b"content-type", b"text/plain;charset=utf-8"), (b"range", b"bytes=0-"),
    (b"strict-transport-security", b"max-age=31536000"),
    (b"strict-transport-security", b"max-age=31536000; includesubdomains"),
    (b"strict-transport-security", b"max-age=31536000; includesubdomains; preload"), (b"vary", b"accept-encoding"),
    (b"vary", b"origin"), (b"x-content-type-options", b"nosniff"), (b"x-xss-protection", b"1; mode=block"),
    (b":status", b"100"), (b":status", b"204"), (b":status", b"206"), (b":status", b"302"), (b":status", b"400"),
    (b":status", b"403"), (b":status", b"421"), (b":status", b"425"), (b":status", b"500"), (b"accept-language", b""),
    (b"access-control-allow-credentials", b"FALSE"), (b"access-control-allow-credentials", b"TRUE"),
    (b"access-control-allow-headers", b"*"), (b"access-control-allow-methods", b"get"),
    (b"access-control-allow-methods", b"get, post, options"), (b"access-control-allow-methods", b"options"),
    (b"access-control-expose-headers", b"content-length"), (b"access-control-request-headers", b"content-type"),
    (b"access-control-request-method", b"get"), (b"access-control-request-method", b"post"), (b"alt-svc", b"clear"),
    (b"authorization", b""),
    (b"content-security-policy", b"script-src 'none'; object-src 'none'; base-uri 'none'"), (b"early-data", b"1"),
    (b"expect-ct", b""), (b"forwarded", b""), (b"if-range", b""), (b"origin", b""), (b"purpose", b"prefetch"),
    (b"server", b""), (b"timing-allow-origin", b"*"), (b"upgrade-insecure-requests", b"1"), (b"user-agent", b""),
    (b"x-forwarded-for", b""), (b"x-frame-options", b"deny"), (b"x-frame-options", b"sameorigin"),
];

/// Returns the index of the static table entry for a field, and whether its value is equal; if none has this value, the
/// first entry with the name. Returns `None` for names that are not in the table, or rare in responses.
pub(super) fn find(name: &[u8], value: &[u8]) -> Option<(usize, bool)> {
    let (first, count) = find_name(name)?;
    let first = usize::from(first);
    // The only name with entries in two places.
    let separate = (name == STATIC[ALLOW_ALL_HEADERS].0).then_some(ALLOW_ALL_HEADERS);
    let mut entries = (first..first + usize::from(count)).chain(separate);
    Some(entries.find(|at| STATIC[*at].1 == value).map_or((first, false), |index| (index, true)))
}

/// Index of the entry `access-control-allow-headers: *`, which is not adjacent to the other entries with this name.
const ALLOW_ALL_HEADERS: usize = 75;

/// Returns the index of the first static table entry with this name, and the number of consecutive entries with it;
/// `None` for names that are not in the table, or rare in responses.
fn find_name(name: &[u8]) -> Option<(u8, u8)> {
    Some(match name {
        b"age" => (2, 1),
        b"content-disposition" => (3, 1),
        b"content-length" => (4, 1),
        b"date" => (6, 1),
        b"etag" => (7, 1),
        b"last-modified" => (10, 1),
        b"link" => (11, 1),
        b"location" => (12, 1),
        b"set-cookie" => (14, 1),
        b"accept-ranges" => (32, 1),
        b"access-control-allow-headers" => (33, 2),
        b"access-control-allow-origin" => (35, 1),
        b"cache-control" => (36, 6),
        b"content-encoding" => (42, 2),
        b"content-type" => (44, 11),
        b"strict-transport-security" => (56, 3),
        b"vary" => (59, 2),
        b"x-content-type-options" => (61, 1),
        b"x-xss-protection" => (62, 1),
        b"access-control-allow-credentials" => (73, 2),
        b"access-control-allow-methods" => (76, 3),
        b"access-control-expose-headers" => (79, 1),
        b"alt-svc" => (83, 1),
        b"content-security-policy" => (85, 1),
        b"server" => (92, 1),
        b"timing-allow-origin" => (93, 1),
        b"x-frame-options" => (97, 2),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_that_of_its_name() {
        let mut found = 0;
        for (at, (name, _)) in STATIC.iter().enumerate() {
            if let Some((first, count)) = find_name(name) {
                let first = usize::from(first);
                assert_eq!(STATIC[first].0, *name);
                assert!(STATIC[first..first + usize::from(count)].iter().all(|(other, _)| other == name));
                found += usize::from((first..first + usize::from(count)).contains(&at));
            }
        }
        assert_eq!(found, 51);
    }

    #[test]
    fn entries_are_found_by_value_and_otherwise_by_name() {
        for (at, (name, value)) in
            STATIC.iter().enumerate().filter(|(_, (name, _))| find_name(name).is_some())
        {
            assert_eq!(find(name, value), Some((at, true)));
        }
        assert_eq!(find(b"access-control-allow-headers", b"x-other"), Some((33, false)));
        assert_eq!(find(b"x-other", b""), None);
    }
}

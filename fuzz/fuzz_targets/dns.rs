//! DNS responses: parsing never panics, and only a response to the question is accepted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_upstream::dns::{DnsReply, QueryKind, is_name, parse_reply};

fuzz_target!(|bytes: &[u8]| {
    let (name, id) = ("www.example.org", 0x1234);
    for kind in [QueryKind::A, QueryKind::Aaaa, QueryKind::Srv] {
        let Some(said) = parse_reply(bytes, id, name, kind) else { continue };
        // A response with another query ID, or for another question, is not accepted.
        assert_eq!(bytes[..2], id.to_be_bytes());
        assert_eq!(parse_reply(bytes, !id, name, kind), None);
        assert_eq!(parse_reply(bytes, id, "www.example.com", kind), None);
        if let DnsReply::Records { addresses, servers, alias, .. } = said {
            assert!(servers.is_empty() || kind == QueryKind::Srv);
            assert!(
                servers.len() * 7 <= bytes.len() && servers.iter().all(|server| server.target.len() <= 255)
            );
            assert!(addresses.iter().all(|address| address.is_ipv4() == (kind == QueryKind::A)));
            assert!(addresses.len() * 4 <= bytes.len());
            // The next query, if any, is for a valid name.
            assert!(alias.is_none_or(|alias| alias.is_empty() || alias.len() <= 255 || !is_name(&alias)));
        }
    }
});

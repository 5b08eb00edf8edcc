//! What name servers send: read without harm, and only where it answers the question.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_upstream::dns::{Kind, Reply, is_name, reply};

fuzz_target!(|bytes: &[u8]| {
    let (name, id) = ("www.example.org", 0x1234);
    for kind in [Kind::A, Kind::Aaaa, Kind::Srv] {
        let Some(said) = reply(bytes, id, name, kind) else { continue };
        // Nobody who does not know the number of the question can answer it, nor answer another with the same bytes.
        assert_eq!(bytes[..2], id.to_be_bytes());
        assert_eq!(reply(bytes, !id, name, kind), None);
        assert_eq!(reply(bytes, id, "www.example.com", kind), None);
        if let Reply::Records { addresses, servers, alias, .. } = said {
            assert!(servers.is_empty() || kind == Kind::Srv);
            assert!(servers.len() * 7 <= bytes.len() && servers.iter().all(|server| server.target.len() <= 255));
            assert!(addresses.iter().all(|address| address.is_ipv4() == (kind == Kind::A)));
            assert!(addresses.len() * 4 <= bytes.len());
            // What is asked next is a name, or nothing is.
            assert!(alias.is_none_or(|alias| alias.is_empty() || alias.len() <= 255 || !is_name(&alias)));
        }
    }
});

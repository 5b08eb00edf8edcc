//! Bodies of PROPFIND and LOCK: the parsed result is bounded for any input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_content::dav::ext::{RequestedProperties, lock_info, parse_propfind};

fuzz_target!(|body: &[u8]| {
    if let Ok(RequestedProperties::Listed(names)) = parse_propfind(body) {
        assert!(names.len() <= 256);
        assert!(names.iter().all(|name| name.space.len() <= 256));
        // Names are written into the response unchanged.
        assert!(
            names
                .iter()
                .all(|name| !name.local.is_empty() && !name.local.contains(['<', '>', '&', '"', ' ']))
        );
    }
    if let Ok(owner) = lock_info(body) {
        assert!(owner.len() <= 1028 && owner.len() <= body.len());
    }
});

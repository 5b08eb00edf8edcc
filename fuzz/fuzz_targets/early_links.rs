//! HTML of an upstream, searched for resources in its head: each hint is exactly one valid `Link` header value.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|html: &[u8]| {
    let links = myriad_policy::early_links(html);
    assert!(links.len() <= 10);
    for link in links {
        assert!(link.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{link}");
        assert!(link.starts_with('<') && link.matches(['<', '>']).count() == 2, "{link}");
    }
    let assets = myriad_policy::page_assets(html);
    assert!(assets.len() <= 64);
    for asset in assets {
        assert!(asset.bytes().all(|byte| byte.is_ascii_graphic()), "{asset}");
    }
});

//! Sitemaps, `robots.txt` and access log lines: each URL that is found is valid in a request line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_tools::warm::{RequestCounter, Sitemap, sitemaps_of_robots};

fuzz_target!(|bytes: &[u8]| {
    let sitemap = Sitemap::read(bytes);
    for address in sitemap.pages.iter().chain(&sitemap.sitemaps).chain(&sitemaps_of_robots(bytes)) {
        assert!(address.starts_with("http://") || address.starts_with("https://"), "{address}");
        assert!(!address.chars().any(|c| c.is_whitespace() || c.is_control()), "{address}");
    }
    let mut heat = RequestCounter::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        heat.add(line);
    }
    for target in heat.most_requested() {
        assert!(target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic()), "{target}");
    }
});

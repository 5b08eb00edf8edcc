//! Messages of the control socket and the HTTP API: parsing never panics, and a parsed message survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_admin::protocol::{MOST_PURGES, Pattern, Reply, Request, from_shown, parse_purge, parse_upstream_change, shown};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = Request::parse(bytes) {
        let line = request.line();
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(Request::parse(line.as_bytes()), Ok(request));
    }
    if let Ok(purge) = parse_purge(bytes) {
        assert!((1..=MOST_PURGES).contains(&purge.len()));
    }
    if let Ok(change) = parse_upstream_change(bytes) {
        assert!(!change.group.is_empty());
    }
    if let Ok(reply) = Reply::parse(bytes) {
        let mut line = Vec::new();
        reply.write(&mut line);
        assert_eq!(Reply::parse(&line), Ok(reply));
    }
    // Key bytes from clients reach a terminal only as plain text, and survive a round trip if they contain no escapes.
    let text = shown(bytes);
    assert!(!text.chars().any(char::is_control));
    if !bytes.contains(&b'\\') {
        assert_eq!(from_shown(&text), bytes);
    }
    if let Some((pattern, text)) = bytes.split_at_checked(bytes.len().min(16)) {
        Pattern::new(&String::from_utf8_lossy(pattern)).fits(text);
    }
});

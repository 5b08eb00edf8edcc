//! Messages of the control socket and the HTTP API: parsing never panics, and a parsed message survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_admin::protocol::{
    AdminReply, AdminRequest, GlobPattern, MOST_PURGES, escape_bytes, parse_purge, parse_upstream_change,
    unescape_bytes,
};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = AdminRequest::parse(bytes) {
        let line = request.line();
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(AdminRequest::parse(line.as_bytes()), Ok(request));
    }
    if let Ok(purge) = parse_purge(bytes) {
        assert!((1..=MOST_PURGES).contains(&purge.len()));
    }
    if let Ok(change) = parse_upstream_change(bytes) {
        assert!(!change.group.is_empty());
    }
    if let Ok(reply) = AdminReply::parse(bytes) {
        let mut line = Vec::new();
        reply.write(&mut line);
        assert_eq!(AdminReply::parse(&line), Ok(reply));
    }
    // Key bytes from clients reach a terminal only as plain text, and survive a round trip if they contain no escapes.
    let text = escape_bytes(bytes);
    assert!(!text.chars().any(char::is_control));
    if !bytes.contains(&b'\\') {
        assert_eq!(unescape_bytes(&text), bytes);
    }
    if let Some((pattern, text)) = bytes.split_at_checked(bytes.len().min(16)) {
        GlobPattern::new(&String::from_utf8_lossy(pattern)).matches_text(text);
    }
});

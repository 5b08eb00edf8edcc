//! Request targets, paths, hosts and escapes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::uri::{EscapeKind, arg, cookie, escape, normalize_path, parse_host, split_target, unescape};

fuzz_target!(|input: (bool, &[u8])| {
    let (merge, text) = input;
    if let Ok(target) = split_target(text) {
        let mut path = Vec::new();
        if normalize_path(target.path, merge, &mut path).is_ok() {
            assert_eq!(path.first(), Some(&b'/'));
            assert!(!path.contains(&0));
            let dots = |segment: &[u8]| segment == b"." || segment == b"..";
            assert!(!path.split(|&byte| byte == b'/').any(dots));
            assert!(!merge || !path.windows(2).any(|pair| pair == b"//"));
            let mut escaped = Vec::new();
            escape(&path, EscapeKind::Uri, &mut escaped);
            let mut again = Vec::new();
            assert_eq!(normalize_path(&escaped, merge, &mut again), Ok(()));
            assert_eq!(again, path);
        }
    }
    if let Ok(host) = parse_host(text) {
        assert!(!host.name.is_empty() && !host.name.iter().any(u8::is_ascii_uppercase));
        assert!(!host.name.iter().any(|byte| b"/\\@?# \"<>".contains(byte)));
    }
    for kind in [EscapeKind::Uri, EscapeKind::Args, EscapeKind::UriComponent] {
        let (mut escaped, mut back) = (Vec::new(), Vec::new());
        escape(text, kind, &mut escaped);
        unescape(&escaped, &mut back);
        assert_eq!(back, text);
    }
    escape(text, EscapeKind::Html, &mut Vec::new());
    unescape(text, &mut Vec::new());
    let _ = (arg(text, b"name"), cookie(text, b"name"));
});

//! Trace contexts of clients (`traceparent`, `tracestate`), and collector responses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_exchange::trace_context::{MAX_STATE, TraceParent, trace_state};
use myriad_admin::telemetry::trace::rejected;

fuzz_target!(|input: (&[u8], Vec<&[u8]>)| {
    let (parent, state) = input;
    if let Some(read) = TraceParent::read(parent) {
        let mut written = Vec::new();
        read.write(&mut written);
        assert_eq!(TraceParent::read(&written), Some(read));
        assert!(written.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-'));
    }
    if let Some(passed) = trace_state(state.iter().copied()) {
        assert!(passed.len() <= MAX_STATE && passed.iter().all(|byte| matches!(byte, b' '..=b'~')));
        assert_eq!(trace_state([&passed[..]].into_iter()), Some(passed.clone()));
    }
    rejected(parent);
});

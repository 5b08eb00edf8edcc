//! What a server of gRPC answers to a check of its health: any bytes have a state, or none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::grpc_health;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (body, service) = input;
    let _ = grpc_health::state(body);
    // The message that asks is of the same form, with a text in place of the state.
    assert_eq!(grpc_health::state(&grpc_health::request(service)), Some(0));
});

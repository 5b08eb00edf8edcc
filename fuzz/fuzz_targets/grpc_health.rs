//! gRPC health check responses: any bytes are parsed to a state or to none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::grpc_health;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (body, service) = input;
    let _ = grpc_health::state(body);
    // The request message has the same format, with a string instead of the state.
    assert_eq!(grpc_health::state(&grpc_health::request(service)), Some(0));
});

//! gRPC health check responses: any bytes are parsed to a state or to none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::grpc_health;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (body, service) = input;
    let _ = grpc_health::decode_state(body);
    // The request message has the same format, with a string instead of the state.
    assert_eq!(grpc_health::decode_state(&grpc_health::encode_request(service)), Some(0));
});

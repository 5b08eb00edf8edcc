//! Sequences of frames and calls on HTTP/2 servers, HTTP/2 clients and HTTP/3 streams: each sent frame is permitted by
//! the peer, each body arrives as it was sent, and each stream closes once.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/myriad-http/tests/sequences/choices.rs"]
mod choices;
#[path = "../../crates/myriad-http/tests/sequences/frames.rs"]
mod frames;
#[path = "../../crates/myriad-http/tests/sequences/h2_client.rs"]
mod h2_client;
#[path = "../../crates/myriad-http/tests/sequences/h2_server.rs"]
mod h2_server;
#[path = "../../crates/myriad-http/tests/sequences/h3.rs"]
mod h3;
#[path = "../../crates/myriad-http/tests/sequences/receiver.rs"]
mod receiver;

fuzz_target!(|input: (u8, &[u8])| {
    let choices = choices::Choices::new(input.1);
    match input.0 % 3 {
        0 => h2_server::run(&choices),
        1 => h2_client::run(&choices),
        _ => h3::run(&choices),
    }
});

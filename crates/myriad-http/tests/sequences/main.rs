//! Random sequences of frames and calls on HTTP/2 and HTTP/3 connections, checked by a model of the peer. The fuzz
//! target `sequences` gets its choices from the fuzzer; here they are derived from fixed seeds.

mod choices;
mod frames;
mod h2_client;
mod h2_server;
mod h3;
mod receiver;

use choices::Choices;

/// Executes a sequence for each of `count` seeds.
fn sample(count: u64, run: fn(&Choices)) {
    for seed in 0..count {
        let mut random = fastrand::Rng::with_seed(seed);
        let bytes: Vec<u8> = (0..random.usize(20..1500)).map(|_| random.u8(..)).collect();
        println!("seed {seed}");
        run(&Choices::new(&bytes));
    }
}

#[test]
fn http2_server_survives_any_order_of_frames_resets_and_answers() {
    sample(700, h2_server::run);
}

#[test]
fn http2_client_survives_any_order_of_frames_resets_and_requests() {
    sample(700, h2_client::run);
}

#[test]
fn http3_streams_survive_any_order_of_frames_and_any_lengths() {
    sample(2000, h3::run);
}

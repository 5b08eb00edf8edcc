//! Measures the cost of counting a request: `cargo run --release -p myriad-exchange --example traffic_cost`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use myriad_exchange::traffic::{KeyClass, Sample, TrafficKey, TrafficKind, TrafficSlots, TrafficTable};
use myriad_policy::CacheStatus;

const ROUNDS: u32 = 10_000_000;

fn main() {
    let (board, slots, bounds) = (TrafficTable::default(), TrafficSlots::default(), Arc::<[u64]>::from([]));
    let mut key = Vec::new();
    let sample = Sample {
        status: 200,
        cache: Some(CacheStatus::Hit),
        in_bytes: 200,
        out_bytes: 20_000,
        at_ms: 1_700_000_000_000,
        request_ms: Some(0),
        response_ms: None,
    };
    TrafficKey::write(&mut key, TrafficKind::Server, b"", b"example.org");
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        let find = || board.find(&key, KeyClass::Fixed, &bounds);
        slots.with(&board, 0, find, |counts| counts.add(black_box(&sample)));
    }
    println!("by its slot  {:5.1} ns", begun.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS));
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        TrafficKey::write(&mut key, TrafficKind::Filter, b"country::example.org", b"CH");
        if let Some(counts) = board.find(&key, KeyClass::Bytes(1 << 20), &bounds) {
            counts.add(black_box(&sample));
        }
    }
    println!("by its key   {:5.1} ns", begun.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS));
}

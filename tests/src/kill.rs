//! Helpers of tests that kill the server at random times.

/// Returns the number of kills per test, 4 unless `MYRIAD_KILL_ROUNDS` is set.
pub fn kill_rounds() -> usize {
    std::env::var("MYRIAD_KILL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(4)
}

/// Returns pseudorandom bytes, so that a fragment of one page in another page is detected; deterministic for a seed.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..length).map(|_| rng.u8(..)).collect()
}

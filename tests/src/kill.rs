//! What tests share that strike the server down at any moment.

/// How often a test kills the server; `MYRIAD_KILL_ROUNDS` asks for more.
pub fn kill_rounds() -> usize {
    std::env::var("MYRIAD_KILL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(4)
}

/// Bytes that differ everywhere, so that a piece of one page in another is seen; the same for a seed each time.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..length).map(|_| rng.u8(..)).collect()
}

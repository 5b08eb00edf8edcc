//! Challenges of `origin_challenge`, solved like by a browser.

use sha2::{Digest, Sha256};

use crate::Answer;

/// Returns the challenge of a page; `None` if the page is not a challenge.
pub fn challenge_of(answer: &Answer) -> Option<String> {
    let text = answer.text();
    let (_, rest) = text.split_once("data-challenge=\"")?;
    rest.split_once('"').map(|(challenge, _)| challenge.to_owned())
}

/// Returns the pass for a challenge, the value of the cookie `myriad_pass`. Takes 2^`bits` digests on average.
pub fn solve_challenge(challenge: &str) -> String {
    let parts: Vec<&str> = challenge.split('.').collect();
    let bits: u32 = parts[2].parse().expect("the bits");
    let proves = |number: &u64| {
        let work = Sha256::digest(format!("{}.{number}", parts[3]));
        u32::from_be_bytes([work[0], work[1], work[2], work[3]]).leading_zeros() >= bits
    };
    format!("{challenge}.{}", (0..1 << 30).find(proves).expect("a number"))
}

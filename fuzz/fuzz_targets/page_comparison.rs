//! Two renderings of a page, and stored places with noise. No input makes the comparison panic; a page is equal to itself
//! and to the rendering in which the noise was found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_policy::{Noise, PageHistory};

fuzz_target!(|input: (&[u8], &[u8], &[u8])| {
    let (earlier, later, stored) = input;
    if let Some(noise) = Noise::between(earlier, later) {
        assert_eq!(noise.compare(later, later, false), Ok(noise.clone()));
        let mut bytes = Vec::new();
        noise.encode(&mut bytes);
        assert_eq!(Noise::decode(&bytes), Some(noise));
    }
    if let Some(history) = PageHistory::decode(stored) {
        assert_eq!(PageHistory::decode(&history.encode()), Some(history.clone()));
        if let Err(difference) = history.noise.compare(earlier, later, false) {
            assert!(earlier.get(difference.stored).is_some() && later.get(difference.rendered).is_some());
        }
    }
});

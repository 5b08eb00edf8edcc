//! Measures the compressed size and the shortest time of each level from 1 of each coding, for a given file or a
//! generated page: `cargo run --release -p myriad-encode --example levels [FILE]`. The levels in `src/level.rs` are
//! based on the results.

use std::error::Error;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use myriad_encode::{Coding, CompressionLevel, compress};

/// Duration of each measurement. The fastest run counts, to exclude disturbances.
const TIME: Duration = Duration::from_millis(150);

fn main() -> Result<(), Box<dyn Error>> {
    let page = match std::env::args().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => sample_page().into_bytes(),
    };
    println!(
        "{} bytes\n{:<10}{:>6}{:>10}{:>10}{:>12}",
        page.len(),
        "coding",
        "level",
        "bytes",
        "of page",
        "time us"
    );
    for (coding, last) in [(Coding::Gzip, 12), (Coding::Brotli, 11), (Coding::Zstd, 19)] {
        for number in 1..=last {
            let (len, time) = measure(coding, CompressionLevel::Number(number), &page)?;
            let share = len as f64 / page.len() as f64 * 100.0;
            println!("{:<10}{number:>6}{len:>10}{share:>9.1}%{:>12}", coding.as_str(), time.as_micros());
        }
    }
    Ok(())
}

fn measure(
    coding: Coding,
    level: CompressionLevel,
    page: &[u8],
) -> Result<(usize, Duration), Box<dyn Error>> {
    let (start, mut best, mut len) = (Instant::now(), Duration::MAX, 0);
    while start.elapsed() < TIME {
        let begin = Instant::now();
        len = compress(coding, level, page)?.len();
        best = best.min(begin.elapsed());
    }
    Ok((len, best))
}

/// Generates a page like a WordPress home page: 35 KB, which gzip reduces to a sixth. It has a head with inline styles,
/// then posts with repetitive markup around different words.
fn sample_page() -> String {
    let mut random = fastrand::Rng::with_seed(1);
    let words: Vec<String> =
        (0..700).map(|_| (0..random.usize(2..9)).map(|_| random.char('a'..='z')).collect()).collect();
    // Some words are much more frequent than others.
    let mut sentence = |len: usize| {
        let word = |random: &mut fastrand::Rng| (random.f64().powi(3) * words.len() as f64) as usize;
        (0..len).map(|_| words[word(&mut random)].as_str()).collect::<Vec<_>>().join(" ")
    };
    let mut page = String::from("<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"UTF-8\"><style>");
    for preset in 0..60 {
        let name = sentence(1);
        let _ = write!(
            page,
            "--wp--preset--color--{name}: #{preset:02x}{:02x}44;.has-{name}-color{{color: \
             var(--wp--preset--color--{name}) !important;}}.has-{name}-background-color{{background-color: \
             var(--wp--preset--color--{name}) !important;}}",
            preset * 3
        );
    }
    page.push_str(
        "</style></head><body class=\"home blog wp-embed-responsive\"><ul class=\"wp-block-post-template\">",
    );
    for post in 0..22 {
        let (title, text, more) = (sentence(4), sentence(55), sentence(3));
        let _ = write!(
            page,
            "<li class=\"wp-block-post post-{post} post type-post status-publish format-standard hentry \
             category-uncategorized\"><div class=\"wp-block-group has-global-padding is-layout-constrained\"><h2 \
             class=\"wp-block-post-title has-x-large-font-size\"><a href=\"http://localhost:8080/?p={post}\" \
             target=\"_self\">{title}</a></h2><div class=\"entry-content alignfull wp-block-post-content \
             has-medium-font-size has-global-padding is-layout-constrained wp-block-post-content-is-layout-constrained\">\
             <p class=\"wp-block-paragraph\">{text}</p></div><div class=\"wp-block-post-date has-small-font-size\"><time \
             datetime=\"2026-11-{post:02}T02:00:00+00:00\"><a href=\"http://localhost:8080/?p={post}\">{more}</a></time>\
             </div></div></li>"
        );
    }
    page.push_str("</ul></body></html>");
    page
}

//! Prints what each level of each coding costs and saves, for the page in the file named, or for one made up here:
//! `cargo run --release -p myriad-encode --example levels [FILE]`. The levels in `src/level.rs` come from its figures.

use std::error::Error;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use myriad_encode::{Coding, Level, compress};

/// Time per measurement; the least of several runs is what the machine can do undisturbed.
const TIME: Duration = Duration::from_millis(150);

fn main() -> Result<(), Box<dyn Error>> {
    let page = match std::env::args().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => made_up_page().into_bytes(),
    };
    println!(
        "{} bytes\n{:<10}{:>6}{:>10}{:>10}{:>12}",
        page.len(),
        "coding",
        "level",
        "bytes",
        "of page",
        "CPU us"
    );
    for (coding, last) in [(Coding::Gzip, 12), (Coding::Brotli, 11), (Coding::Zstd, 19)] {
        for number in 1..=last {
            let (len, time) = measure(coding, Level::Number(number), &page)?;
            let share = len as f64 / page.len() as f64 * 100.0;
            println!("{:<10}{number:>6}{len:>10}{share:>9.1}%{:>12}", coding.as_str(), time.as_micros());
        }
    }
    Ok(())
}

fn measure(coding: Coding, level: Level, page: &[u8]) -> Result<(usize, Duration), Box<dyn Error>> {
    let (start, mut best, mut len) = (Instant::now(), Duration::MAX, 0);
    while start.elapsed() < TIME {
        let begin = Instant::now();
        len = compress(coding, level, page)?.len();
        best = best.min(begin.elapsed());
    }
    Ok((len, best))
}

/// A page like a WordPress home page: a head full of inline styles, a menu, ten posts with classes and words.
fn made_up_page() -> String {
    let mut random = fastrand::Rng::with_seed(1);
    let words: Vec<String> =
        (0..900).map(|_| (0..random.usize(2..10)).map(|_| random.char('a'..='z')).collect()).collect();
    let mut page = String::from("<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"UTF-8\"><style>");
    for preset in 0..60 {
        let colour = random.u32(0..0xff_ffff);
        let _ = write!(page, "--wp--preset--color--name-{preset}: #{colour:06x};");
        let _ = write!(
            page,
            ".has-name-{preset}-color{{color: var(--wp--preset--color--name-{preset}) !important;}}"
        );
    }
    page.push_str("</style></head><body class=\"home blog wp-embed-responsive\">");
    for post in 0..10 {
        let _ = write!(
            page,
            "<li class=\"wp-block-post post-{post} post type-post status-publish format-standard hentry \
             category-uncategorized\"><h2 class=\"wp-block-post-title\"><a href=\"http://localhost/?p={post}\">"
        );
        for sentence in 0..20 {
            page.push_str(if sentence == 0 { "" } else { "<p class=\"wp-block-paragraph\">" });
            for _ in 0..random.usize(5..25) {
                // Some words are far more frequent than others.
                let word = (random.f64().powi(3) * words.len() as f64) as usize;
                page.push_str(&words[word]);
                page.push(' ');
            }
        }
        page.push_str("</p></li>");
    }
    page.push_str("</body></html>");
    page
}

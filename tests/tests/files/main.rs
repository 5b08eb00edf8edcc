//! Static files: validators, ranges, encodings, changes on disk, and path traversal.

mod paths;
mod sending;

use myriad_tests::{Answer, Place, Server};

/// Returns compressible text of sufficient length for compression.
fn style() -> String {
    let rule = |number| format!(".class-{number} {{ margin: {}px; color: red }}\n", number % 7);
    (0..2000).map(rule).collect::<Vec<_>>().concat()
}

const FILES: &str = "
    open_file_cache max=100; open_file_cache_valid 1s; open_file_cache_errors on;
    gzip on; gzip_vary on; gzip_types text/css; gzip_min_length 100;
    types { text/html html; text/css css; text/plain txt; image/png png; }
    server { listen 127.0.0.1:@PORT@; root @DIR@/html; }
";

fn serve() -> Server {
    let place = Place::new();
    place.write("html/style.css", style());
    place.write("html/short.css", "a{}");
    place.write("html/digits.txt", "0123456789");
    place.write("html/picture.png", style());
    let mut random = fastrand::Rng::with_seed(1);
    let mut large = vec![0; 3_000_000];
    random.fill(&mut large);
    place.write("html/large.txt", &large);
    Server::start(place, FILES)
}

fn content(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.content()).into_owned()
}

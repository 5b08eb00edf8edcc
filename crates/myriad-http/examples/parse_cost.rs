//! Measures the steps of a cache hit that this crate implements, in nanoseconds: `cargo run --release -p myriad-http
//! --example parse_cost`.

use std::hint::black_box;
use std::time::Instant;

use myriad_http::accept::AcceptEncoding;
use myriad_http::h1::{HeadLimits, parse_request, request_framing, wants_keep_alive};
use myriad_http::uri::{cookie, normalize_path, parse_host, split_target};
use myriad_http::{Known, RequestHead};

/// Request head of a browser, about 400 bytes.
const REQUEST: &[u8] = b"GET /2026/11/a-post-with-a-long-name/ HTTP/1.1\r\n\
Host: www.example.com\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n\
Accept-Language: en-US,en;q=0.5\r\n\
Accept-Encoding: gzip, deflate, br, zstd\r\n\
Cookie: _ga=GA1.2.1234567890.123456; lang=en\r\n\
Upgrade-Insecure-Requests: 1\r\n\
Connection: keep-alive\r\n\
Priority: u=0, i\r\n\r\n";

/// Request head of the load generator wrk.
const SHORT: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost:8080\r\nAccept-Encoding: gzip\r\n\r\n";

const ROUNDS: usize = 9;
const CALLS: u32 = 200_000;

/// Prints the median and the minimum time of a call, over several rounds.
fn measure(name: &str, mut call: impl FnMut()) {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| call());
            start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:<44} {:>7.1} ns  (best {:.1})", rounds[ROUNDS / 2], rounds[0]);
}

fn main() {
    let limits = HeadLimits::default();
    let mut head = RequestHead::new();
    measure(&format!("parse_request, {} bytes", REQUEST.len()), || {
        let _ = black_box(parse_request(black_box(REQUEST), &limits, &mut head));
    });
    measure(&format!("parse_request, {} bytes", SHORT.len()), || {
        let _ = black_box(parse_request(black_box(SHORT), &limits, &mut head));
    });
    let _ = parse_request(REQUEST, &limits, &mut head);
    measure("framing and keep-alive", || {
        black_box(request_framing(black_box(&head)).is_ok() && wants_keep_alive(&head));
    });
    measure("known, there", || {
        black_box(black_box(&head).known(Known::AcceptEncoding));
    });
    measure("known, absent", || {
        black_box(black_box(&head).known(Known::IfNoneMatch));
    });
    let mut path = Vec::new();
    measure("split and normalise the target", || {
        path.clear();
        let target = split_target(black_box(head.target()));
        let _ = black_box(target.and_then(|target| normalize_path(target.path, true, &mut path)));
    });
    measure("parse_host", || {
        let _ = black_box(parse_host(black_box(b"www.example.com")));
    });
    measure("AcceptEncoding", || {
        black_box(AcceptEncoding::parse(black_box(b"gzip, deflate, br, zstd")));
    });
    measure("cookie, absent", || {
        black_box(cookie(black_box(b"_ga=GA1.2.1234567890.123456; lang=en"), b"wordpress_logged_in"));
    });
}

//! Prints the cost of the search for personal cookies: `cargo run --release -p myriad-policy --example cookies`. Every
//! cache hit includes this search; the target is less than 60 ns for typical cookies.

use std::hint::black_box;
use std::time::Instant;

use myriad_http::{Fields, Method};
use myriad_policy::{CachePolicy, RequestFacts, bypass};

/// Rounds per measurement. The minimum of several measurements is reported.
const ROUNDS: u32 = 200_000;

fn main() {
    let analytics = "_ga=GA1.2.1234567890.1700000000; _gid=GA1.2.987654321.1700000000; _gat=1; _fbp=fb.1.1700000000.12345";
    let shop = format!(
        "{analytics}; wp-wpml_current_language=en; woocommerce_recently_viewed=12%7C34; wordpress_test_cookie=1"
    );
    let session =
        format!("{analytics}; wordpress_logged_in_0123456789abcdef0123456789abcdef=admin%7C1700000000");
    let rules = CachePolicy::default();
    for (name, cookie) in
        [("none", None), ("analytics", Some(analytics)), ("shop", Some(&shop)), ("logged in", Some(&session))]
    {
        let mut fields: Fields =
            [("Host", "a.example"), ("Accept-Encoding", "gzip, br"), ("User-Agent", "x")]
                .into_iter()
                .collect();
        if let Some(cookie) = cookie {
            fields.push(b"Cookie", cookie.as_bytes());
        }
        let request =
            RequestFacts { method: Method::Get, fields: &fields, has_body: false, cache_bypass: false };
        let best = (0..20).map(|_| nanoseconds(&request, &rules)).fold(f64::INFINITY, f64::min);
        println!("{name:<10} {best:>6.1} ns  {:?}", bypass(&request, &rules));
    }
}

fn nanoseconds(request: &RequestFacts<'_>, rules: &CachePolicy) -> f64 {
    let begin = Instant::now();
    for _ in 0..ROUNDS {
        black_box(bypass(black_box(request), black_box(rules)));
    }
    begin.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
}

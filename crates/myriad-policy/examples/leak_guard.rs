//! Measures the search for private values in a page of 50 KB, with the cookies of a usual browser.
//!
//!     cargo run --release -p myriad-policy --example leak_guard

use std::hint::black_box;
use std::time::Instant;

use myriad_http::Fields;
use myriad_policy::{LeakScanner, PersonalCookies, PrivateInput, SentCookies, private_values};

const COOKIES: &str = "_ga=GA1.2.1034567890.1795000000; _gid=GA1.2.987654321.1795961542; _fbp=fb.1.1795961542123.1122334455; \
     cookie_notice_accepted=true; sbjs_first=typ%3Dtypein%7C%7C%7Csrc%3D%28direct%29; sbjs_udata=vst%3D3%7C%7C%7Cuip%3D%28none%29; \
     woocommerce_recently_viewed=101%7C205%7C309; lang=en";
const ROUNDS: u32 = 2000;

fn main() {
    let browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";
    let fields: Fields = [("Cookie", COOKIES), ("User-Agent", browser)].into_iter().collect();
    let response: Fields = [("Content-Type", "text/html")].into_iter().collect();
    let sent = format!(
        "GET / HTTP/1.1\r\nCookie: {COOKIES}\r\nUser-Agent: {browser}\r\nX-Real-IP: 192.0.2.7\r\n\r\n"
    );
    let page = "<li class=\"product\"><a href=\"/product/cup-12/?color=blue\">A cup for 12.50, and 20 more words of text</a></li>\n".repeat(500);
    let sessions = PersonalCookies::builtin_sessions();
    let started = Instant::now();
    for _ in 0..ROUNDS {
        let values = private_values(&PrivateInput {
            fields: &fields,
            arguments: b"page=2",
            client: "192.0.2.7".parse().ok(),
            certificate: None,
            sent: sent.as_bytes(),
            key: b"httpGETshop.test/?page=2",
        });
        let mut scanner =
            LeakScanner::new(values.list, &response, &sessions, SentCookies { session: false, any: true })
                .expect("HTML");
        for piece in page.as_bytes().chunks(16 << 10) {
            assert_eq!(scanner.push(black_box(piece), |_, _| false), None);
        }
    }
    println!("{} bytes: {:?} for each page", page.len(), started.elapsed() / ROUNDS);
}

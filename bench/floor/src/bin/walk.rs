//! The walk: a client that requests many numbered pages over keep-alive connections.
//!
//! `walk PORT CONNECTIONS in-order FIRST COUNT` requests `/page/N` once for each number; `walk PORT CONNECTIONS at-random PAGES
//! REQUESTS` requests random ones of the first PAGES pages. It prints one line of JSON: number of responses, hits (`X-Cache:
//! HIT`), responses that were not 200, bytes of heads, bodies and targets, seconds, and the slowest response in ms.
//!
//! Each connection has a thread that waits for its response. The client is this simple so that its CPU time does not depend
//! on the requested pages.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Order and number of the requests.
#[derive(Clone, Copy)]
enum Order {
    Each { first: u64, count: u64 },
    Random { pages: u64, requests: u64 },
}

impl Order {
    /// Returns the page of the `n`th request.
    fn page(self, n: u64) -> Option<u64> {
        match self {
            Self::Each { first, count } => (n < count).then(|| first + n),
            Self::Random { pages, requests } => (n < requests).then(|| scattered(n) % pages),
        }
    }
}

/// Maps a number to a pseudo-random one (SplitMix), the same in every run.
fn scattered(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[derive(Default)]
struct Seen {
    answers: u64,
    hits: u64,
    wrong: u64,
    head_bytes: u64,
    body_bytes: u64,
    target_bytes: u64,
    slowest: Duration,
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, connections, order, a, b] = &arguments[..] else {
        return Err(io::Error::other("usage: walk PORT CONNECTIONS in-order FIRST COUNT | at-random PAGES REQUESTS"));
    };
    let number = |text: &String| text.parse::<u64>().map_err(io::Error::other);
    let order = match order.as_str() {
        "in-order" => Order::Each { first: number(a)?, count: number(b)? },
        "at-random" => Order::Random { pages: number(a)?, requests: number(b)? },
        other => return Err(io::Error::other(format!("unknown order: {other}"))),
    };
    let (port, connections) = (number(port)? as u16, number(connections)?);
    let next = AtomicU64::new(0);
    let began = Instant::now();
    let seen = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..connections).map(|_| scope.spawn(|| walk(port, order, &next))).collect();
        clients.into_iter().map(|client| client.join().map_err(|_| io::Error::other("a client panicked"))?).collect::<io::Result<Vec<Seen>>>()
    })?;
    report(&seen, began.elapsed());
    Ok(())
}

fn walk(port: u16, order: Order, next: &AtomicU64) -> io::Result<Seen> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let (mut seen, mut request, mut buffer) = (Seen::default(), Vec::new(), vec![0; 64 << 10]);
    while let Some(page) = order.page(next.fetch_add(1, Relaxed)) {
        request.clear();
        write!(request, "GET /page/{page} HTTP/1.1\r\nHost: bench.test\r\n\r\n")?;
        let asked = Instant::now();
        stream.write_all(&request)?;
        let (head, length) = answer(&mut stream, &mut buffer)?;
        seen.slowest = seen.slowest.max(asked.elapsed());
        seen.answers += 1;
        seen.hits += u64::from(find(&buffer[..head], b"X-Cache: HIT").is_some());
        seen.wrong += u64::from(!buffer.starts_with(b"HTTP/1.1 200"));
        seen.head_bytes += head as u64;
        seen.body_bytes += length as u64;
        seen.target_bytes += format!("/page/{page}").len() as u64;
    }
    Ok(seen)
}

/// Reads one response, which must have a Content-Length and fit into the buffer; returns the bytes of its head and body.
fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<(usize, usize)> {
    let mut filled = 0;
    loop {
        let got = stream.read(&mut buffer[filled..])?;
        if got == 0 {
            return Err(io::Error::other("the server closed the connection"));
        }
        filled += got;
        let Some(end) = find(&buffer[..filled], b"\r\n\r\n") else { continue };
        let head = end + 4;
        let length = content_length(&buffer[..head]).ok_or_else(|| io::Error::other("a response without Content-Length"))?;
        if filled >= head + length {
            return Ok((head, length));
        }
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(head).ok()?;
    let line = text.split("\r\n").find(|line| line.len() > 15 && line[..15].eq_ignore_ascii_case("content-length:"))?;
    line[15..].trim().parse().ok()
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn report(seen: &[Seen], took: Duration) {
    let sum = |figure: fn(&Seen) -> u64| seen.iter().map(figure).sum::<u64>();
    let slowest = seen.iter().map(|seen| seen.slowest).max().unwrap_or_default();
    println!(
        "{{\"answers\": {}, \"hits\": {}, \"wrong\": {}, \"head_bytes\": {}, \"body_bytes\": {}, \"target_bytes\": {}, \"seconds\": {:.3}, \"slowest_ms\": {:.3}}}",
        sum(|seen| seen.answers),
        sum(|seen| seen.hits),
        sum(|seen| seen.wrong),
        sum(|seen| seen.head_bytes),
        sum(|seen| seen.body_bytes),
        sum(|seen| seen.target_bytes),
        took.as_secs_f64(),
        slowest.as_secs_f64() * 1e3,
    );
}

//! Numbers of requests for pages, from access logs in the combined format.

use std::collections::HashMap;

/// Maximum number of request targets that are counted. Above it, new targets are skipped; the most requested ones
/// usually appear early.
const MOST: usize = 200_000;
/// Maximum length of a request target, in bytes; longer ones are not counted.
const LONGEST: usize = 2048;

/// Counter of the requests in an access log by target.
#[derive(Clone, Debug, Default)]
pub struct RequestCounter {
    counts: HashMap<String, u64>,
    /// Number of log lines that contain no request to count. Requests beyond the maximum number of targets are not
    /// included.
    skipped_lines: u64,
}

impl RequestCounter {
    /// Counts a line of a log if it is a GET request with status 200 or 304 that was not caused by `myriad warm`, and
    /// its target is a valid path of at most 2048 bytes.
    pub fn add(&mut self, line: &[u8]) {
        let Some(target) = target(line) else {
            self.skipped_lines += 1;
            return;
        };
        if let Some(count) = self.counts.get_mut(&target) {
            *count += 1;
        } else if self.counts.len() < MOST {
            self.counts.insert(target, 1);
        }
    }

    /// Returns the number of log lines that contain no request to count.
    pub fn passed_over(&self) -> u64 {
        self.skipped_lines
    }

    /// Returns the targets (`/path?query`), the most requested first; targets with equal counts in alphabetical order.
    pub fn most_requested(self) -> Vec<String> {
        let mut targets: Vec<(String, u64)> = self.counts.into_iter().collect();
        targets.sort_by(|(a, hot), (b, cold)| cold.cmp(hot).then_with(|| a.cmp(b)));
        targets.into_iter().map(|(target, _)| target).collect()
    }
}

/// Returns the target of a line such as `127.0.0.1 - - [date] "GET /a HTTP/1.1" 200 12 "-" "agent"`; `None` if the line
/// is not counted.
fn target(line: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(line).ok()?;
    let (_, rest) = text.split_once('"')?;
    let (request, rest) = rest.split_once("\" ")?;
    let mut words = request.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let status = rest.split(' ').next()?;
    let is_page = method == "GET"
        && version.starts_with("HTTP/")
        && words.next().is_none()
        && matches!(status, "200" | "304");
    // A backslash is an escape of the log (`\x22`) for a byte that no URL of a page contains.
    let is_sound = target.starts_with('/')
        && target.len() <= LONGEST
        && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    (is_page && is_sound && !rest.contains("Myriad-Warm")).then(|| target.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hottest_pages_come_first() {
        let mut heat = RequestCounter::default();
        let line = |request: &str, status: &str, agent: &str| {
            format!("127.0.0.1 - - [24/Nov/2026:13:00:00 +0000] \"{request}\" {status} 612 \"-\" \"{agent}\"")
                .into_bytes()
        };
        for _ in 0..3 {
            heat.add(&line("GET /hot/ HTTP/1.1", "200", "x"));
        }
        heat.add(&line("GET /b?x=1 HTTP/2.0", "304", "x"));
        heat.add(&line("GET /a HTTP/1.0", "200", "x"));
        for (request, status, agent) in [
            ("POST /a HTTP/1.1", "200", "x"),
            ("GET /a HTTP/1.1", "404", "x"),
            ("GET /a HTTP/1.1", "200", "Myriad-Warm/0.1"),
            ("GET http://evil.test/ HTTP/1.1", "200", "x"),
            ("GET /a\\x22 HTTP/1.1", "200", "x"),
            ("GET /a b HTTP/1.1", "200", "x"),
            ("\\x16\\x03", "400", "x"),
        ] {
            heat.add(&line(request, status, agent));
        }
        heat.add(b"");
        heat.add(b"\xff\xfe");
        assert_eq!(heat.passed_over(), 9);
        assert_eq!(heat.most_requested(), ["/hot/", "/a", "/b?x=1"]);
    }

    #[test]
    fn made_up_lines_are_no_error() {
        for seed in 0..3000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let words: [&[u8]; 8] = [b"\"", b"\" ", b"GET ", b"/a", b" HTTP/1.1", b"200", b"\xff", b" "];
            let line: Vec<u8> =
                (0..random.usize(..12)).flat_map(|_| random.choice(words).expect("word").to_vec()).collect();
            let mut heat = RequestCounter::default();
            heat.add(&line);
            assert!(heat.most_requested().iter().all(|target| target.starts_with('/')), "seed {seed}");
        }
    }
}

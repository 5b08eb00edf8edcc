//! List of robots, and the lookup of a client in it.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_conf::registry::parse_network;
use myriad_conf::settings::Network;

use super::memo;

/// Maximum number of bytes of `User-Agent` that are searched; the rest is ignored.
const AGENT: usize = 512;

/// Line of a list of robots: a class, and a text in `User-Agent` by which the robot is recognized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BotLine {
    /// Value of `$bot`; empty for the class `none` (a regular client).
    pub class: Box<[u8]>,
    /// Text that `User-Agent` must contain, in any letter case.
    pub agent: Box<[u8]>,
    /// Networks of the robot; empty if they are not known.
    pub networks: Vec<Network>,
}

/// List of robots; of several matching lines, the first applies.
#[derive(Debug)]
pub(super) struct BotList {
    /// Identifier of the list, unique in the process. It distinguishes lists of different configurations in a worker's
    /// cache of recent `User-Agent` values.
    number: u64,
    lines: Vec<BotLine>,
    /// Texts of the lines in lower case, each with the index of its line, sorted.
    texts: Vec<(Box<[u8]>, usize)>,
    /// Ranges of `texts`, by the first byte of the text.
    by_first: Box<[Range<usize>; 256]>,
}

/// Line that matches a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BotMatch<'a> {
    /// Value of `$bot`: class of the line, `forged` if `verified` is false, or `unknown` without `User-Agent`.
    pub class: &'a [u8],
    /// Text of the matching line; empty if the request has no `User-Agent`.
    pub name: &'a [u8],
    /// True if the client address belongs to a network of the robot, false otherwise; `None` if no networks are known,
    /// the client has no address, or the request has no `User-Agent`.
    pub verified: Option<bool>,
}

/// Identifier of the next list.
static NUMBER: AtomicU64 = AtomicU64::new(1);

impl BotList {
    /// Creates a list of these lines, followed by the built-in lines if `builtin` is set.
    pub(super) fn new(mut lines: Vec<BotLine>, builtin: bool) -> Self {
        if builtin {
            lines.extend(builtin_lines());
        }
        let small = |(index, line): (usize, &BotLine)| (line.agent.to_ascii_lowercase().into(), index);
        let mut texts: Vec<(Box<[u8]>, usize)> = lines.iter().enumerate().map(small).collect();
        texts.sort();
        let of = |first: usize| {
            let before = |bound: usize| {
                texts.partition_point(|(text, _)| usize::from(text.first().copied().unwrap_or(0)) < bound)
            };
            before(first)..before(first + 1)
        };
        let by_first = Box::new(std::array::from_fn(of));
        Self { number: NUMBER.fetch_add(1, Relaxed), lines, texts, by_first }
    }

    /// Returns the built-in list.
    pub(super) fn builtin() -> &'static Self {
        static LIST: LazyLock<BotList> = LazyLock::new(|| BotList::new(Vec::new(), true));
        &LIST
    }

    /// Classifies a client by its `User-Agent` and address: `unknown` without `User-Agent`, `forged` if the client
    /// address is in none of the known networks of the matching line, otherwise the class of the line. Returns `None`
    /// if no line matches, or the matching line has the class `none` (a browser). A client on a Unix socket has no
    /// address and is not verified.
    pub(super) fn find(&self, agent: &[u8], client: Option<IpAddr>) -> Option<BotMatch<'_>> {
        if agent.is_empty() {
            return Some(BotMatch { class: b"unknown", name: b"", verified: None });
        }
        let agent = &agent[..agent.len().min(AGENT)];
        let line = self.lines.get(memo::matching_line(self.number, agent, || self.line(agent)))?;
        if line.class.is_empty() {
            return None;
        }
        let verified = (client.is_some() && !line.networks.is_empty())
            .then(|| line.networks.iter().any(|network| network.contains(client)));
        let class: &[u8] = if verified == Some(false) { b"forged" } else { &line.class };
        Some(BotMatch { class, name: &line.agent, verified })
    }

    /// Returns the index of the first line whose text `agent` contains, or `usize::MAX` if no line matches.
    fn line(&self, agent: &[u8]) -> usize {
        let agent = agent.to_ascii_lowercase();
        let mut first = usize::MAX;
        for (at, byte) in agent.iter().enumerate() {
            for (text, line) in &self.texts[self.by_first[usize::from(*byte)].clone()] {
                if *line < first && agent[at..].starts_with(text) {
                    first = *line;
                }
            }
        }
        first
    }
}

/// Returns the lines of `presets/bots.conf`.
fn builtin_lines() -> impl Iterator<Item = BotLine> {
    include_str!("../../../../../presets/bots.conf").lines().filter_map(builtin_line)
}

/// Parses `CLASS "text" [network ...];`; returns `None` for a comment and for an invalid line.
fn builtin_line(line: &str) -> Option<BotLine> {
    let line = line.trim().strip_suffix(';').filter(|line| !line.starts_with('#'))?;
    let mut parts = line.splitn(3, '"');
    let (class, agent, networks) = (parts.next()?.trim(), parts.next()?, parts.next()?);
    let class = if class == "none" { "" } else { class };
    let networks = networks.split_whitespace().filter_map(|text| parse_network(text.as_bytes())).collect();
    Some(BotLine { class: class.as_bytes().into(), agent: agent.as_bytes().into(), networks })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(agent: &str, client: &str) -> String {
        let found = BotList::builtin().find(agent.as_bytes(), client.parse().ok());
        String::from_utf8_lossy(found.map_or(b"", |bot| bot.class)).into_owned()
    }

    #[test]
    fn every_line_of_the_built_in_list_is_read() {
        let text = include_str!("../../../../../presets/bots.conf");
        let wanted = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        assert_eq!(builtin_lines().count(), wanted);
        let networks = text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
        let networks =
            networks.filter(|word| word.contains('/') && word.contains(['.', ':']) && !word.contains('"'));
        assert_eq!(builtin_lines().map(|line| line.networks.len()).sum::<usize>(), networks.count());
        for line in builtin_lines() {
            assert!(!line.agent.is_empty() && line.class.iter().all(u8::is_ascii_lowercase), "{line:?}");
        }
    }

    #[test]
    fn robots_have_their_class_and_browsers_none() {
        for (agent, expected) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
                "",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
                "",
            ),
            ("Mozilla/5.0 (Linux; Android 13; CUBOT P80) AppleWebKit/537.36", ""),
            ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "search"),
            (
                "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
                "ai",
            ),
            ("Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)", "monitor"),
            ("facebookexternalhit/1.1", "preview"),
            ("Mozilla/5.0 (compatible; SemrushBot/7~bl)", "seo"),
            ("curl/8.5.0", "tool"),
            ("SomethingBot/1.0", "unknown"),
            ("", "unknown"),
        ] {
            assert_eq!(class(agent, "192.0.2.1"), expected, "{agent}");
        }
    }

    #[test]
    fn name_of_a_robot_from_elsewhere_is_forged() {
        let agent = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
        assert_eq!(class(agent, "66.249.66.1"), "search");
        assert_eq!(class(agent, "2001:4860:4801:10::1"), "search");
        assert_eq!(class(agent, "::ffff:66.249.66.1"), "search");
        assert_eq!(class(agent, "192.0.2.1"), "forged");
        assert_eq!(class(agent, "no address"), "search");
        let found = BotList::builtin().find(agent.as_bytes(), "66.249.66.1".parse().ok());
        assert_eq!(found, Some(BotMatch { class: b"search", name: b"Googlebot", verified: Some(true) }));
    }

    #[test]
    fn first_line_counts_and_own_lines_come_before() {
        let line = |class: &[u8], agent: &[u8]| BotLine {
            class: class.into(),
            agent: agent.into(),
            networks: Vec::new(),
        };
        let list = BotList::new(vec![line(b"mine", b"Chrome"), line(b"", b"MyBot")], true);
        let class = |agent: &[u8]| list.find(agent, None).map(|bot| bot.class.to_vec());
        assert_eq!(class(b"x CHROME/1 Googlebot").as_deref(), Some(&b"mine"[..]));
        assert_eq!(class(b"mybot/1"), None);
        assert_eq!(class(b"otherbot/1").as_deref(), Some(&b"unknown"[..]));
        assert_eq!(BotList::new(Vec::new(), false).find(b"Googlebot", None), None);
    }

    #[test]
    fn long_names_cost_no_more_than_a_bound() {
        let mut agent = vec![b'b'; 100_000];
        agent.extend_from_slice(b"Googlebot");
        assert_eq!(BotList::builtin().find(&agent, None), None);
    }
}

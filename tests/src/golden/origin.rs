//! Origins that send the responses of a golden file, over FastCGI or HTTP.

use crate::http_origin::{HttpCall, HttpOrigin};
use crate::{Call, Origin};

/// Section `origin`: responses by target.
#[derive(Clone, Debug)]
pub(super) struct OriginScript {
    pub(super) name: String,
    http: bool,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    /// Target, prefix of targets with a trailing `*`, or number of the request such as `#2`.
    pattern: String,
    answer: String,
}

/// Running origin; shut down on drop.
pub(super) enum RunningOrigin {
    FastCgi(Origin),
    Http(HttpOrigin),
}

impl RunningOrigin {
    pub(super) fn address(&self) -> &str {
        match self {
            Self::FastCgi(origin) => &origin.address,
            Self::Http(origin) => &origin.address,
        }
    }
}

impl OriginScript {
    pub(super) fn parse(title: &str, text: &str) -> Result<Self, String> {
        let (name, protocol) = title.split_once(' ').unwrap_or((title, ""));
        let http = match protocol {
            "http" => true,
            "fastcgi" => false,
            _ => return Err("write `origin NAME fastcgi` or `origin NAME http`".into()),
        };
        let mut rules: Vec<Rule> = Vec::new();
        for line in text.lines() {
            if let Some(pattern) = line.strip_prefix("=> ") {
                rules.push(Rule { pattern: pattern.trim().to_owned(), answer: String::new() });
            } else {
                let rule = rules.last_mut().ok_or("an origin's answer begins with `=> TARGET`")?;
                rule.answer.push_str(line);
                rule.answer.push('\n');
            }
        }
        Ok(Self { name: name.to_owned(), http, rules })
    }

    pub(super) fn start(&self) -> RunningOrigin {
        let script = self.clone();
        if self.http {
            RunningOrigin::Http(HttpOrigin::start(move |call| script.answer_http(call)))
        } else {
            RunningOrigin::FastCgi(Origin::start(move |call| script.answer_fastcgi(call)))
        }
    }

    fn rule(&self, target: &str, number: usize) -> Option<&str> {
        let fits = |rule: &&Rule| match (rule.pattern.strip_prefix('#'), rule.pattern.strip_suffix('*')) {
            (Some(wanted), _) => wanted.parse() == Ok(number),
            (None, Some(beginning)) => target.starts_with(beginning),
            (None, None) => rule.pattern == target,
        };
        self.rules.iter().find(fits).map(|rule| rule.answer.as_str())
    }

    fn answer_fastcgi(&self, call: &mut Call) {
        let Some(answer) = self.rule(call.uri(), call.number) else {
            return call.answer("Status: 404\nContent-Type: text/plain", "the script has no such target");
        };
        let (number, body) = (call.number, String::from_utf8_lossy(&call.body).into_owned());
        let text = expand(answer, |word| match word {
            "number" => Some(number.to_string()),
            "body" => Some(body.clone()),
            "all" => Some(call.all_params()),
            name => Some(call.param(name).to_owned()),
        });
        if text.trim() == "hang up" {
            return call.hang_up();
        }
        pause(&text);
        let (head, body) = text.split_once("\n\n").unwrap_or((text.trim_end(), ""));
        call.answer(head, body.trim_end_matches('\n'));
    }

    fn answer_http(&self, call: &mut HttpCall) {
        let Some(answer) = self.rule(&call.target, call.number) else {
            return call.answer("HTTP/1.1 404 Not Found", "the script has no such target");
        };
        let text = expand(answer, |word| match word {
            "number" => Some(call.number.to_string()),
            "body" => Some(String::from_utf8_lossy(&call.body).into_owned()),
            "all" => Some(call.head.clone()),
            "method" => Some(call.method.clone()),
            "target" => Some(call.target.clone()),
            "line" => Some(call.line.clone()),
            name => Some(call.field(name).unwrap_or_default().to_owned()),
        });
        if text.trim() == "hang up" {
            return call.hang_up();
        }
        pause(&text);
        let (head, body) = text.split_once("\n\n").unwrap_or((text.trim_end(), ""));
        call.answer(head, body.trim_end_matches('\n'));
    }
}

/// Sleeps if the response begins with a line such as `wait 3s`.
fn pause(text: &str) {
    let line = text.lines().next().and_then(|line| line.strip_prefix("wait "));
    if let Some(seconds) = line.and_then(|line| line.strip_suffix('s')).and_then(|digits| digits.parse().ok())
    {
        std::thread::sleep(std::time::Duration::from_secs(seconds));
    }
}

/// Replaces each `{word}` by its meaning, unless that is `None`.
fn expand(text: &str, meaning: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let inside = after.split_once('}').filter(|(word, _)| !word.is_empty() && is_word(word));
        if let Some((value, after)) = inside.and_then(|(word, after)| Some((meaning(word)?, after))) {
            out.push_str(&value);
            rest = after;
        } else {
            out.push('{');
            rest = after;
        }
    }
    out + rest
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_answers() {
        let script =
            OriginScript::parse("php fastcgi", "=> #2\nsecond\n=> /a\nA\n=> /b*\nB\n").expect("a script");
        assert_eq!(script.rule("/a", 1), Some("A\n"));
        assert_eq!(script.rule("/a", 2), Some("second\n"));
        assert_eq!(script.rule("/b/c", 3), Some("B\n"));
        assert_eq!(script.rule("/c", 3), None);
    }

    #[test]
    fn words_in_braces_are_replaced() {
        let meaning = |word: &str| (word == "x").then(|| "1".to_owned());
        assert_eq!(expand("a{x}b{y}c{ {x}{", meaning), "a1b{y}c{ 1{");
    }
}

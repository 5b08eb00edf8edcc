//! Expectations of a response.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pcre2::bytes::RegexBuilder;

use crate::{Answer, Place};

/// Parsed text of an `answer` section.
#[derive(Debug, Default)]
pub(super) struct Expectation {
    /// Status code or status line; `None` if the connection must close without a response.
    status: Option<String>,
    /// Fields with all of their values, in order.
    fields: BTreeMap<String, Vec<String>>,
    absent: Vec<String>,
    matching: Vec<(String, String)>,
    body: Body,
    /// Set if the connection must close after the response.
    pub(super) closes: bool,
}

#[derive(Debug, Default)]
enum Body {
    #[default]
    Any,
    Exact(String),
    /// Regexes, each with a flag: true if it must match, false if it must not.
    Matching(Vec<(String, bool)>),
}

impl Expectation {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (head, body) = match text.split_once("\n\n") {
            Some((head, body)) => (head, Some(body)),
            None => (text, None),
        };
        let mut lines = head.lines();
        let status = lines.next().ok_or("an answer begins with its status")?;
        let mut expected = Self { status: Some(status.to_owned()), ..Self::default() };
        if status == "no answer" {
            expected.status = None;
        } else if !status.starts_with("HTTP/") && status.parse::<u16>().is_err() {
            return Err(format!("`{status}` is no status"));
        }
        for line in lines {
            expected.field(line)?;
        }
        if let Some(body) = body {
            expected.body = parse_body(body);
        }
        Ok(expected)
    }

    fn field(&mut self, line: &str) -> Result<(), String> {
        if line == "closed" {
            self.closes = true;
        } else if line == "empty body" {
            self.body = Body::Exact(String::new());
        } else if let Some(name) = line.strip_prefix("! ") {
            self.absent.push(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("~ ") {
            let (name, regex) = rest.split_once(": ").ok_or("write `~ name: regex`")?;
            self.matching.push((name.to_owned(), regex.to_owned()));
        } else {
            let (name, value) = line.split_once(':').ok_or_else(|| format!("`{line}` is no field"))?;
            self.fields.entry(name.to_owned()).or_default().push(value.trim().to_owned());
        }
        Ok(())
    }

    pub(super) fn expects_answer(&self) -> bool {
        self.status.is_some()
    }

    /// Returns the differences of a response; empty if it is as expected.
    pub(super) fn judge(&self, place: &Place, answer: &Answer) -> Vec<String> {
        let mut wrong = Vec::new();
        if let Some(status) = &self.status {
            let found =
                if status.starts_with("HTTP/") { &answer.status_line } else { &answer.status.to_string() };
            if found != status {
                wrong.push(format!("status: expected {status}, found {found}"));
            }
        }
        for (name, values) in &self.fields {
            let values: Vec<String> = values.iter().map(|value| place.fill(value)).collect();
            let found: Vec<&str> = answer.all(name).collect();
            if found != values {
                wrong.push(format!("{name}: expected {values:?}, found {found:?}"));
            }
        }
        for name in &self.absent {
            let found: Vec<&str> = answer.all(name).collect();
            if !found.is_empty() {
                wrong.push(format!("{name}: expected none, found {found:?}"));
            }
        }
        for (name, regex) in &self.matching {
            let regex = place.fill(regex);
            let found: Vec<&str> = answer.all(name).collect();
            if !found.iter().any(|value| matches(&regex, value)) {
                wrong.push(format!("{name}: expected to match {regex}, found {found:?}"));
            }
        }
        self.judge_body(place, answer, &mut wrong);
        wrong
    }

    fn judge_body(&self, place: &Place, answer: &Answer, wrong: &mut Vec<String>) {
        match &self.body {
            Body::Any => {}
            Body::Exact(expected) => {
                let (expected, found) = (place.fill(expected), answer.text());
                if found.trim_end_matches('\n') != expected {
                    wrong.push(format!("body:\n{}", difference(&expected, &found)));
                }
            }
            Body::Matching(regexes) => {
                let found = answer.text();
                for (regex, must) in regexes {
                    let regex = place.fill(regex);
                    if matches(&regex, &found) != *must {
                        let not = if *must { "" } else { "not " };
                        wrong.push(format!("body: expected {not}to match {regex}, found:\n{found}"));
                    }
                }
            }
        }
    }
}

fn parse_body(text: &str) -> Body {
    let line = |line: &str| {
        let must = line.strip_prefix("~ ").map(|regex| (regex.to_owned(), true));
        must.or_else(|| line.strip_prefix("!~ ").map(|regex| (regex.to_owned(), false)))
    };
    match text.lines().map(line).collect::<Option<Vec<_>>>() {
        Some(regexes) if !regexes.is_empty() => Body::Matching(regexes),
        _ => Body::Exact(text.to_owned()),
    }
}

/// Returns whether a text satisfies a line of a golden file: `~ regex`, `! text` for its absence, or a text that it
/// must contain.
pub(super) fn says(place: &Place, line: &str, text: &str) -> bool {
    let line = place.fill(line);
    if let Some(regex) = line.strip_prefix("~ ") {
        matches(regex, text)
    } else if let Some(absent) = line.strip_prefix("! ") {
        !text.contains(absent)
    } else {
        text.contains(&line)
    }
}

fn matches(regex: &str, text: &str) -> bool {
    let compiled = RegexBuilder::new().multi_line(true).build(regex);
    let compiled = compiled.unwrap_or_else(|error| panic!("the expected regex {regex}: {error}"));
    compiled.is_match(text.as_bytes()).expect("a match")
}

/// Returns a line diff of two texts: ` ` in both, `-` expected and missing, `+` present and unexpected.
fn difference(expected: &str, found: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = (old.len() - same).min(new.len() - same);
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    let mut put = |mark: char, lines: &[&str]| {
        for line in lines {
            let _ = writeln!(text, "    {mark}{line}");
        }
    };
    put(' ', &old[same.saturating_sub(3)..same]);
    put('-', &old[same..old.len() - tail]);
    put('+', &new[same..new.len() - tail]);
    put(' ', &new[new.len() - tail..(new.len() - tail + 3).min(new.len())]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        Answer {
            status: 200,
            status_line: "HTTP/1.1 200 OK".into(),
            fields: vec![("A".into(), "1".into()), ("B".into(), "2".into()), ("B".into(), "3".into())],
            body: b"one\ntwo\n".to_vec(),
        }
    }

    #[test]
    fn what_is_so_is_found_so() {
        for text in [
            "200",
            "HTTP/1.1 200 OK\nA: 1\n! C",
            "200\nB: 2\nB: 3",
            "200\n~ B: ^3\n\n~ ^two",
            "200\n\none\ntwo",
        ] {
            let expected = Expectation::parse(text).expect(text);
            assert_eq!(expected.judge(&Place::new(), &answer()), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_is_not_so_is_found_out() {
        let wrong = [
            "404",
            "HTTP/1.1 200 Okay",
            "200\nA: 2",
            "200\nB: 2",
            "200\nB: 3\nB: 2",
            "200\nC: 1",
            "200\n! A",
            "200\n~ A: x",
            "200\n\none",
            "200\n\n~ three",
            "200\n\n!~ two",
            "200\nempty body",
            "200\nA: 1\nA: 1",
        ];
        for text in wrong {
            let expected = Expectation::parse(text).expect(text);
            assert_eq!(expected.judge(&Place::new(), &answer()).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_difference_shows_the_lines_that_differ() {
        assert_eq!(difference("a\nb\nc", "a\nx\nc"), "     a\n    -b\n    +x\n     c\n");
        assert_eq!(difference("a", "a\nb"), "     a\n    +b\n");
    }
}

//! Execution of a case.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Output;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use flate2::{Compression, write::GzEncoder};

use super::case::{Action, Config, Connection, Kind, Packing, SiteFile, Step};
use super::expect::{Expectation, says};
use super::{Case, Outcome, Subject};
use crate::place::free_port;
use crate::{Answer, Client, PATIENCE, Place, Request, Server, curl};

/// Returns the line of a failure that rejects a directive or variable because the tested binary lacks its feature;
/// `None` without such a line.
fn missing_feature(failure: &str) -> Option<String> {
    failure.lines().find(|line| line.contains("this build has no feature \"")).map(str::to_owned)
}

impl Case {
    /// Runs the case against a subject. A panic is a failure; a failure because the binary lacks a feature skips the
    /// case.
    pub fn play(&self, subject: &Subject) -> Outcome {
        if let Some(reason) = subject.skips(self) {
            return Outcome::Skipped(reason);
        }
        let played = catch_unwind(AssertUnwindSafe(|| self.try_play(subject)));
        let failure = played.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(text.unwrap_or_else(|| "a panic without a message".to_owned()))
        });
        match failure {
            Some(what) => missing_feature(&what).map_or(Outcome::Failed(what), Outcome::Skipped),
            None => Outcome::Passed,
        }
    }

    /// Returns the differences; `None` if all are as expected.
    fn try_play(&self, subject: &Subject) -> Option<String> {
        let mut place = Place::new();
        let mut origins = Vec::new();
        for script in &self.origins {
            let origin = script.start();
            place.set(&script.name, origin.address());
            origins.push(origin);
        }
        place.set("OTHER", &free_port().to_string());
        for file in &self.before {
            file.write(&place);
        }
        place.write("myriad.conf", self.configuration(&place));
        let (tests, steps): (Vec<&Step>, Vec<&Step>) =
            self.steps.iter().partition(|step| step.is_of_the_text());
        let wrong: Vec<String> =
            tests.into_iter().filter_map(|step| step.judge_text(subject, &place)).collect();
        if !wrong.is_empty() || !self.needs_server() {
            return (!wrong.is_empty()).then(|| wrong.join("\n"));
        }
        let server = subject.start(place);
        let mut talk = Talk { server: &server, client: None, given: None, last: None };
        let wrong = steps.into_iter().find_map(|step| talk.play(step))?;
        Some(format!("{wrong}\n  --- error log\n{}", indented(&server.read("error.log"))))
    }

    fn configuration(&self, place: &Place) -> String {
        let http = match &self.config {
            Config::Whole(text) => return place.fill(text),
            Config::Http(text) => text.clone(),
            Config::Server(text) => {
                format!(
                    "server {{ listen 127.0.0.1:@PORT@; server_name localhost; root @DIR@/html;\n{text}\n}}"
                )
            }
            Config::Missing => unreachable!("a case without a configuration is not read"),
        };
        let mut around = String::new();
        if !http.contains("access_log") {
            around.push_str("access_log @DIR@/access.log;\n");
        }
        for module in ["client_body", "proxy", "fastcgi"] {
            if !http.contains(&format!("{module}_temp_path")) {
                let _ = writeln!(around, "{module}_temp_path @DIR@/{module}_temp;");
            }
        }
        let main = if self.main.contains("error_log") { "" } else { "error_log @DIR@/error.log info;\n" };
        place.fill(&format!(
            "daemon off;\npid @DIR@/myriad.pid;\n{main}{}\nevents {{ worker_connections 256; }}\n\
             http {{\n{around}{http}\n}}\n",
            self.main
        ))
    }
}

impl SiteFile {
    fn write(&self, place: &Place) {
        let path = place.path(&self.path);
        match &self.kind {
            Kind::File { text, packed } => {
                let text = place.fill(text);
                let bytes = packed.map(|packing| compressed(&text, packing));
                place.write(&self.path, bytes.unwrap_or_else(|| text.into_bytes()));
            }
            Kind::Folder => fs::create_dir_all(&path).expect("folder"),
            Kind::Link(target) => {
                fs::create_dir_all(path.parent().expect("a link in a folder")).expect("folders");
                symlink(place.fill(target), &path).expect("link");
            }
        }
        if let Some(seconds) = self.modified {
            let file = File::open(&path).expect("file");
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("time");
        }
        if let Some(mode) = self.mode {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("permissions");
        }
    }
}

fn compressed(text: &str, packing: Packing) -> Vec<u8> {
    let text = text.as_bytes();
    match packing {
        Packing::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(text).expect("compression");
            encoder.finish().expect("compression")
        }
        Packing::Brotli => {
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 18);
            encoder.write_all(text).expect("compression");
            encoder.into_inner()
        }
        Packing::Zstd => zstd::encode_all(text, 1).expect("compression"),
    }
}

impl Step {
    /// Returns whether the step checks only the text of the configuration, without a running server.
    fn is_of_the_text(&self) -> bool {
        matches!(self.action, Action::Refused(_) | Action::Warned(_) | Action::Explain(..))
    }

    fn judge_text(&self, subject: &Subject, place: &Place) -> Option<String> {
        let (accepted, arguments, lines) = match &self.action {
            Action::Refused(lines) => (false, Vec::new(), lines),
            Action::Warned(lines) => (true, Vec::new(), lines),
            Action::Explain(..) if subject.is_nginx() => return None,
            Action::Explain(arguments, lines) => {
                let arguments = words(&place.fill(arguments));
                (true, [vec!["--explain".to_owned()], arguments].concat(), lines)
            }
            _ => return None,
        };
        let Output { status, stdout, stderr } = subject.test(place, &arguments);
        // `nginx -t` leaves an empty pid file, which would look like a running server.
        let _ = fs::remove_file(place.path("myriad.pid"));
        let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
        let mut wrong = String::new();
        if status.success() != accepted {
            let _ =
                writeln!(wrong, "  the configuration is {}", if accepted { "refused" } else { "accepted" });
        }
        // The messages of nginx differ.
        for line in lines.iter().filter(|line| !subject.is_nginx() && !says(place, line, &said)) {
            let _ = writeln!(wrong, "  missing: {line}");
        }
        (!wrong.is_empty()).then(|| format!("line {}\n{wrong}  --- output\n{}", self.line, indented(&said)))
    }
}

/// Splits a command line; single quotes preserve spaces.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, piece) in text.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Requests to a running server, and the last response.
struct Talk<'a> {
    server: &'a Server,
    client: Option<Client>,
    /// Response to the last request if that used HTTP/2, or the error of curl, until it is compared.
    given: Option<Result<Answer, String>>,
    /// Text and connection of the last request.
    last: Option<(&'a str, &'a Connection)>,
}

impl<'a> Talk<'a> {
    fn play(&mut self, step: &'a Step) -> Option<String> {
        match &step.action {
            Action::Write(file) => file.write(self.server),
            Action::Remove(path) => fs::remove_file(self.server.path(path)).expect("a file to remove"),
            Action::Wait(time) => sleep(*time),
            Action::Request { text, on } => {
                self.last = Some((text, on));
                self.ask(text, on);
            }
            Action::Answer(expected) => return self.listen(expected, step.line),
            Action::AnswerAtLast(expected) => return self.listen_again(expected, step.line),
            Action::Log(name, lines) => {
                let until = Instant::now() + PATIENCE;
                for line in lines {
                    while !says(self.server, line, &self.server.read(name)) {
                        if Instant::now() > until {
                            let found = indented(&self.server.read(name));
                            return Some(format!("line {}\n  not in {name}: {line}\n{found}", step.line));
                        }
                        sleep(Duration::from_millis(5));
                    }
                }
            }
            Action::Refused(_) | Action::Warned(_) | Action::Explain(..) => {}
        }
        None
    }

    fn ask(&mut self, text: &str, on: &Connection) {
        let text = self.server.fill(text);
        self.given = None;
        match on {
            Connection::Http2 => {
                let origin = format!("http://127.0.0.1:{}", self.server.port);
                let fetched = curl::fetch(self.server, "--http2-prior-knowledge", &origin, &[request(&text)]);
                self.given = Some(fetched.map(|mut answers| answers.remove(0)));
                return;
            }
            Connection::Last if self.client.is_some() => {}
            Connection::To(port) => {
                let port = self.server.fill(port);
                let port = port.parse().unwrap_or_else(|_| panic!("`{port}` is not a port number"));
                self.client = Some(Client::connect(port));
            }
            _ => self.client = Some(self.server.connect()),
        }
        let client = self.client.as_mut().expect("a connection");
        // If the server has closed the connection, the response will be missing.
        let _ = client.try_send(wire(&text));
    }

    fn listen_again(&mut self, expected: &Expectation, line: usize) -> Option<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let wrong = self.listen(expected, line);
            let (Some((text, on)), true) = (self.last, wrong.is_some() && Instant::now() < until) else {
                return wrong;
            };
            sleep(Duration::from_millis(20));
            self.ask(text, on);
        }
    }

    fn listen(&mut self, expected: &Expectation, line: usize) -> Option<String> {
        let asked = self.last.map(|(text, _)| self.server.fill(text)).unwrap_or_default();
        let method = asked.split(' ').next().unwrap_or_default();
        let asked = asked.lines().next().unwrap_or_default();
        if let Some(given) = self.given.take() {
            let wrong = match given {
                Ok(answer) => wrong_with(&answer, &expected.judge(self.server, &answer)),
                Err(_) if !expected.expects_answer() => return None,
                Err(why) => Some(format!("  no answer: {why}")),
            };
            return wrong.map(|wrong| format!("line {line}: {asked}\n{wrong}"));
        }
        let Some(client) = self.client.as_mut() else {
            return Some(format!("line {line}: nothing was asked"));
        };
        if !expected.expects_answer() {
            let rest = client.some();
            let text = String::from_utf8_lossy(&rest);
            return (!rest.is_empty())
                .then(|| format!("line {line}: {asked}\n  expected no answer, found\n{text}"));
        }
        let answer = match client.try_answer(method) {
            Ok(answer) => answer,
            Err(error) => return Some(format!("line {line}: {asked}\n  no answer: {error}")),
        };
        let mut wrong = expected.judge(self.server, &answer);
        if wrong.is_empty() && expected.closes && !client.is_closed() {
            wrong.push("bytes follow the answer".to_owned());
        }
        wrong_with(&answer, &wrong).map(|wrong| format!("line {line}: {asked}\n{wrong}"))
    }
}

/// Returns the differences of a response and the response; `None` without differences.
fn wrong_with(answer: &Answer, wrong: &[String]) -> Option<String> {
    let all = wrong.iter().fold(String::new(), |all, wrong| all + "  " + wrong + "\n");
    (!wrong.is_empty()).then(|| format!("{all}  --- found\n{}", indented(&shown(answer))))
}

/// Parses a request of a method, a target, fields and a body.
fn request(text: &str) -> Request {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let (method, target) = lines.next().and_then(|line| line.split_once(' ')).expect("a method and a target");
    let request = match body {
        "" => Request::new(method, target),
        body => Request::post(target, body).by(method),
    };
    lines
        .filter_map(|line| line.split_once(':'))
        .fold(request, |request, (name, value)| request.field(name, value.trim()))
}

/// Returns the bytes of a request. A request without a version is completed by `HTTP/1.1`, `Host` and the length of its
/// body. In a chunked body, line breaks are converted to CRLF.
fn wire(text: &str) -> Vec<u8> {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let (line, fields) = head.split_once('\n').unwrap_or((head, ""));
    let mut bytes = line.to_owned();
    let has = |name: &str| fields.lines().any(|field| field.to_ascii_lowercase().starts_with(name));
    let short = line.split(' ').count() == 2;
    if short {
        bytes.push_str(" HTTP/1.1");
        if !has("host:") {
            bytes.push_str("\r\nHost: localhost");
        }
    }
    for field in fields.lines() {
        bytes.push_str("\r\n");
        bytes.push_str(field);
    }
    if short && !body.is_empty() && !has("content-length:") && !has("transfer-encoding:") {
        let _ = write!(bytes, "\r\nContent-Length: {}", body.len());
    }
    bytes.push_str("\r\n\r\n");
    if has("transfer-encoding:") {
        bytes.push_str(&body.replace('\n', "\r\n"));
        bytes.push_str("\r\n\r\n");
    } else {
        bytes.push_str(body);
    }
    bytes.into_bytes()
}

fn shown(answer: &Answer) -> String {
    let mut text = format!("{}\n", answer.status_line);
    for (name, value) in &answer.fields {
        let _ = writeln!(text, "{name}: {value}");
    }
    format!("{text}\n{}", answer.text())
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |all, line| all + "  | " + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_request_is_completed_and_a_raw_one_is_not() {
        let text = |text| String::from_utf8(wire(text)).expect("text");
        assert_eq!(text("GET /"), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(text("GET /\nhost: a\nB: c"), "GET / HTTP/1.1\r\nhost: a\r\nB: c\r\n\r\n");
        assert_eq!(
            text("POST /\n\nabc"),
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
        );
        assert_eq!(text("GET / HTTP/1.0"), "GET / HTTP/1.0\r\n\r\n");
        assert_eq!(text("POST / HTTP/1.1\nA: b\n\nabc"), "POST / HTTP/1.1\r\nA: b\r\n\r\nabc");
    }

    #[test]
    fn a_command_line_is_split_at_spaces_outside_of_quotes() {
        assert_eq!(words("/a -H 'Cookie: x' --method HEAD"), ["/a", "-H", "Cookie: x", "--method", "HEAD"]);
    }
}

//! curl as a client for TLS and for HTTP/2, which it implements with an independent library.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Answer, Place, Request};

/// Sends the requests in sequence on one connection to `origin` (`https://127.0.0.1:443`); `version` is curl's option
/// for the HTTP version. The error is the message of curl.
pub(crate) fn fetch(
    place: &Place,
    version: &str,
    origin: &str,
    requests: &[Request],
) -> Result<Vec<Answer>, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = place.path(&format!("curl-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut command = Command::new("curl");
    for (number, request) in requests.iter().enumerate() {
        if number > 0 {
            command.arg("--next");
        }
        command.arg(version);
        add(&mut command, origin, request, &folder, number);
    }
    let output = command.output().expect("curl runs");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let read = |number: usize, what: &str| {
        std::fs::read(folder.join(format!("{number}.{what}"))).unwrap_or_default()
    };
    let answers = requests.iter().enumerate().map(|(number, request)| {
        // For HEAD, curl writes the head as the body.
        let body = if request.method == "HEAD" { Vec::new() } else { read(number, "body") };
        answer(&read(number, "head"), body)
    });
    let answers = answers.collect();
    let _ = std::fs::remove_dir_all(&folder);
    Ok(answers)
}

/// Adds the options of curl for one request, without curl's default header fields.
fn add(command: &mut Command, origin: &str, request: &Request, folder: &Path, number: usize) {
    let path = |what: &str| folder.join(format!("{number}.{what}"));
    command.args(["-sSk", "--noproxy", "*", "--max-time", "20", "--path-as-is", "--raw"]);
    command.arg("-D").arg(path("head")).arg("-o").arg(path("body"));
    for silent in ["User-Agent", "Accept", "Expect", "Content-Type"] {
        if !request.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(silent)) {
            command.args(["-H", &format!("{silent}:")]);
        }
    }
    if !request.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        command.args(["-H", "Host: localhost"]);
    }
    for (name, value) in &request.fields {
        let field = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
        command.args(["-H", &field]);
    }
    if request.method == "HEAD" {
        command.arg("-I");
    } else {
        command.args(["-X", &request.method]);
    }
    if let Some(body) = &request.body {
        std::fs::write(path("sent"), body).expect("a body");
        command.arg("--data-binary").arg(format!("@{}", path("sent").display()));
    }
    command.arg(format!("{origin}{}", request.target));
}

/// Parses a response from the files of curl: heads of interim responses precede the final head, trailers follow its
/// fields. In HTTP/1.1 `--raw` preserves chunks.
fn answer(head: &[u8], body: Vec<u8>) -> Answer {
    let text = String::from_utf8_lossy(head);
    let mut answer = Answer { status: 0, status_line: String::new(), fields: Vec::new(), body };
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with("HTTP/") {
            answer.status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
            line.clone_into(&mut answer.status_line);
            answer.fields.clear();
        } else if let Some((name, value)) = line.split_once(':') {
            answer.fields.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    if answer.field("Transfer-Encoding").is_some() {
        answer.body = joined(&answer.body, &mut answer.fields);
    }
    answer
}

/// Decodes a chunked body; trailers are added to the fields.
fn joined(mut raw: &[u8], fields: &mut Vec<(String, String)>) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let Some(end) = raw.iter().position(|byte| *byte == b'\n') else { return body };
        let size = String::from_utf8_lossy(&raw[..end]).trim().to_owned();
        raw = &raw[end + 1..];
        let size = usize::from_str_radix(&size, 16).expect("the size of a chunk");
        if size == 0 {
            break;
        }
        body.extend_from_slice(&raw[..size]);
        raw = &raw[size + 2..];
    }
    for line in String::from_utf8_lossy(raw).lines() {
        if let Some((name, value)) = line.split_once(':') {
            fields.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    body
}

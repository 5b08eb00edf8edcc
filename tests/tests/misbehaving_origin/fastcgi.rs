//! FastCGI applications.

use myriad_tests::{Wire, WireCall};

use super::{Behaviour, Seen, Site};

use Seen::{Broken, Cut, Status, Whole};

const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;

/// Id of the server's only request on a connection.
const ID: u16 = 1;

fn record(kind: u8, id: u16, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let length = u16::try_from(content.len()).expect("a record").to_be_bytes();
    let id = id.to_be_bytes();
    [&[1, kind, id[0], id[1], length[0], length[1], 0, 0], content].concat()
}

fn stdout(content: impl AsRef<[u8]>) -> Vec<u8> {
    content.as_ref().chunks(65_000).flat_map(|piece| record(STDOUT, ID, piece)).collect()
}

/// Returns the record that completes the request, with the protocol status.
fn end(status: u8) -> Vec<u8> {
    record(END_REQUEST, ID, [0, 0, 0, 0, status, 0, 0, 0])
}

const HEAD: &str = "Content-Type: text/plain\r\n\r\n";

fn page(text: &str) -> Vec<u8> {
    stdout(format!("{HEAD}{text}"))
}

/// Data that the application sends: repeatedly until the server closes, or once.
enum Says {
    Once(Vec<u8>),
    Endlessly(Vec<u8>),
}

use Says::{Endlessly, Once};

/// Returns the requested path; `None` if the connection closes.
fn request(call: &mut WireCall) -> Option<String> {
    let mut params = Vec::new();
    loop {
        while call.buffer.len() < 8 {
            call.fill()?;
        }
        let length = usize::from(u16::from_be_bytes([call.buffer[4], call.buffer[5]]));
        let whole = 8 + length + usize::from(call.buffer[6]);
        while call.buffer.len() < whole {
            call.fill()?;
        }
        let record: Vec<u8> = call.buffer.drain(..whole).collect();
        params.extend(&record[8..8 + length]);
        if record[1] == STDIN && length == 0 {
            break;
        }
    }
    // Name and value are short: each length is one byte, before both.
    let name = b"REQUEST_URI";
    let at = params.windows(name.len()).position(|bytes| bytes == name).expect("a parameter");
    let value = at + name.len();
    Some(String::from_utf8_lossy(&params[value + 1..value + usize::from(params[at - 1])]).into_owned())
}

/// Runs each case: the page, the data of the application, whether it then closes the connection, and the expected
/// result.
fn each(cases: Vec<(&'static str, Says, bool, Seen)>) {
    let expected: Vec<_> = cases.iter().map(|(name, _, _, seen)| (*name, *seen)).collect();
    let behaviour = Behaviour::default();
    let told = behaviour.clone();
    let wire = Wire::start(move |call| {
        let mut spoiled_by = None;
        while let Some(name) = request(call) {
            if let Some(by) = spoiled_by {
                told.carried_more(format!("{by}, then {name}"));
            }
            let case = cases.iter().find(|(known, ..)| *known == name);
            let Some((known, says, closes, _)) = case.filter(|_| told.spoils(&name)) else {
                call.say([page("well"), end(0)].concat());
                continue;
            };
            match says {
                Once(bytes) => drop(call.say(bytes)),
                Endlessly(bytes) => while call.say(bytes) {},
            }
            if *closes {
                return;
            }
            spoiled_by = Some(*known);
        }
    });
    let pass = format!("fastcgi_keep_conn on; fastcgi_pass {};", wire.address);
    let site = Site::start("fastcgi", &pass);
    for (name, seen) in expected {
        site.visit(name, seen, &behaviour);
    }
}

#[test]
fn truncated_or_stalled_response_is_reported() {
    let half = &page("evil")[..12];
    let length = stdout("Content-Length: 100\r\nContent-Type: text/plain\r\n\r\nthe beginning");
    each(vec![
        ("nothing", Once(Vec::new()), true, Status(502)),
        ("half-record", Once(half.to_vec()), true, Status(502)),
        ("half-head", Once(stdout("Content-Ty")), true, Status(502)),
        ("stalled", Once(Vec::new()), false, Status(504)),
        ("half-record-stalled", Once(half.to_vec()), false, Status(504)),
        ("half-head-stalled", Once(stdout("Content-Ty")), false, Status(504)),
        ("no-end", Once(page("the beginning")), true, Broken),
        ("no-end-stalled", Once(page("the beginning")), false, Cut),
        ("short", Once([length.clone(), end(0)].concat()), false, Broken),
        ("short-closed", Once(length), true, Broken),
    ]);
}

#[test]
fn what_is_no_answer_is_a_502() {
    let other_version = [&[9][..], &page("evil")[1..]].concat();
    let fields = format!("X-Long: {}\r\n", "x".repeat(1000)).repeat(1000);
    each(vec![
        ("words", Once(b"evil words that are no records".to_vec()), false, Status(502)),
        ("version", Once(other_version), false, Status(502)),
        ("other-number", Once(record(STDOUT, 9, format!("{HEAD}evil"))), false, Status(502)),
        ("no-number", Once(record(STDOUT, 0, format!("{HEAD}evil"))), false, Status(502)),
        ("unknown-record", Once(record(77, ID, "evil")), false, Status(502)),
        ("a-server-s-record", Once(record(BEGIN_REQUEST, ID, [0; 8])), false, Status(502)),
        ("short-end", Once(record(END_REQUEST, ID, [0; 3])), false, Status(502)),
        ("end-alone", Once(end(0)), false, Status(502)),
        ("cannot-multiplex", Once(end(1)), false, Status(502)),
        ("overloaded", Once(end(2)), false, Status(502)),
        ("unknown-role", Once(end(3)), false, Status(502)),
        ("status-of-words", Once([stdout("Status: evil\r\n\r\n"), end(0)].concat()), false, Status(502)),
        ("no-field", Once([stdout("evil words\r\n\r\n"), end(0)].concat()), false, Status(502)),
        ("megabyte-head", Once([stdout(format!("{fields}{HEAD}evil")), end(0)].concat()), false, Status(502)),
    ]);
}

#[test]
fn floods_end_the_connection() {
    each(vec![
        ("empty-records", Endlessly(record(STDOUT, ID, "").repeat(100)), false, Status(502)),
        ("management-records", Endlessly(record(10, 0, "evil").repeat(100)), false, Status(502)),
        ("messages", Endlessly(record(STDERR, ID, "x".repeat(60_000))), false, Status(502)),
        ("head", Endlessly(stdout("X-Evil: evil\r\n").repeat(100)), false, Status(502)),
    ]);
}

#[test]
fn data_after_response_reaches_no_client() {
    let well = [page("good"), end(0)].concat();
    let behind = |more: Vec<u8>| Once([well.clone(), more].concat());
    each(vec![
        ("second-end", behind(end(0)), false, Whole(200, "good")),
        ("second-answer", behind([page("evil"), end(0)].concat()), false, Whole(200, "good")),
        ("half-record-behind", behind(page("evil")[..5].to_vec()), false, Whole(200, "good")),
        (
            "longer",
            Once([stdout("Content-Length: 4\r\nContent-Type: text/plain\r\n\r\ngoodevil"), end(0)].concat()),
            true,
            Whole(200, "good"),
        ),
    ]);
}

//! `ssl_stapling`, with the responder of OpenSSL.
//!
//! covers: ssl_stapling ssl_stapling_responder ssl_stapling_verify

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use myriad_tests::{OcspResponder, Place, Server, wait_for, wait_patiently_for};

/// Script that creates an authority, a certificate `leaf` with its responder, and a certificate `responder` that is
/// authorized to sign responses.
const AUTHORITY: &str = r#"
set -e
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
sign() {
    key "$1"; openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"; printf '%b' "$3" > "$1.ext"
    openssl x509 -req -in "$1.csr" -CA root.crt -CAkey root.key -set_serial "$2" -days 2 -extfile "$1.ext" -out "$1.crt"
}
key root
openssl req -x509 -new -key root.key -subj /CN=root -days 2 -out root.crt
sign leaf 16 "authorityInfoAccess=OCSP;URI:http://localhost:$1/\n"
sign responder 17 'extendedKeyUsage=OCSPSigning\n'
sign other 18 'basicConstraints=CA:FALSE\n'
cat leaf.crt root.crt > chain.crt
printf 'V\t960101000000Z\t\t10\tunknown\t/CN=leaf\n' > good
printf 'R\t960101000000Z\t260101000000Z\t10\tunknown\t/CN=leaf\n' > revoked
"#;

fn place() -> Place {
    let mut place = Place::new();
    let port = Place::new().port;
    place.set("OCSP", &port.to_string());
    let made = Command::new("sh")
        .args(["-c", AUTHORITY, "sh", &port.to_string()])
        .current_dir(place.folder())
        .output()
        .expect("sh runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    place
}

fn config(lines: &str) -> String {
    format!(
        "server {{ listen 127.0.0.1:@PORT@ ssl; ssl_certificate chain.crt; ssl_certificate_key leaf.key; \
         ssl_stapling on; {lines} return 200 served; }}"
    )
}

/// Returns the stapled status as printed by OpenSSL; the handshake must succeed in any case.
fn status(server: &Server) -> String {
    let output = Command::new("openssl")
        .args(["s_client", "-status", "-connect", &format!("127.0.0.1:{}", server.port), "-CAfile"])
        .arg(server.path("root.crt"))
        .stdin(Stdio::null())
        .output()
        .expect("openssl runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
    said
}

const GOOD: &str = "Cert Status: good";
const NOTHING: &str = "OCSP response: no response sent";

#[test]
fn answers_are_fetched_proved_and_shown_and_hold_over_a_reload() {
    let place = place();
    let responder = OcspResponder::start(&place, "@OCSP@", "good", "responder");
    let server = Server::start(place, &config("ssl_stapling_verify on;"));
    wait_for("the answer", || status(&server).contains(GOOD));
    // The responder is not queried again while the response is fresh.
    drop(responder);
    server.reload(&config("ssl_stapling_verify on; add_header X-New 1;"));
    server.log_has("the new configuration is in effect");
    assert!(status(&server).contains(GOOD));
    assert!(!server.read("error.log").contains("OCSP"), "{}", server.read("error.log"));
}

#[test]
fn a_responder_that_comes_later_is_asked_again_and_handshakes_do_not_wait_for_it() {
    let server = Server::start(place(), &config(""));
    server.log_has("OCSP responder failed");
    assert!(status(&server).contains(NOTHING));
    let _responder = OcspResponder::start(&server, "@OCSP@", "good", "root");
    // The pauses between failed queries are 0.2, 1, 5 and 30 seconds.
    wait_patiently_for("the answer", Duration::from_secs(90), || status(&server).contains(GOOD));
}

#[test]
fn answers_that_prove_nothing_are_not_shown() {
    for (index, signer, lines, why) in [
        ("revoked", "root", "", "certificate status \"revoked\" in the OCSP response"),
        ("/dev/null", "root", "", "certificate status \"unknown\" in the OCSP response"),
        ("good", "other", "ssl_stapling_verify on;", "is not authorized by the issuer"),
    ] {
        let place = place();
        let _responder = OcspResponder::start(&place, "@OCSP@", index, signer);
        let server = Server::start(place, &config(lines));
        server.log_has(why);
        server.log_has("while requesting certificate status, responder: http://localhost:");
        assert!(status(&server).contains(NOTHING), "{why}");
    }
}

/// Starts a responder that answers every query with the same bytes.
fn answering(place: &mut Place, answer: Vec<u8>) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    place.set("OTHER", &socket.local_addr().expect("an address").port().to_string());
    std::thread::spawn(move || {
        while let Ok((mut client, _)) = socket.accept() {
            let _ = client.read(&mut [0; 4096]).and_then(|_| client.write_all(&answer));
        }
    });
}

fn answered(der: &[u8]) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/ocsp-response\r\nContent-Length:";
    [format!("{head} {}\r\n\r\n", der.len()).as_bytes(), der].concat()
}

/// Returns the response of the authority for `leaf` in DER, and stores it in `answer.der`; `ends` sets its expiry.
fn signed_answer(place: &Place, ends: &[&str]) -> Vec<u8> {
    signed_answer_by(place, "-sha1", ends)
}

/// Returns a response that identifies the certificate by hashes of this kind.
fn signed_answer_by(place: &Place, hash: &str, ends: &[&str]) -> Vec<u8> {
    let asks =
        ["ocsp", hash, "-issuer", "root.crt", "-cert", "leaf.crt", "-no_nonce", "-reqout", "asked.der"];
    let signs = ["ocsp", "-index", "good", "-CA", "root.crt", "-rsigner", "root.crt", "-rkey", "root.key"];
    let out = ["-reqin", "asked.der", "-respout", "answer.der", "-resp_no_certs"];
    for arguments in [asks.to_vec(), [&signs[..], &out, ends].concat()] {
        let output = Command::new("openssl").args(&arguments).current_dir(place.folder()).output();
        let output = output.expect("openssl runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::read(place.path("answer.der")).expect("an answer")
}

/// Encodes a DER value.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = (content.len() as u32).to_be_bytes();
    [&[tag, 0x84][..], &length, &content].concat()
}

/// Returns the values inside a constructed value.
fn inside(value: &[u8]) -> Vec<&[u8]> {
    let head = |value: &[u8]| {
        let count = usize::from(value[1] & 0x7f);
        let digits = if value[1] < 0x80 { &value[1..2] } else { &value[2..2 + count] };
        let length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
        (if value[1] < 0x80 { 2 } else { 2 + count }, length)
    };
    let mut rest = &value[head(value).0..];
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (start, length) = head(rest);
        let (part, behind) = rest.split_at(start + length);
        parts.push(part);
        rest = behind;
    }
    parts
}

/// Returns a response with an appended certificate, which is not covered by the signature.
fn beside(answer: &[u8], certificate: &[u8]) -> Vec<u8> {
    let bytes = inside(inside(answer)[1])[0];
    let (kind, octets) = (inside(bytes)[0], inside(bytes)[1]);
    // The octets contain one value: signed data, algorithm and signature.
    let basic = inside(inside(octets)[0]).concat();
    let list = der(0xa0, &[&der(0x30, &[certificate])]);
    let basic = der(0x04, &[&der(0x30, &[&basic, &list])]);
    der(0x30, &[&[0x0a, 1, 0], &der(0xa0, &[&der(0x30, &[kind, &basic])])])
}

#[test]
fn an_answer_that_was_padded_on_its_way_is_not_shown() {
    let made = "openssl x509 -in root.crt -outform DER -out root.der";
    let started = |certificate: &dyn Fn(&Place) -> Vec<u8>| {
        let mut place = place();
        let answer = signed_answer(&place, &["-ndays", "1"]);
        let answer = beside(&answer, &certificate(&place));
        answering(&mut place, answered(&answer));
        Server::start(place, &config("ssl_stapling_responder http://127.0.0.1:@OTHER@/;"))
    };
    let server = started(&|place| {
        Command::new("sh").args(["-c", made]).current_dir(place.folder()).status().expect("sh runs");
        std::fs::read(place.path("root.der")).expect("a certificate")
    });
    wait_for("the answer", || status(&server).contains(GOOD));
    for (length, why) in [
        (200, "the OCSP response cannot be parsed"),
        (15_000, "the OCSP response cannot be parsed"),
        (100_000, "according to its Content-Length"),
    ] {
        let server = started(&|_| der(0x30, &[&vec![0x41; length]]));
        server.log_has(why);
        assert!(status(&server).contains(NOTHING), "{length}");
    }
}

#[test]
fn expired_ocsp_response_is_logged_and_not_stapled() {
    let mut place = place();
    let answer = joined(&place, &[over(&place)]);
    answering(&mut place, answered(&answer));
    let server = Server::start(place, &config("ssl_stapling_responder http://127.0.0.1:@OTHER@/;"));
    server.log_has("the OCSP response has expired");
    assert!(status(&server).contains(NOTHING));
}

/// Returns an expired response with an invalid signature: it expires in the second in which it was created.
fn over(place: &Place) -> Vec<u8> {
    let mut answer = signed_answer(place, &["-nmin", "1"]);
    let times: Vec<usize> = (0..answer.len()).filter(|at| answer[*at..].starts_with(b"\x18\x0f20")).collect();
    let [_made, this, next] = times[..] else { panic!("three dates expected, not {times:?}") };
    answer.copy_within(this..this + 17, next);
    std::thread::sleep(std::time::Duration::from_secs(2));
    answer
}

/// Returns a response with the contents of these responses, signed again by the authority.
fn joined(place: &Place, answers: &[Vec<u8>]) -> Vec<u8> {
    let basics: Vec<Vec<u8>> =
        answers.iter().map(|answer| inside(inside(inside(answer)[1])[0])[1].to_vec()).collect();
    let signed: Vec<&[u8]> = basics.iter().map(|basic| inside(inside(basic)[0])[0]).collect();
    // Responder, creation time, responses.
    let parts = inside(signed[0]);
    let list: Vec<&[u8]> = signed.iter().map(|signed| inside(inside(signed)[2])[0]).collect();
    let message = der(0x30, &[parts[0], parts[1], &der(0x30, &list)]);
    place.write("message", &message);
    let signs = ["dgst", "-sha256", "-sign", "root.key", "message"];
    let output = Command::new("openssl").args(signs).current_dir(place.folder()).output();
    let signature = der(0x03, &[&[0], &output.expect("openssl runs").stdout]);
    let algorithm = inside(inside(&basics[0])[0])[1];
    let basic = der(0x04, &[&der(0x30, &[&message, algorithm, &signature])]);
    let kind = inside(inside(inside(&answers[0])[1])[0])[0];
    der(0x30, &[&[0x0a, 1, 0], &der(0xa0, &[&der(0x30, &[kind, &basic])])])
}

#[test]
fn a_certificate_is_known_by_either_hash_and_the_answer_that_holds_now_counts() {
    let mut place = place();
    let over = over(&place);
    let good = signed_answer_by(&place, "-sha256", &["-ndays", "1"]);
    let both = joined(&place, &[over, good]);
    answering(&mut place, answered(&both));
    let lines = "ssl_stapling_verify on; ssl_stapling_responder http://127.0.0.1:@OTHER@/;";
    let server = Server::start(place, &config(lines));
    wait_for("the answer", || status(&server).contains(GOOD));
    assert!(!server.read("error.log").contains("OCSP"), "{}", server.read("error.log"));
}

#[test]
fn the_answer_of_a_file_is_looked_at_before_it_is_shown() {
    let place = place();
    signed_answer(&place, &["-ndays", "1"]);
    std::fs::write(place.path("junk.der"), vec![0x30; 100_000]).expect("a file");
    std::fs::write(place.path("later.der"), b"\x30\x03\x0a\x01\x03").expect("a file");
    let server = Server::start(place, &config("ssl_stapling_file answer.der;"));
    assert!(status(&server).contains(GOOD));
    for (file, why) in [
        ("junk.der", "the OCSP response is larger than clients accept"),
        ("later.der", "OCSP response not successful (3: try later)"),
        ("leaf.crt", "the OCSP response cannot be parsed"),
    ] {
        let before = server.read("error.log").len();
        server.reload(&config(&format!("ssl_stapling_file {file};")));
        let told = format!("cannot use \"{file}\": {why}");
        wait_for("the refusal", || server.read("error.log")[before..].contains(&told));
        let tested = server.test_configuration();
        let said = String::from_utf8_lossy(&tested.stderr).into_owned();
        assert!(!tested.status.success() && said.contains(&told), "{said}");
        assert!(said.contains("ssl_stapling_file"), "{said}");
        assert!(status(&server).contains(GOOD), "the old configuration remains in use");
    }
}

#[test]
fn malformed_responder_output_is_logged_and_other_responder_is_configurable() {
    let large =
        [b"HTTP/1.1 200 OK\r\nContent-Type: application/ocsp-response\r\n\r\n".to_vec(), vec![0x30; 2 << 20]]
            .concat();
    for (answer, why) in [
        (b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec(), "it responded with status 500"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nno".to_vec(),
            "invalid \"Content-Type\" header: \"text/html\"",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/ocsp-response\r\n\r\n0000".to_vec(),
            "the OCSP response cannot be parsed",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/ocsp-response\r\n\r\n\x30\x03\x0a\x01\x03"
                .to_vec(),
            "OCSP response not successful (3: try later)",
        ),
        (large, "the response is too large"),
        (answered(&vec![0x30; 20_000]), "according to its Content-Length"),
    ] {
        let mut place = place();
        answering(&mut place, answer);
        let server = Server::start(place, &config("ssl_stapling_responder http://127.0.0.1:@OTHER@/path;"));
        server.log_has(why);
        assert!(status(&server).contains(NOTHING), "{why}");
    }
}

#[test]
fn certificates_without_usable_responder_are_warned_about() {
    let said = |certificate: &str, lines: &str| {
        let place = place();
        let http = config(lines)
            .replace("chain.crt", certificate)
            .replace("leaf.key", &certificate.replace("crt", "key"));
        let http = http.replace("chain.key", "leaf.key");
        let server = Server::start(place, &http);
        let tested = server.test_configuration();
        assert!(tested.status.success());
        String::from_utf8_lossy(&tested.stderr).into_owned()
    };
    let alone = said("leaf.crt", "");
    assert!(alone.contains("[warn] \"ssl_stapling\" ignored, no issuer certificate"), "{alone}");
    assert!(alone.contains("ssl_certificate leaf.crt"), "{alone}");
    assert!(!said("leaf.crt", "ssl_trusted_certificate root.crt;").contains("ignored"));
    let silent = said("other.crt", "ssl_trusted_certificate root.crt;");
    assert!(
        silent.contains("ignored, no OCSP responder URL is in the certificate \"other.crt\""),
        "{silent}"
    );
    let secure = said("chain.crt", "ssl_stapling_responder https://ocsp.test/;");
    assert!(secure.contains("must begin with http://, but is \"https://ocsp.test/\""), "{secure}");
    assert!(!said("chain.crt", "").contains("ignored"));
}

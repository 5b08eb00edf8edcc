//! Verification of upstream certificates over TLS connections, compared with the verification by OpenSSL.
//!
//! covers: proxy_ssl_verify proxy_ssl_verify_depth proxy_ssl_trusted_certificate proxy_ssl_crl proxy_ssl_name

use std::process::{Command, Stdio};

use myriad_tests::{Place, Server};

/// Script that creates authorities, server certificates and revocation lists.
const AUTHORITIES: &str = r#"
set -e
sign() { # NAME ISSUER DAYS EXTENSIONS
    openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
    openssl req -new -key "$1.key" -subj "/CN=$1.test" -out "$1.csr"
    if [ "$2" = self ]; then by="-signkey $1.key"
    else serial=$((${serial:-15} + 1)); by="-CA $2.crt -CAkey $2.key -set_serial $serial"; fi
    printf '%b' "$4" > "$1.ext"
    # Without extensions the certificate has version 1.
    [ -z "$4" ] || by="$by -extfile $1.ext"
    # shellcheck disable=SC2086
    openssl x509 -req -in "$1.csr" $by -days "$3" -out "$1.crt"
}
chain() { one=$1; shift; for above; do cat "$above.crt" >> "$one.crt"; done; }
ca='basicConstraints=critical,CA:TRUE'
sign root self 2 "$ca\n"
sign middle root 2 "$ca\n"
sign good middle 2 'subjectAltName=DNS:good.test,DNS:*.good.test,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n'
sign bare middle 2 'subjectAltName=DNS:bare.test\n'
sign expired middle -1 'subjectAltName=DNS:expired.test\n'
sign client middle 2 'subjectAltName=DNS:client.test\nextendedKeyUsage=clientAuth\n'
sign revoked middle 2 'subjectAltName=DNS:revoked.test\n'
sign version1 root 2 ''
sign narrow root 2 "$ca\nnameConstraints=critical,permitted;DNS:in.test,excluded;DNS:not.in.test\n"
sign inside narrow 2 'subjectAltName=DNS:a.in.test\n'
sign outside narrow 2 'subjectAltName=DNS:a.out.test\n'
sign excluded narrow 2 'subjectAltName=DNS:not.in.test\n'
sign stale self -1 "$ca\n"
sign ofstale stale 2 'subjectAltName=DNS:ofstale.test\n'
sign short self 2 "$ca,pathlen:0\n"
sign below short 2 "$ca\n"
sign deep below 2 'subjectAltName=DNS:deep.test\n'
sign alone self 2 "$ca\nsubjectAltName=DNS:alone.test\n"
sign alone1 self 2 ''
sign usurper good 2 'subjectAltName=DNS:usurper.test\n'
sign lower middle 2 "$ca\n"
sign low lower 2 'subjectAltName=DNS:low.test\n'
for one in good expired client revoked; do chain "$one" middle; done
for one in inside outside excluded; do chain "$one" narrow; done
chain deep below
chain low lower middle
chain usurper good
list() { # NAME ISSUER CRLNUMBER OPTIONS [REVOKED]
    printf '[ca]\ndefault_ca=c\n[c]\ndatabase=%s.index\ndefault_md=sha256\n%s\n' "$1" "$3" > "$1.cnf"
    : > "$1.index"; echo 01 > "$1.number"
    by="-config $1.cnf -keyfile $2.key -cert $2.crt"
    # shellcheck disable=SC2086
    { [ -z "$5" ] || openssl ca $by -revoke "$5.crt"; openssl ca $by -gencrl $4 -out "$1.crl"; }
}
list root root crlnumber=root.number '-crldays 2'
list root1 root '' '-crldays 2'
list middle middle crlnumber=middle.number '-crldays 2' revoked
list lapsed middle crlnumber=lapsed.number '-crl_lastupdate 200101000000Z -crl_nextupdate 210101000000Z'
"#;

/// Server certificate, what the proxy trusts, and the result of the verification.
struct Case {
    /// Certificate of the server, with the chain that it sends.
    shown: &'static str,
    /// Trusted certificates.
    trusted: &'static [&'static str],
    /// Revocation lists.
    lists: &'static [&'static str],
    depth: u32,
    /// Value of `proxy_ssl_name`.
    name: &'static str,
    /// OpenSSL's error number; 0 if the certificate is trusted.
    code: u32,
    /// Set if the certificate is trusted but has another name.
    has_other_name: bool,
}

/// Returns a case without revocation lists, with the default depth.
const fn case(shown: &'static str, trusted: &'static [&'static str], name: &'static str, code: u32) -> Case {
    Case { shown, trusted, lists: &[], depth: 1, name, code, has_other_name: false }
}

impl Case {
    const fn with_lists(mut self, lists: &'static [&'static str]) -> Self {
        self.lists = lists;
        self
    }

    const fn with_depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }

    const fn with_other_name(mut self) -> Self {
        self.has_other_name = true;
        self
    }
}

const BOTH_LISTS: &[&str] = &["root", "middle"];

const CASES: [Case; 36] = [
    // Trusted chains and their names.
    case("good", &["root"], "good.test", 0),
    case("good", &["root"], "a.good.test", 0),
    case("good", &["root"], "127.0.0.1", 0),
    case("good", &["root"], "other.test", 0).with_other_name(),
    case("good", &["root"], "127.0.0.2", 0).with_other_name(),
    case("bare", &["root", "middle"], "bare.test", 0),
    case("inside", &["root"], "a.in.test", 0),
    // Certificates that only nginx and OpenSSL accept.
    case("version1", &["root"], "version1.test", 0),
    case("version1", &["root"], "other.test", 0).with_other_name(),
    case("version1", &["root"], "version1.test", 0).with_lists(&["root1"]),
    case("alone", &["alone"], "alone.test", 0).with_depth(0),
    case("alone1", &["alone1"], "alone1.test", 0).with_depth(0),
    // Unknown authorities.
    case("good", &["alone"], "good.test", 20),
    case("bare", &["root"], "bare.test", 21),
    case("bare", &["middle"], "bare.test", 2),
    case("alone", &["root"], "alone.test", 18),
    // The issuers of a trusted authority must be trusted too, even if the server sends them.
    case("low", &["root"], "low.test", 0).with_depth(2),
    case("low", &["root", "lower"], "low.test", 2).with_depth(2),
    case("low", &["root", "lower", "middle"], "low.test", 0).with_depth(2),
    // Dates, of the root too.
    case("expired", &["root"], "expired.test", 10),
    case("ofstale", &["stale"], "ofstale.test", 10),
    // Purpose, length and names.
    case("client", &["root"], "client.test", 26),
    case("usurper", &["root", "middle"], "usurper.test", 26).with_depth(2),
    case("good", &["root"], "good.test", 20).with_depth(0),
    case("good", &["root", "middle"], "good.test", 2).with_depth(0),
    case("bare", &["root", "middle"], "bare.test", 2).with_depth(0),
    case("deep", &["short"], "deep.test", 25),
    case("outside", &["root"], "a.out.test", 47),
    case("excluded", &["root"], "not.in.test", 48),
    // Revocation lists: each authority must have one.
    case("good", &["root"], "good.test", 0).with_lists(BOTH_LISTS),
    case("good", &["root"], "good.test", 0).with_lists(&["root1", "middle"]),
    case("revoked", &["root"], "revoked.test", 0),
    case("revoked", &["root"], "revoked.test", 23).with_lists(BOTH_LISTS),
    case("good", &["root"], "good.test", 3).with_lists(&["root"]),
    case("good", &["root"], "good.test", 3).with_lists(&["middle"]),
    case("good", &["root"], "good.test", 12).with_lists(&["root", "lapsed"]),
];

fn place() -> Place {
    let place = Place::new();
    let made = Command::new("sh").args(["-c", AUTHORITIES]).current_dir(place.folder()).output();
    let made = made.expect("sh runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for (number, case) in CASES.iter().enumerate() {
        let together = |names: &[&str], end: &str| {
            names.iter().map(|name| place.read(&format!("{name}.{end}"))).collect::<String>()
        };
        place.write(&format!("trust-{number}.pem"), together(case.trusted, "crt"));
        place.write(&format!("lists-{number}.pem"), together(case.lists, "crl"));
    }
    place
}

/// Returns servers that listen on a socket each, and a server with a location for each case.
fn config() -> String {
    let mut shown: Vec<_> = CASES.iter().map(|case| case.shown).collect();
    shown.sort_unstable();
    shown.dedup();
    let servers = shown.iter().map(|name| {
        format!(
            "server {{ listen unix:@DIR@/{name}.sock ssl; ssl_certificate {name}.crt; \
             ssl_certificate_key {name}.key; return 200 served; }}"
        )
    });
    let locations = CASES.iter().enumerate().map(|(number, case)| {
        let lists =
            if case.lists.is_empty() { String::new() } else { format!("proxy_ssl_crl lists-{number}.pem;") };
        format!(
            "location = /{number} {{ proxy_pass https://unix:@DIR@/{}.sock; proxy_ssl_name {}; \
             proxy_ssl_verify_depth {}; proxy_ssl_trusted_certificate trust-{number}.pem; {lists} }}",
            case.shown, case.name, case.depth
        )
    });
    let (servers, locations) = (servers.collect::<String>(), locations.collect::<String>());
    format!("{servers} server {{ listen 127.0.0.1:@PORT@; proxy_ssl_verify on; {locations} }}")
}

/// Returns number and text of OpenSSL's result, as in nginx's error log. Like nginx, `s_client` continues after
/// errors, so that the result is the last one. It reads revocation lists from the file of authorities.
fn openssl_result(server: &Server, number: usize, case: &Case) -> String {
    let trusted = [server.read(&format!("trust-{number}.pem")), server.read(&format!("lists-{number}.pem"))];
    server.write(&format!("openssl-{number}.pem"), trusted.concat());
    let mut client = Command::new("openssl");
    client.args(["s_client", "-unix", &format!("{}.sock", case.shown), "-CAfile"]);
    client.args([&format!("openssl-{number}.pem"), "-verify_depth", &case.depth.to_string()]);
    if !case.lists.is_empty() {
        client.args(["-crl_check", "-crl_check_all"]);
    }
    let output = client.current_dir(server.folder()).stdin(Stdio::null()).output().expect("openssl runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, after) = said.split_once("Verify return code: ").expect("a result");
    let (code, text) = after.lines().next().and_then(|line| line.split_once(" (")).expect("two parts");
    format!("{code}:{}", text.trim_end_matches(')'))
}

/// Returns the error message for a case; `None` if the certificate is trusted and has the name.
fn expected_message(server: &Server, number: usize, case: &Case) -> Option<String> {
    let result = openssl_result(server, number, case);
    assert_eq!(result.split(':').next(), Some(&*case.code.to_string()), "OpenSSL: {number} {}", case.shown);
    if case.code != 0 {
        return Some(format!("upstream SSL certificate verify error: ({result})"));
    }
    case.has_other_name.then(|| format!("upstream SSL certificate does not match \"{}\"", case.name))
}

#[test]
fn verification_has_the_result_and_the_error_message_of_openssl() {
    let server = Server::start(place(), &config());
    for (number, case) in CASES.iter().enumerate() {
        let what = format!("{number}: {} trusting {:?} {:?}", case.shown, case.trusted, case.lists);
        let expected = expected_message(&server, number, case);
        let answer = server.get(&format!("/{number}"));
        let Some(message) = expected else {
            assert_eq!((answer.status, answer.text().as_str()), (200, "served"), "{what}");
            continue;
        };
        assert_eq!(answer.status, 502, "{what}");
        let request = format!("\"GET /{number} HTTP/1.1\"");
        server.log_has(&request);
        let log = server.read("error.log");
        let line = log.lines().find(|line| line.contains(&request)).unwrap_or_default();
        assert!(line.contains(&message), "{what}: {message:?} is not in {line}");
    }
}

//! Tests of errors in `health_check` and `match`.

use std::collections::HashMap;
use std::path::Path;

use myriad_conf::{Diagnostic, MemoryLoader, survey};

const GROUP: &str = "upstream g { server 127.0.0.1:1; }";

/// Returns the error message of a configuration with these directives in `http` and in a location with an upstream
/// group.
fn refused(http: &str, location: &str) -> String {
    let file = Path::new("/nowhere/nginx.conf");
    let text = format!("events {{}} http {{ {GROUP} {http} server {{ location / {{ {location} }} }} }}");
    let loader = MemoryLoader::with(file, &*text);
    let registry = myriad_serve::registry();
    let survey = survey(&registry.parse(&loader, file, b""), registry);
    let mut findings = survey.findings;
    if let Err(errors) = myriad_serve::check(&survey.model, Path::new("/nowhere"), &HashMap::new()) {
        findings.extend(errors);
    }
    let describe = |finding: &Diagnostic| format!("{}: {}", finding.message, finding.help.join(" "));
    findings.iter().map(describe).collect::<Vec<_>>().join("; ")
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (http, location, part) in [
        ("", "health_check;", "has no servers to check"),
        ("", "proxy_pass http://$host; health_check;", "has no servers to check"),
        ("", "proxy_pass http://g; health_check match=m;", "no \"match\" block is named \"m\""),
        ("", "proxy_pass http://g; health_check fails=0;", "more than 0"),
        ("", "proxy_pass http://g; health_check port=70000;", "a port"),
        ("", "proxy_pass http://g; health_check uri=x;", "uri=/PATH"),
        ("", "proxy_pass http://g; health_check persistent;", "requires \"mandatory\""),
        ("", "proxy_pass http://g; health_check type=grpc;", "use it with grpc_pass"),
        ("", "grpc_pass g; health_check;", "add type=grpc"),
        ("", "grpc_pass g; health_check type=http;", "type=grpc, followed by"),
        ("", "grpc_pass g; health_check grpc_service=a type=grpc;", "type=grpc, followed by"),
        ("", "grpc_pass g; health_check type=grpc grpc_status=0;", "1 to 16"),
        ("", "grpc_pass g; health_check type=grpc grpc_status=17;", "1 to 16"),
        ("", "grpc_pass g; health_check type=grpc grpc_other=1;", "grpc_service=NAME"),
        (
            "",
            "grpc_pass g; health_check uri=/x type=grpc;",
            "\"uri=/x\" does not apply to a gRPC health check",
        ),
        ("match m {}", "grpc_pass g; health_check match=m type=grpc;", "remove it, or remove type=grpc"),
        ("", "memcached_pass g; health_check;", "has no servers to check"),
        ("match m {} match m {}", "", "duplicate match"),
        ("match m { stauts 200; }", "", "unknown \"stauts\""),
        ("match m { status 200-; }", "", "a status or a range"),
        ("match m { status 400-200; }", "", "a status or a range"),
        ("match m { body = x; }", "", "a pattern must have the form"),
        ("match m { require x; }", "", "must be variables"),
        ("match m { body ~ \"(\"; }", "proxy_pass http://g; health_check match=m;", "("),
    ] {
        let message = refused(http, location);
        assert!(message.contains(part), "{http} {location}: {message}");
    }
    assert_eq!(
        refused("", "grpc_pass g; health_check mandatory type=grpc grpc_service=a.B grpc_status=12;"),
        ""
    );
    assert_eq!(refused("match m { status 200-299 304; }", "proxy_pass http://g; health_check match=m;"), "");
}

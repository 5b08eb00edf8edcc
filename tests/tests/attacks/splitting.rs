//! Escaped line breaks of a client, in configurations that insert the decoded text into a head (of a response or of a
//! request to an origin) or into a log.

use myriad_tests::wait_for;

use super::Site;

/// Directives that insert parts of the request into a head. The locations with `$uri` contain a mistake that the nginx
/// documentation warns of.
const RULES: &str = "
    add_header X-Uri $uri always;
    location /return { return 302 http://localhost$uri; }
    location /text { return 200 $uri; }
    location /rewrite { rewrite ^/rewrite(.*)$ http://localhost$1 redirect; }
    location /arg { set_unescape_uri $arg $arg_to; add_header X-Arg $arg always; return 302 $arg; }
    location ~ ^/captured/(.*)$ { add_header X-Captured $1 always; return 204; }
    location /header { proxy_set_header X-Uri $uri; proxy_pass http://origin; }
    location /pass { proxy_pass http://origin$uri; }
    location /passed/ { proxy_pass http://origin/inside/; }
    location /method { set_unescape_uri $method $arg_to; proxy_method $method; proxy_pass http://origin; }
    location /host { set_unescape_uri $to $arg_to; proxy_set_header Host $to; proxy_pass http://origin; }
    location /cookie { proxy_cookie_path / $uri; proxy_pass http://origin; }
    location /type { default_type $uri; return 200 a; }
    location /expires { expires $uri; return 200 a; }
    location /error { error_page 418 =302 http://localhost$uri; return 418; }
    location /mirror { proxy_set_header X-Uri \"a $uri b\"; proxy_set_header $arg_to x; proxy_pass http://origin; }
    location ~ ^/named/(?<name>.*)$ { return 301 https://$name.localhost/; }";

#[test]
fn escaped_line_ends_write_no_field_no_answer_no_request_and_no_line_of_a_log() {
    let site = Site::start(RULES);
    let ends = ["%0d%0a", "%0a", "%0d", "%00", "%E5%98%8A%E5%98%8D", "%0d%0a%20", "%23%0d%0a"];
    let places = [
        "/return/",
        "/text/",
        "/rewrite/",
        "/arg?to=/",
        "/captured/",
        "/header/",
        "/pass/",
        "/passed/",
        "/method?to=G",
        "/host?to=a",
        "/cookie/",
        "/type/",
        "/expires/",
        "/error/",
        "/mirror/?to=A",
        "/named/",
        "/none/",
        "/files/",
    ];
    let mut asked = 0;
    for place in places {
        for end in ends {
            let injected =
                ["X-Injected:%20yes", "Content-Length:%200", "Set-Cookie:%20a=b", "GET%20/hidden%20HTTP/1.1"];
            let target = format!("{place}{end}{}", injected.join(end));
            let mut client = site.server.connect();
            client.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
            let answer = client.try_answer("GET").unwrap_or_else(|error| panic!("{target}: {error}"));
            for (name, value) in &answer.fields {
                let is_injected = ["x-injected", "set-cookie"].contains(&name.to_lowercase().as_str());
                assert!(!is_injected && !value.contains(['\r', '\n', '\0']), "{target}: {name:?}: {value:?}");
            }
            let behind = client.rest();
            assert!(
                behind.is_empty(),
                "{target}: bytes after the response: {}",
                String::from_utf8_lossy(&behind)
            );
            asked += 1;
        }
    }
    for head in site.origin.heads() {
        for line in head.lines() {
            let line = line.to_lowercase();
            let is_injected = line.starts_with("x-injected")
                || line.starts_with("set-cookie")
                || line.starts_with("get /hidden");
            assert!(!is_injected, "{head}");
        }
    }
    site.is_unharmed("escaped line ends");
    // A separate thread writes the lines.
    let lines = || site.server.read("asked.log").lines().count();
    wait_for("a line for each request", || lines() >= asked + 2);
    assert_eq!(lines(), asked + 2, "{}", site.server.read("asked.log"));
}

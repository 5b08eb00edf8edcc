//! Paths of the NGINX Plus API, and programs that use them.
//!
//! covers: status_zone

mod exporter;
mod schema;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;

use myriad_tests::{Answer, Place, Request, Server, certificate, tls_handshake, wait_for};
use serde_json::{Value, json};

/// Site with every feature that the API reports.
const SITE: &str = "proxy_cache_path @DIR@/cache keys_zone=pages:1m;
    limit_req_zone $server_port zone=often:1m rate=1r/m;
    limit_conn_zone $server_port zone=many:1m;
    upstream shop { zone shop 64k; server 127.0.0.1:@ONE@; server 127.0.0.1:@GONE@ down; }
    upstream plain { server 127.0.0.1:@ONE@; }
    server { listen 127.0.0.1:@ONE@; location / { return 200 one; } location /rare { return 200 rare; } location /missing { return 404; } }
    server { listen 127.0.0.1:@TWO@; return 200 two; }
    server { listen 127.0.0.1:@PORT@; status_zone front;
        location / { proxy_pass http://shop; limit_conn many 100; }
        location /kept { status_zone kept; proxy_pass http://shop; proxy_cache pages; proxy_cache_valid 200 1h; }
        location /rare { limit_req zone=often burst=1 nodelay; proxy_pass http://plain; }
        location /plain { proxy_pass http://plain; }
        location = /stub_status { stub_status; }
        location /api/ { api write=on secret_sha256=db2dd5637d8a91cb560f62fbb4981678eb925f0ecc1e63f4c43890b35eb1b996; }
        location /seen/ { api; }
        location /plus { api; } }";

struct Site {
    server: Server,
    one: String,
    two: String,
}

impl Site {
    fn start(http: &str) -> Self {
        Self::start_in(http, "open")
    }

    /// Starts the site with a folder that the worker's user may write.
    fn start_in(http: &str, folder: &str) -> Self {
        let mut place = Place::new();
        fs::create_dir(place.path(folder)).expect("a folder");
        fs::set_permissions(place.path(folder), fs::Permissions::from_mode(0o777)).expect("its mode");
        let [one, two, gone] = [Place::new().port, Place::new().port, Place::new().port];
        for (word, port) in [("ONE", one), ("TWO", two), ("GONE", gone)] {
            place.set(word, &port.to_string());
        }
        Self {
            server: Server::start(place, http),
            one: format!("127.0.0.1:{one}"),
            two: format!("127.0.0.1:{two}"),
        }
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let answer = self.server.fetch(&with_secret(Request::get(&format!("/api/{path}"))));
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_str(&answer.text()).expect("JSON")
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let request = Request::post(&format!("/api/{path}"), body).by(method);
        self.server.fetch(&with_secret(request.field("Content-Type", "application/json")))
    }

    /// Returns status and code of an error.
    #[track_caller]
    fn refused(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let answer = self.send(method, path, body);
        let error: Value = serde_json::from_str(&answer.text()).expect("JSON");
        assert_eq!(error["error"]["status"], answer.status);
        assert_eq!(error["href"], "https://nginx.org/en/docs/http/ngx_http_api_module.html");
        assert_eq!(error["request_id"].as_str().map(str::len), Some(32), "{error}");
        (answer.status, error["error"]["code"].as_str().expect("a code").to_owned())
    }

    /// Returns the number of responses of `one` and `two` to eight requests.
    fn answering(&self) -> (usize, usize) {
        let mut client = self.server.connect();
        let texts: Vec<String> = (0..8).map(|_| client.fetch(&Request::get("/")).text()).collect();
        let count = |who: &str| texts.iter().filter(|text| *text == who).count();
        (count("one"), count("two"))
    }
}

/// Adds the secret whose hash the site contains.
fn with_secret(request: Request) -> Request {
    request.field("Authorization", "Bearer the secret of a site")
}

/// Returns the path of the document with the names of the site.
fn filled(path: &str) -> String {
    let path = path.trim_start_matches('/').replace("{version}", "9").replace("{group}", "shop");
    let path = path.replace("{server}", "0").replace("{worker}", "0").replace("{slab}", "pages");
    let zones = [("limit_reqs", "often"), ("http/server_zones", "front"), ("location_zones", "kept")];
    let zone = zones.iter().find(|(part, _)| path.contains(part)).map_or("many", |(_, zone)| zone);
    path.replace("{cache}", "pages").replace("{zone}", zone)
}

#[test]
fn every_api_path_responds_exactly_as_openapi_document_specifies() {
    let site = Site::start(SITE);
    for path in ["/", "/missing", "/kept", "/kept", "/rare", "/plain", "/absent"] {
        site.server.get(path);
    }
    let document = site.get("openapi.json");
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().expect("paths") {
        let Some(get) = operations.get("get") else { continue };
        let mut target = filled(path);
        match path.as_str() {
            "/cache/page" => target += "?page=http://localhost/kept",
            "/inspect" => target += "?url=/kept",
            // Its response never completes.
            "/live" => {
                assert_eq!(site.server.fetch(&Request::head("/seen/live")).status, 200);
                assert!(get["responses"]["200"]["content"]["text/event-stream"].is_object());
                continue;
            }
            _ => {}
        }
        let answer = site.server.get(&format!("/seen/{target}"));
        let status = answer.status.to_string();
        let said = &get["responses"][&status];
        assert!(said.is_object(), "{path} answers {status}, of which the document knows nothing");
        // The site has no `stream` block, no resolver and no cluster.
        let may_miss =
            ["{zone}", "stream/upstreams/", "/resolvers/", "/cluster"].iter().any(|part| path.contains(part));
        assert!(answer.status == 200 || may_miss, "{path}: {status} {}", answer.text());
        let value: Value = serde_json::from_str(&answer.text()).expect("JSON");
        let schema = &said["content"]["application/json"]["schema"];
        let faults = schema::faults(&document, schema, &value);
        assert!(faults.is_empty(), "{path}: {faults:#?}\n{value:#}");
        asked += 1;
    }
    assert!(asked >= 46, "{asked} paths were asked");
    for folder in ["", "http/", "stream/"] {
        for name in site.get(&format!("9/{folder}")).as_array().expect("names") {
            let path = format!("/{{version}}/{folder}{}", name.as_str().expect("a name"));
            let described = ["", "/"].iter().any(|end| document["paths"][format!("{path}{end}")].is_object());
            assert!(described, "{path} is served, and the document says nothing of it");
        }
    }
}

/// Servers of `stream` by zone: one that responds, one that rejects all clients, one without a peer, one with TLS.
const STREAMS: &str = "
    server { listen 127.0.0.1:@ANSWERS@; status_zone passed; return text; }
    server { listen 127.0.0.1:@DENIES@; status_zone turned; return text; deny all; }
    server { listen 127.0.0.1:@LONELY@; status_zone turned; proxy_pass 127.0.0.1:@GONE@; }
    server { listen 127.0.0.1:@WAITS@; status_zone waiting; proxy_pass 127.0.0.1:@SILENT@; }
    server { listen 127.0.0.1:@SECURE@ ssl; status_zone secure; return text;
        ssl_certificate @DIR@/a.pem; ssl_certificate_key @DIR@/a.key; }
    server { listen 127.0.0.1:@UNNAMED@; return text; }";

#[test]
fn sessions_of_streams_are_counted_by_the_zones_of_their_servers() {
    let mut place = Place::new();
    certificate(&place.path("a.pem"), &place.path("a.key"));
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    place.set("SILENT", &silent.local_addr().expect("an address").port().to_string());
    let names = ["ANSWERS", "DENIES", "LONELY", "WAITS", "SECURE", "UNNAMED", "GONE"];
    let ports = names.map(|name| {
        let port = Place::new().port;
        place.set(name, &port.to_string());
        port
    });
    let [answers, denies, lonely, waits, secure, unnamed, _] = ports;
    let http = "server { listen 127.0.0.1:@PORT@; location /api/ { api; } location /metrics { metrics; } }";
    let server = Server::start_with(place, &format!("stream {{ {STREAMS} }}"), http);
    let said = |port: u16, words: &[u8]| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        let _ = stream.write_all(words);
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    };
    assert_eq!(
        (said(answers, b""), said(answers, b""), said(unnamed, b"")),
        ("text".into(), "text".into(), "text".into())
    );
    assert_eq!((said(denies, b""), said(lonely, b"")), (String::new(), String::new()));
    drop(tls_handshake(secure, "localhost", |_| ()));
    assert_eq!(said(secure, b"this is no hello of TLS at all\n"), "");
    let waiting = TcpStream::connect(("127.0.0.1", waits)).expect("a connection");
    let zones =
        || -> Value { serde_json::from_str(&server.get("/api/9/stream/server_zones").text()).expect("JSON") };
    wait_for("the ends of the sessions", || {
        let zones = zones();
        zones["secure"]["sessions"]["total"] == 2
            && zones["passed"]["sessions"]["total"] == 2
            && zones["turned"]["sessions"]["total"] == 2
            && zones["waiting"]["processing"] == 1
    });
    let told = zones();
    let document: Value = serde_json::from_str(&server.get("/api/openapi.json").text()).expect("JSON");
    let schema = json!({ "$ref": "#/components/schemas/StreamServerZone" });
    for (name, zone) in told.as_object().expect("zones") {
        let faults = schema::faults(&document, &schema, zone);
        assert!(faults.is_empty(), "{name}: {faults:#?}");
    }
    assert_eq!(
        told.as_object().map(serde_json::Map::len),
        Some(4),
        "a server without a zone has no statistics: {told}"
    );
    let sessions = |passed: u64, refused: u64, failed: u64| json!({ "2xx": passed, "4xx": refused, "5xx": failed, "total": passed + refused + failed });
    assert_eq!((&told["passed"]["sessions"], &told["passed"]["sent"]), (&sessions(2, 0, 0), &json!(8)));
    assert_eq!(
        (&told["turned"]["sessions"], &told["turned"]["connections"]),
        (&sessions(0, 1, 1), &json!(2))
    );
    assert_eq!(
        (&told["waiting"]["connections"], &told["waiting"]["sessions"]["total"]),
        (&json!(1), &json!(0))
    );
    let tls = &told["secure"]["ssl"];
    assert_eq!((&tls["handshakes"], &tls["handshakes_failed"]), (&json!(1), &json!(1)), "{tls}");
    assert!(told["passed"]["ssl"].is_null(), "the port does not use TLS");
    let all: Value = serde_json::from_str(&server.get("/api/9/ssl").text()).expect("JSON");
    assert_eq!((&all["handshakes"], &all["handshakes_failed"]), (&json!(1), &json!(1)), "{all}");
    drop(waiting);
    wait_for("the end of the last one", || zones()["waiting"]["processing"] == 0);
    assert_eq!(zones()["waiting"]["sessions"], sessions(1, 0, 0));
    assert_eq!(server.get("/api/9/stream/server_zones/none").status, 404);
}

#[test]
fn older_versions_lack_what_came_later() {
    let site = Site::start(SITE);
    site.server.get("/");
    assert_eq!(site.get(""), json!([1, 2, 3, 4, 5, 6, 7, 8, 9]));
    let roots = |version: u8| site.get(&format!("{version}/")).as_array().expect("names").clone();
    for (name, since) in [("workers", 9), ("license", 9), ("resolvers", 5), ("ssl", 1), ("nginx", 1)] {
        for version in 1..=9 {
            assert_eq!(roots(version).contains(&json!(name)), version >= since, "{name} {version}");
            let status = site.server.get(&format!("/seen/{version}/{name}")).status;
            assert_eq!(status == 200, version >= since, "{name} {version}");
        }
    }
    let peer = |version: u8| site.get(&format!("{version}/http/upstreams/shop"))["peers"][0].clone();
    assert!(peer(9)["response_time_hist"].is_object() && peer(8)["response_time_hist"].is_null());
    assert!(peer(7)["responses"]["codes"].is_object() && peer(6)["responses"]["codes"].is_null());
    assert_eq!(site.refused("GET", "10/nginx", ""), (404, "UnknownVersion".into()));
    assert_eq!(site.refused("GET", "9/nowhere", ""), (404, "PathNotFound".into()));
    assert_eq!(site.refused("GET", "9/http/caches/none", ""), (404, "CacheNotFound".into()));
    assert_eq!(site.get("9/nginx?fields=version,pid").as_object().map(serde_json::Map::len), Some(2));
    assert_eq!(site.get("9/http/caches?fields="), json!(["pages"]));
    assert_eq!(site.server.get("/seen/nowhere").status, 404);
}

#[test]
fn requests_and_responses_are_counted_and_reset() {
    let site = Site::start(SITE);
    for path in ["/", "/", "/missing", "/kept", "/kept"] {
        site.server.get(path);
    }
    let peer = site.get("9/http/upstreams/shop")["peers"][0].clone();
    assert_eq!((&peer["requests"], &peer["state"]), (&json!(4), &json!("up")));
    assert_eq!(peer["responses"]["codes"], json!({ "200": 3, "404": 1 }));
    assert_eq!(peer["response_time_hist"]["count"], 4);
    assert!(peer["sent"].as_u64() > Some(100) && peer["received"].as_u64() > Some(200), "{peer}");
    assert_eq!(site.get("9/http/limit_conns/many")["passed"], 3);
    let statuses = [200, 200, 503].map(|expected| (site.server.get("/rare").status, expected));
    assert!(statuses.iter().all(|(status, expected)| status == expected), "{statuses:?}");
    let often =
        json!({ "passed": 2, "delayed": 0, "rejected": 1, "delayed_dry_run": 0, "rejected_dry_run": 0 });
    assert_eq!(site.get("9/http/limit_reqs/often"), often);
    let cache = site.get("9/http/caches/pages");
    assert_eq!((&cache["hit"]["responses"], &cache["miss"]["responses"]), (&json!(1), &json!(1)));
    assert!(site.get("9/http/requests")["total"].as_u64() > Some(8));
    assert_eq!((&cache["miss"]["responses_written"], &cache["hit"]["bytes"]), (&json!(1), &json!(3)));
    let kept = site.get("9/http/location_zones/kept");
    assert_eq!((&kept["requests"], &kept["responses"]["codes"]), (&json!(2), &json!({ "200": 2 })));
    let front = site.get("9/http/server_zones/front");
    assert_eq!((&front["responses"]["4xx"], &front["responses"]["5xx"]), (&json!(1), &json!(1)));
    for path in [
        "http/upstreams/shop",
        "http/limit_conns/many",
        "http/limit_reqs/often",
        "http/caches/pages",
        "http/requests",
        "connections",
    ] {
        assert_eq!(site.send("DELETE", &format!("9/{path}"), "").status, 204, "{path}");
    }
    assert_eq!(site.get("9/http/upstreams/shop")["peers"][0]["responses"]["total"], 0);
    assert_eq!(site.get("9/http/limit_reqs/often")["passed"], 0);
    assert_eq!(site.get("9/http/caches/pages")["hit"]["responses"], 0);
    assert!(site.get("9/http/requests")["total"].as_u64() < Some(10));
    assert_eq!(site.refused("DELETE", "9/nginx", ""), (405, "MethodNotAllowed".into()));
}

#[test]
fn servers_of_a_group_come_change_and_go_while_it_runs() {
    let site = Site::start(SITE);
    let servers = "9/http/upstreams/shop/servers";
    assert_eq!(site.answering(), (8, 0));
    let added = site.send("POST", servers, &format!("{{\"server\":\"{}\"}}", site.two));
    assert_eq!((added.status, added.field("location")), (201, Some("/api/9/http/upstreams/shop/servers/2")));
    assert_eq!(site.answering(), (4, 4));
    let one = &format!("{servers}/2");
    assert_eq!(site.send("PATCH", one, "{\"weight\":3}").status, 200);
    assert_eq!(site.answering(), (2, 6));
    assert_eq!(site.send("PATCH", one, "{\"down\":true,\"fail_timeout\":\"1500ms\"}").status, 200);
    assert_eq!(site.answering(), (8, 0));
    let told = site.get(one);
    assert_eq!(
        (&told["down"], &told["fail_timeout"], &told["weight"]),
        (&json!(true), &json!("1500ms"), &json!(3))
    );
    assert_eq!(site.send("PATCH", one, "{\"down\":false}").status, 200);
    assert_eq!(site.answering(), (2, 6));
    // A reload with the same group preserves its state.
    let other = SITE.replace("location /plain", "location = /new { return 200 new; } location /plain");
    site.server.reload(&other);
    wait_for("the reload", || site.server.get("/new").text() == "new");
    assert_eq!(site.answering(), (2, 6));
    let left = site.send("DELETE", &format!("{servers}/0"), "");
    let left: Value = serde_json::from_str(&left.text()).expect("JSON");
    assert_eq!(left.as_array().map(Vec::len), Some(2), "{left}");
    assert_eq!(site.answering(), (0, 8));
    // A reload with a changed group resets it to the configuration.
    site.server.reload(&SITE.replace("@ONE@; server 127.0.0.1:@GONE@ down;", "@ONE@;"));
    wait_for("the reload", || site.answering() == (8, 0));
}

#[test]
fn changes_that_make_no_sense_are_refused_by_their_codes() {
    let site = Site::start(SITE);
    let servers = "9/http/upstreams/shop/servers";
    for (method, path, body, expected) in [
        ("POST", servers, "{", (415, "JsonError")),
        ("POST", servers, "{}", (400, "UpstreamConfFormatError")),
        ("POST", servers, "{\"server\":\"unix:\"}", (400, "UpstreamBadAddress")),
        ("POST", servers, "{\"server\":\"a.test:80\"}", (400, "UpstreamConfNoResolver")),
        ("POST", servers, "{\"server\":\"127.0.0.1\",\"weight\":0}", (400, "UpstreamBadWeight")),
        ("POST", servers, "{\"server\":\"127.0.0.1\",\"route\":\"a;b\"}", (400, "UpstreamBadRoute")),
        ("POST", "9/http/upstreams/none/servers", "{}", (404, "UpstreamNotFound")),
        ("POST", "9/http/upstreams/plain/servers", "{}", (400, "UpstreamStatic")),
        ("PATCH", "9/http/upstreams/shop/servers/77", "{}", (404, "UpstreamServerNotFound")),
        ("PATCH", "9/http/upstreams/shop/servers/x", "{}", (400, "UpstreamBadServerId")),
        ("DELETE", "9/http/upstreams/shop/servers/77", "", (404, "UpstreamServerNotFound")),
        ("PUT", servers, "", (405, "MethodNotAllowed")),
    ] {
        let expected = (expected.0, expected.1.to_owned());
        assert_eq!(site.refused(method, path, body), expected, "{method} {path} {body}");
    }
    let read_only = Request::post("/seen/9/http/upstreams/shop/servers/0", "").by("DELETE");
    assert_eq!(site.server.fetch(&read_only).status, 405);
    let foreign = Request::post("/api/9/http/upstreams/shop/servers/0", "").by("DELETE");
    let foreign = with_secret(foreign.field("Origin", "http://evil.test"));
    assert_eq!(site.server.fetch(&foreign).status, 403, "the request originates from a page of another site");
    let renamed = Request::get("/seen/9/nginx").host("evil.test");
    assert_eq!(site.server.fetch(&renamed).status, 403, "the host name is not one of the server");
    assert_eq!(site.answering(), (8, 0));
}

/// Configurations in the style of NGINX Plus, with a password, and with a password that some addresses do not need.
const WITHOUT_SECRET: &str = "upstream shop { zone shop 64k; server 127.0.0.1:1; }
    server { listen 127.0.0.1:@PORT@;
        location /api/ { api write=on; allow 127.0.0.1; deny all; }
        location /pass/ { api write=on; auth_basic x; auth_basic_user_file @DIR@/users; }
        location /limited/ { api write=on; limit_except GET { auth_basic x; auth_basic_user_file @DIR@/users; }
            location /limited/page/ { auth_basic off; return 204; } }
        location /copied { mirror /pass/9/http/upstreams/shop/servers; proxy_pass http://127.0.0.1:@PORT@/pass/9/nginx; }
        location /any/ { api write=on; satisfy any; allow 127.0.0.1; auth_basic x; auth_basic_user_file @DIR@/users; } }";

#[test]
fn write_api_without_authentication_responds_but_changes_nothing() {
    let place = Place::new();
    place.write("users", "u:{PLAIN}p\n");
    let server = Server::start(place, WITHOUT_SECRET);
    let change = |location: &str, fields: &[(&str, &str)]| {
        let path = format!("/{location}/9/http/upstreams/shop/servers");
        let request =
            Request::post(&path, "{\"server\":\"127.0.0.1:2\"}").field("Content-Type", "application/json");
        server.fetch(&fields.iter().fold(request, |request, (name, value)| request.field(name, value)))
    };
    let password = [("Authorization", "Basic dTpw")];
    for location in ["api", "any"] {
        assert_eq!(server.get(&format!("/{location}/9/nginx")).status, 200);
        for fields in [&[][..], &password] {
            let refused = change(location, fields);
            let told: Value = serde_json::from_str(&refused.text()).expect("JSON");
            assert_eq!((refused.status, &told["error"]["code"]), (403, &json!("Forbidden")), "{location}");
            let text = told["error"]["text"].as_str().unwrap_or_default();
            assert!(text.contains("add secret_sha256=HASH to \"api write=on\""), "{text}");
        }
    }
    for location in ["pass", "limited"] {
        assert_eq!((change(location, &[]).status, change(location, &password).status), (401, 201));
    }
    // A mirrored request requires no password, and changes nothing.
    let copied =
        Request::post("/copied", "{\"server\":\"127.0.0.1:3\"}").field("Content-Type", "application/json");
    server.fetch(&copied);
    server.log_has("subrequest: \"/pass/9/http/upstreams/shop/servers\"");
    assert!(!server.get("/api/9/http/upstreams/shop/servers").text().contains("127.0.0.1:3"));
    server.log_has("api forbidden: changes require a secret");
    let told = server.test_configuration();
    let warnings = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.status.success(), "{warnings}");
    assert_eq!(
        warnings.matches("\"api write=on\" without a secret rejects every change").count(),
        1,
        "{warnings}"
    );
    assert_eq!(warnings.matches("\nalso at ").count(), 1, "the second location is named: {warnings}");
}

#[test]
fn state_file_preserves_servers_across_restarts() {
    let http =
        SITE.replace("server 127.0.0.1:@ONE@; server 127.0.0.1:@GONE@ down;", "state @DIR@/kept/shop.state;");
    let mut site = Site::start_in(&http, "kept");
    assert_eq!(site.server.get("/").status, 502, "the state file has no servers yet");
    let servers = "9/http/upstreams/shop/servers";
    let body = format!("{{\"server\":\"{}\",\"max_conns\":7,\"slow_start\":\"0s\"}}", site.two);
    assert_eq!(site.send("POST", servers, &body).status, 201);
    assert_eq!(site.answering(), (0, 8));
    let text = fs::read_to_string(site.server.path("kept/shop.state")).expect("the file");
    assert_eq!(text, format!("server {} max_conns=7;\n", site.two));
    site.server.restart(myriad_tests::Signal::QUIT);
    assert_eq!(site.answering(), (0, 8));
    assert_eq!(site.get(&format!("{servers}/0"))["max_conns"], 7);
    assert_eq!(site.send("DELETE", &format!("{servers}/0"), "").status, 200);
    assert_eq!(fs::read_to_string(site.server.path("kept/shop.state")).expect("the file"), "");
}

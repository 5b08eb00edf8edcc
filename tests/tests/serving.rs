//! Configuration language: selection of server, location and file, and response fields.

use myriad_tests::{Place, Request, Server};

fn serve(http: &str) -> Server {
    serve_files(http, &[])
}

fn serve_files(http: &str, files: &[(&str, &str)]) -> Server {
    let place = Place::new();
    for (name, content) in files {
        place.write(&format!("html/{name}"), content);
    }
    Server::start(place, http)
}

/// Returns a `server` with these directives and the test's files as its root.
fn server(text: &str) -> String {
    format!("server {{ listen 127.0.0.1:@PORT@; root @DIR@/html; {text} }}")
}

fn page(server: &Server, target: &str) -> (u16, String) {
    let answer = server.get(target);
    (answer.status, answer.text())
}

#[test]
fn the_server_is_chosen_by_host_as_nginx_chooses() {
    let name = |names: &str| {
        format!(
            "server {{ listen 127.0.0.1:@PORT@; server_name {names}; return 200 '{}'; }}\n",
            names.replace('$', "_")
        )
    };
    let http = ["default.test", "exact.test", "*.wild.test", "*.deep.wild.test", "tail.*", ".dot.test"]
        .map(name)
        .concat()
        + "server { listen 127.0.0.1:@PORT@; server_name ~^(?<user>[a-z]+)\\.regex\\.test$; return 200 'regex $user'; }\n"
        + "server { listen 127.0.0.1:@PORT@; server_name ~^second; return 200 second; }\n";
    let server = serve(&http);
    for (host, expected) in [
        ("exact.test", "exact.test"),
        ("EXACT.test", "exact.test"),
        ("exact.test:8080", "exact.test"),
        ("exact.test.", "exact.test"),
        ("a.wild.test", "*.wild.test"),
        ("a.b.wild.test", "*.wild.test"),
        ("a.deep.wild.test", "*.deep.wild.test"),
        ("wild.test", "default.test"),
        ("tail.org", "tail.*"),
        ("tail.co.uk", "tail.*"),
        ("dot.test", ".dot.test"),
        ("a.dot.test", ".dot.test"),
        ("bob.regex.test", "regex bob"),
        ("second.wild.test", "*.wild.test"),
        ("second.none", "second"),
        ("unknown.test", "default.test"),
    ] {
        assert_eq!(server.fetch(&Request::get("/").host(host)).text(), expected, "Host: {host}");
    }
}

#[test]
fn default_server_handles_unknown_hosts() {
    let http = "server { listen 127.0.0.1:@PORT@; server_name a.test; return 200 a; }\n\
                server { listen 127.0.0.1:@PORT@ default_server; server_name b.test; return 200 b; }";
    let server = serve(http);
    assert_eq!(server.fetch(&Request::get("/").host("c.test")).text(), "b");
    assert_eq!(server.fetch(&Request::get("/").host("a.test")).text(), "a");
}

#[test]
fn locations_are_chosen_by_kind_then_length_then_order() {
    let server = serve(&server(
        r"
        location = / { return 200 exact-root; }
        location / { return 200 prefix-root; }
        location = /exact { return 200 exact; }
        location /exact { return 200 prefix-exact; }
        location /images/ { return 200 images; }
        location ^~ /images/fixed/ { return 200 fixed; }
        location ~ \.(gif|png)$ { return 200 regex-$1; }
        location ~* \.JPG$ { return 200 caseless; }
        location ~ \.jpg$ { return 200 too-late; }
        location ~ ^/user/(?<name>\w+) { return 200 user-$name; }
        location /outer/ { return 200 outer; location /outer/inner/ { return 200 inner; } location ~ \.txt$ { return 200 inner-regex; } }
        ",
    ));
    for (target, expected) in [
        ("/", "exact-root"),
        ("/x", "prefix-root"),
        ("/exact", "exact"),
        ("/exact/", "prefix-exact"),
        ("/exactly", "prefix-exact"),
        ("/images/a", "images"),
        ("/images/a.png", "regex-png"),
        ("/images/fixed/a.png", "fixed"),
        ("/a.GIF", "prefix-root"),
        ("/a.jpg", "caseless"),
        ("/a.JpG?x=.png", "caseless"),
        ("/user/ada/x", "user-ada"),
        ("/outer/a", "outer"),
        ("/outer/inner/a", "inner"),
        ("/outer/a.txt", "inner-regex"),
        ("/%65xact", "exact"),
        ("//exact", "exact"),
        ("/images/../exact", "exact"),
        ("/./exact", "exact"),
    ] {
        assert_eq!(page(&server, target), (200, expected.to_owned()), "{target}");
    }
}

#[test]
fn files_come_from_root_alias_and_index() {
    let server = serve_files(
        &server(
            r"
            index index.html fallback.html;
            location /app/ { alias @DIR@/html/other/; }
            location ~ ^/u/(.+)$ { alias @DIR@/html/other/$1; }
            location /rooted/ { root @DIR@/html/deep; }
            ",
        ),
        &[
            ("index.html", "home"),
            ("plain.txt", "plain"),
            ("other/page.txt", "aliased"),
            ("other/index.html", "aliased home"),
            ("second/fallback.html", "fallback"),
            ("deep/rooted/a.txt", "rooted"),
            ("empty/readme.txt", ""),
        ],
    );
    for (target, expected) in [
        ("/", "home"),
        ("/plain.txt", "plain"),
        ("/plain.txt?with=arguments", "plain"),
        ("/app/page.txt", "aliased"),
        ("/app/", "aliased home"),
        ("/u/page.txt", "aliased"),
        ("/second/", "fallback"),
        ("/rooted/a.txt", "rooted"),
        ("/empty/readme.txt", ""),
    ] {
        assert_eq!(page(&server, target), (200, expected.to_owned()), "{target}");
    }
    assert_eq!(server.get("/none").status, 404);
    assert_eq!(server.get("/empty/").status, 403, "a folder without an index is not listed");
    let redirect = server.fetch(&Request::get("/second?x=1").host("here.test"));
    assert_eq!(redirect.status, 301);
    assert_eq!(
        redirect.field("Location"),
        Some(format!("http://here.test:{}/second/?x=1", server.port).as_str())
    );
    assert_eq!(server.fetch(&Request::post("/plain.txt", "x")).status, 405, "POST to a file");
}

#[test]
fn try_files_takes_the_first_that_is_there() {
    let server = serve_files(
        &server(
            r"
            location / { try_files $uri $uri/ /index.html?was=$uri; }
            location /code/ { try_files $uri =418; }
            location /named/ { try_files $uri @named; }
            location @named { return 200 named:$uri; }
            location = /index.html { return 200 front:$uri:$args; }
            ",
        ),
        &[("a.txt", "a"), ("folder/index.html", "folder's"), ("code/x.txt", "x"), ("named/y.txt", "y")],
    );
    for (target, expected) in [
        ("/a.txt", (200, "a")),
        ("/folder/", (200, "folder's")),
        ("/some/post/?q=1", (200, "front:/index.html:was=/some/post/")),
        ("/code/x.txt", (200, "x")),
        ("/code/none", (418, "")),
        ("/named/y.txt", (200, "y")),
        ("/named/z", (200, "named:/named/z")),
    ] {
        let (status, text) = page(&server, target);
        assert_eq!((status, if status == 418 { "" } else { &text }), expected, "{target}");
    }
}

#[test]
fn return_answers_with_text_or_redirects() {
    let server = serve(&server(
        r"
        location /text { return 200 'a $arg_x'; }
        location /code { return 410; }
        location /moved { return 301 /new$is_args$args; }
        location /away { return https://other.test$request_uri; }
        location /see { return 303 https://other.test/; }
        location /teapot { return 418 short; }
        location /silent { return 444; }
        location /none { return 204; }
        ",
    ));
    assert_eq!(page(&server, "/text?x=1"), (200, "a 1".into()));
    let gone = server.get("/code");
    assert_eq!((gone.status, gone.field("Content-Type")), (410, Some("text/html")));
    assert!(gone.text().contains("410 Gone"), "the built-in page has the meaning of the status");
    let moved = server.get("/moved?a=b");
    let location = format!("http://localhost:{}/new?a=b", server.port);
    assert_eq!((moved.status, moved.field("Location")), (301, Some(location.as_str())));
    assert_eq!(server.get("/away").field("Location"), Some("https://other.test/away"));
    assert_eq!((server.get("/away").status, server.get("/see").status), (302, 303));
    assert_eq!(page(&server, "/teapot"), (418, "short".into()));
    assert_eq!((server.get("/none").status, server.get("/none").body.len()), (204, 0));
    let mut client = server.connect();
    client.send(Request::get("/silent").bytes());
    assert!(client.is_closed());
}

#[test]
fn rewrites_follow_their_flags() {
    let server = serve(&server(
        r"
        rewrite ^/first/(.*)$ /second/$1;
        rewrite ^/second/(.*)$ /third/$1 last;
        rewrite ^/third/(.*)$ /never/$1;
        rewrite ^/permanent/(\d+)$ /p?id=$1 permanent;
        rewrite ^/temporary$ http://other.test/x redirect;
        rewrite ^/drop$ /plain? last;
        location / { return 200 $uri:$args; }
        location /loop { rewrite ^/loop(.*)$ /loop/x$1 last; }
        location /stop/ { rewrite ^/stop/(.*)$ /after/$1 break; return 200 unreachable; }
        location /again/ { rewrite ^/again/(.*)$ /plain/$1 last; return 200 unreachable; }
        ",
    ));
    assert_eq!(page(&server, "/first/a?x=1").1, "/third/a:x=1");
    assert_eq!(page(&server, "/drop?x=1").1, "/plain:");
    assert_eq!(page(&server, "/again/b").1, "/plain/b:");
    let permanent = server.get("/permanent/7?x=1");
    let location = format!("http://localhost:{}/p?id=7&x=1", server.port);
    assert_eq!((permanent.status, permanent.field("Location")), (301, Some(location.as_str())));
    let temporary = server.get("/temporary");
    assert_eq!((temporary.status, temporary.field("Location")), (302, Some("http://other.test/x")));
    assert_eq!(server.get("/loop").status, 500, "at most ten rewrite cycles");
    assert_eq!(server.get("/stop/x").status, 404, "after `break`, the file is looked up");
}

#[test]
fn set_if_and_map_decide() {
    let server = serve_files(
        &format!(
            "map $arg_lang $greeting {{ default hello; de hallo; ~^fr-(?<land>..)$ salut-$land; }}\n\
             map $http_host $tenant {{ hostnames; default none; *.shop.test shop; exact.test exact; }}\n{}",
            server(
                r#"
                set $colour red;
                if ($arg_colour) { set $colour $arg_colour; }
                if ($request_method = DELETE) { return 405; }
                if ($http_user_agent ~* "(bot|crawler)") { set $who $1; }
                if ($http_cookie !~ "session=([^;]+)") { set $session none; }
                if (-f $document_root$uri) { set $there file; }
                if (-d $document_root$uri) { set $there folder; }
                if (!-e $document_root$uri) { set $there nothing; }
                location / { return 200 "$greeting $tenant $colour who=$who session=$session there=$there"; }
                location /limited { limit_except GET { deny all; } return 200 $uri; }
                "#
            )
        ),
        &[("a.txt", "a"), ("folder/b.txt", "b")],
    );
    let ask = |request: Request| server.fetch(&request).text();
    assert_eq!(ask(Request::get("/")), "hello none red who= session=none there=folder");
    assert_eq!(
        ask(Request::get("/a.txt?lang=de&colour=blue")
            .host("x.shop.test")
            .field("User-Agent", "A CRAWLER")
            .field("Cookie", "session=1")),
        "hallo shop blue who=CRAWLER session= there=file"
    );
    assert_eq!(
        ask(Request::get("/none?lang=fr-ca").host("exact.test")),
        "salut-ca exact red who= session=none there=nothing"
    );
    assert_eq!(server.fetch(&Request::new("DELETE", "/")).status, 405);
}

#[test]
fn error_pages_replace_the_plain_ones() {
    let server = serve_files(
        &server(
            r"
            error_page 404 /missing.html;
            error_page 410 =200 /gone.html;
            error_page 403 = @named;
            error_page 418 https://other.test/teapot;
            location = /gone.html { internal; }
            location /gone { return 410; }
            location /forbidden { deny all; }
            location /teapot { return 418; }
            location /secret/ { internal; }
            location @named { return 200 named-$uri; }
            ",
        ),
        &[("missing.html", "not here"), ("gone.html", "was here"), ("secret/a.txt", "a secret")],
    );
    assert_eq!(page(&server, "/none"), (404, "not here".into()));
    assert_eq!(page(&server, "/gone"), (200, "was here".into()));
    assert_eq!(
        page(&server, "/gone.html"),
        (404, "not here".into()),
        "an internal location is available to error pages only"
    );
    assert_eq!(page(&server, "/secret/a.txt"), (404, "not here".into()));
    assert_eq!(page(&server, "/forbidden/x"), (200, "named-/forbidden/x".into()));
    let teapot = server.get("/teapot");
    assert_eq!((teapot.status, teapot.field("Location")), (302, Some("https://other.test/teapot")));
    let head = server.fetch(&Request::head("/none"));
    assert_eq!((head.status, head.field("Content-Length")), (404, Some("8")));
}

#[test]
fn fields_are_added_where_nginx_adds_them() {
    let server = serve_files(
        &server(
            r#"
            add_header X-Outer outer;
            location /inherits { return 200 x; }
            location /own { add_header X-Own "a $uri"; add_header X-Own second; return 200 x; }
            location /empty { add_header X-None $arg_none; return 200 x; }
            location /missing { add_header X-Ok ok; add_header X-Always always always; return 404; }
            location /expires/ {
                types { text/css css; }
                location ~ \.epoch$ { expires epoch; }
                location ~ \.max$ { expires max; }
                location ~ \.css$ { expires 30d; }
                location ~ \.past$ { expires -1; }
            }
            "#,
        ),
        &[("expires/a.epoch", ""), ("expires/a.max", ""), ("expires/a.css", ""), ("expires/a.past", "")],
    );
    assert_eq!(server.get("/inherits").field("X-Outer"), Some("outer"));
    let own = server.get("/own");
    assert_eq!(own.all("X-Own").collect::<Vec<_>>(), ["a /own", "second"]);
    assert_eq!(own.field("X-Outer"), None, "a level with own `add_header` inherits none");
    assert_eq!(server.get("/empty").field("X-None"), None);
    let missing = server.get("/missing");
    assert_eq!((missing.field("X-Ok"), missing.field("X-Always")), (None, Some("always")));
    assert_eq!(server.get("/expires/a.css").field("Cache-Control"), Some("max-age=2592000"));
    assert!(server.get("/expires/a.css").field("Expires").is_some_and(|date| date.ends_with(" GMT")));
    assert_eq!(server.get("/expires/a.max").field("Cache-Control"), Some("max-age=315360000"));
    assert_eq!(server.get("/expires/a.epoch").field("Cache-Control"), Some("no-cache"));
    assert_eq!(server.get("/expires/a.epoch").field("Expires"), Some("Thu, 01 Jan 1970 00:00:01 GMT"));
    assert_eq!(server.get("/expires/a.past").field("Cache-Control"), Some("no-cache"));
}

#[test]
fn allow_and_deny_are_read_in_order() {
    let server = serve_files(
        &server(
            r"
            location /yes/ { allow 127.0.0.0/8; deny all; }
            location /no/ { deny 127.0.0.1; allow all; }
            location /other/ { allow 10.0.0.0/8; allow ::1; deny all; }
            ",
        ),
        &[("yes/a", "yes"), ("no/a", "no"), ("other/a", "other")],
    );
    assert_eq!(page(&server, "/yes/a"), (200, "yes".into()));
    assert_eq!(server.get("/no/a").status, 403);
    assert_eq!(server.get("/other/a").status, 403);
}

#[test]
fn types_name_what_a_file_is() {
    let server = serve_files(
        &format!(
            "types {{ text/html html; text/css css; }} default_type application/x-default; charset utf-8;\n{}",
            server(
                "location /own/ { types { text/plain css; } } location /typed/ { types { } default_type image/png; }"
            )
        ),
        &[
            ("a.html", ""),
            ("a.CSS", ""),
            ("a.unknown", ""),
            ("a", ""),
            ("own/a.css", ""),
            ("own/a.html", ""),
            ("typed/a.html", ""),
        ],
    );
    for (target, expected) in [
        ("/a.html", "text/html; charset=utf-8"),
        ("/a.CSS", "text/css"),
        ("/a.unknown", "application/x-default"),
        ("/a", "application/x-default"),
        ("/own/a.css", "text/plain; charset=utf-8"),
        ("/own/a.html", "application/x-default"),
        ("/typed/a.html", "image/png"),
    ] {
        assert_eq!(server.get(target).field("Content-Type"), Some(expected), "{target}");
    }
}

#[test]
fn the_access_log_follows_its_format() {
    let server = serve(
        "log_format own '$remote_addr|$request_method|$uri|$status|$body_bytes_sent|$host|$arg_a|$http_x_field|$sent_http_x_out|$request_length';\n\
         log_format escaped escape=json '{\"agent\":\"$http_user_agent\"}';\n\
         server { listen 127.0.0.1:@PORT@; access_log @DIR@/own.log own; add_header X-Out out;\n\
         location / { return 200 12345; } location /off { access_log off; return 200 x; }\n\
         location /json { access_log @DIR@/json.log escaped; return 200 x; } }",
    );
    server.get("/off");
    server.fetch(&Request::get("/json").field("User-Agent", "a \"b\" \\ \u{e9}"));
    let request = Request::get("/a?a=1").field("X-Field", "value");
    server.fetch(&request);
    myriad_tests::wait_for("the log", || {
        !server.read("own.log").is_empty() && !server.read("json.log").is_empty()
    });
    let expected = format!("127.0.0.1|GET|/a|200|5|localhost|1|value|out|{}\n", request.bytes().len());
    assert_eq!(server.read("own.log"), expected);
    assert_eq!(server.read("json.log"), "{\"agent\":\"a \\\"b\\\" \\\\ \u{e9}\"}\n");
}

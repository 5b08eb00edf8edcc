//! Real php-fpm: parameters, bodies in both directions, buffering, restarts.

use std::sync::Arc;

use myriad_tests::{Gate, Origin, Request, wait_for};

use super::{serve, serve_origin, serve_php};

#[test]
fn php_gets_request_parameters() {
    let show = "<?php header('Content-Type: text/plain'); foreach (explode(',', $_GET['show']) as $name) \
                echo $name, '=', $_SERVER[$name] ?? '-', \"\\n\";";
    let (server, _php) = serve_php(
        "fastcgi_split_path_info ^(.+\\.php)(/.*)$; fastcgi_param PATH_INFO $fastcgi_path_info; \
         fastcgi_param OWN \"a $remote_addr\"; fastcgi_param EMPTY $arg_none if_not_empty; fastcgi_param HTTP_PROXY '';",
        &[
            ("show.php", show),
            ("index.php", "index by <?= $_SERVER['SCRIPT_NAME'] ?>"),
            ("sub/index.php", "sub by <?= $_SERVER['SCRIPT_NAME'] ?>"),
        ],
    );
    let asked = "REQUEST_METHOD,REQUEST_URI,SCRIPT_NAME,PATH_INFO,OWN,EMPTY,HTTP_X_OWN_FIELD,HTTP_COOKIE,HTTP_HOST,HTTP_PROXY,SCRIPT_FILENAME";
    let target = format!("/show.php/a%20path/x?show={asked}");
    let request = Request::get(&target)
        .host("a.test")
        .field("X-Own-Field", "v")
        .field("Cookie", "a=1; b=2")
        .field("Proxy", "evil");
    let expected = format!(
        "REQUEST_METHOD=GET\nREQUEST_URI={target}\nSCRIPT_NAME=/show.php\nPATH_INFO=/a path/x\nOWN=a 127.0.0.1\nEMPTY=-\n\
         HTTP_X_OWN_FIELD=v\nHTTP_COOKIE=a=1; b=2\nHTTP_HOST=a.test\nHTTP_PROXY=-\nSCRIPT_FILENAME={}/show.php\n",
        server.path("html").display()
    );
    assert_eq!(server.fetch(&request).text(), expected);
    assert_eq!(server.get("/").text(), "index by /index.php");
    assert_eq!(server.get("/sub/").text(), "sub by /sub/index.php");
}

#[test]
fn a_form_and_a_status_of_php_s_own_pass_through() {
    let text = "<?php http_response_code(418); header('X-Own: a'); header('X-Own: b', false); setcookie('c', '1'); \
                header_remove('X-Powered-By'); echo strrev($_POST['word']);";
    let (server, _php) = serve_php("", &[("form.php", text)]);
    let form = Request::post("/form.php", "word=desserts")
        .field("Content-Type", "application/x-www-form-urlencoded");
    let answer = server.fetch(&form);
    assert_eq!((answer.status, answer.text().as_str()), (418, "stressed"));
    assert_eq!(answer.all("X-Own").collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(answer.field("Set-Cookie"), Some("c=1"));
    assert_eq!(answer.field("X-Powered-By"), None);
    assert_eq!(answer.field("Status"), None, "`Status` is not forwarded to the client");
}

#[test]
fn a_form_may_be_posted_to_a_folder() {
    let show = "<?php echo $_SERVER['REQUEST_METHOD'], ' ', $_POST['word'];";
    let (server, _php) = serve_php("", &[("index.php", show), ("sub/index.php", show)]);
    for target in ["/", "/sub/", "/?wc-ajax=x"] {
        let form = Request::post(target, "word=x").field("Content-Type", "application/x-www-form-urlencoded");
        let answer = server.fetch(&form);
        assert_eq!((answer.status, answer.text().as_str()), (200, "POST x"), "{target}");
    }
}

#[test]
fn fifty_megabytes_go_up_and_come_down_unharmed() {
    let take = "<?php $sum = hash_init('crc32b'); $length = hash_update_stream($sum, fopen('php://input', 'rb')); \
                echo $length, ' ', $_SERVER['CONTENT_LENGTH'], ' ', hash_final($sum);";
    let give = "<?php header('Content-Type: application/octet-stream'); for ($i = 0; $i < 50 * 16; $i++) \
                { echo str_repeat(pack('N', $i), 16384); }";
    let (server, _php) = serve_php("", &[("take.php", take), ("give.php", give)]);
    let down = server.get("/give.php");
    assert_eq!((down.status, down.body.len()), (200, 50 << 20));
    let right = down.body.chunks_exact(65536).enumerate().all(|(number, piece)| {
        let word = (number as u32).to_be_bytes();
        piece.chunks_exact(4).all(|bytes| bytes == word)
    });
    assert!(right, "the pieces are in order");
    let mut sum = flate2::Crc::new();
    sum.update(&down.body);
    let upload = Request::post("/take.php", down.body).field("Content-Type", "application/octet-stream");
    let length = 50 << 20;
    assert_eq!(server.fetch(&upload).text(), format!("{length} {length} {:08x}", sum.sum()));
}

#[test]
fn an_upload_streams_when_buffering_is_off() {
    let sent = Arc::new(Gate::new());
    let seen = Arc::clone(&sent);
    let origin = Origin::start_streaming(move |call| {
        let first = call.piece().expect("the first piece arrives before the last is sent");
        seen.open();
        let mut length = first.len();
        while let Some(piece) = call.piece() {
            length += piece.len();
        }
        call.answer("Content-Type: text/plain", length.to_string());
    });
    let (server, _origin) = serve("fastcgi_request_buffering off;", origin);
    let mut client = server.connect();
    client.send("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n1234567890");
    sent.pass();
    client.send("1234567890");
    assert_eq!(client.answer().text(), "20");
}

#[test]
fn a_page_streams_when_buffering_is_off() {
    let gate = Arc::new(Gate::new());
    let passed = Arc::clone(&gate);
    let (server, _origin) = serve_origin("fastcgi_buffering off;", move |call| {
        call.answer("Content-Type: text/plain", "first ");
        passed.pass();
        call.send("second");
    });
    let mut client = server.connect();
    client.send("GET /page HTTP/1.0\r\n\r\n");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.some(), b"first ");
    gate.open();
    assert_eq!(client.rest(), b"second");
}

#[test]
fn x_accel_buffering_turns_buffering_off_for_one_page() {
    let gate = Arc::new(Gate::new());
    let passed = Arc::clone(&gate);
    let (server, _origin) = serve_origin("", move |call| {
        call.answer("Content-Type: text/event-stream\nX-Accel-Buffering: no", "data: 1\n\n");
        passed.pass();
    });
    let mut client = server.connect();
    client.send("GET /events HTTP/1.0\r\n\r\n");
    let head = client.head();
    assert_eq!((head.status, head.field("X-Accel-Buffering")), (200, None));
    assert_eq!(client.some(), b"data: 1\n\n");
    gate.open();
    assert!(client.is_closed());
}

#[test]
fn stderr_output_of_php_is_in_error_log() {
    let (server, _origin) = serve_origin("", |call| {
        call.error("PHP message: a warning\n");
        call.answer("Content-Type: text/plain", "fine");
    });
    assert_eq!(server.get("/").text(), "fine");
    server.log_has("PHP message: a warning");
    let (server, _php) = serve_php("", &[("log.php", "<?php error_log('said by a script'); echo 'ok';")]);
    assert_eq!(server.get("/log.php").text(), "ok");
    server.log_has("said by a script");
}

#[test]
fn php_fpm_may_be_restarted_between_two_requests() {
    let (server, mut php) = serve_php("", &[("pid.php", "<?= getmypid() ?>")]);
    for _ in 0..3 {
        assert_eq!(server.get("/pid.php").status, 200);
        php.restart();
        assert_eq!(server.get("/pid.php").status, 200, "the next request after a restart");
    }
    php.kill();
    assert_eq!(server.get("/pid.php").status, 502);
    php.restart();
    assert_eq!(server.get("/pid.php").status, 200, "the next request after an outage");
}

#[test]
fn disconnect_of_client_aborts_origin_request() {
    let (server, origin) = serve_origin("", |call| {
        if call.uri() == "/left" {
            assert!(call.wait_for_hang_up(), "the origin detects the disconnect");
        } else {
            call.answer("Content-Type: text/plain", "still here");
        }
    });
    let mut client = server.connect();
    client.send(Request::get("/left").bytes());
    origin.wait_for(1);
    drop(client);
    wait_for("the hang-up at the origin", || origin.finished() == 1);
    assert_eq!(server.get("/").text(), "still here");
}

#[test]
fn a_head_request_reaches_php_and_brings_no_body() {
    let (server, _php) = serve_php(
        "",
        &[("page.php", "<?php header('X-Method: ' . $_SERVER['REQUEST_METHOD']); echo 'body';")],
    );
    let mut client = server.connect();
    let answer = client.fetch(&Request::head("/page.php"));
    assert_eq!((answer.status, answer.field("X-Method")), (200, Some("HEAD")));
    assert_eq!(client.fetch(&Request::get("/page.php")).text(), "body", "the connection is in step");
}

#[test]
fn many_visitors_at_once_get_their_own_pages() {
    let (server, _php) = serve_php(
        "",
        &[(
            "echo.php",
            "<?php usleep(mt_rand(0, 3000)); echo $_GET['n'], ' ', str_repeat($_GET['n'], 5000);",
        )],
    );
    let requests = (0..40).map(|number| Request::get(&format!("/echo.php?n={number}"))).collect();
    let load = myriad_tests::Load::start(server.port, 20, requests, |request, answer| {
        let text = answer.text();
        let number = text.split(' ').next().unwrap_or_default().to_owned();
        let asked = String::from_utf8_lossy(&request.bytes()).contains(&format!("?n={number} "));
        let whole = answer.status == 200 && text.len() == number.len() * 5001 + 1;
        if asked && whole { Ok(()) } else { Err(format!("{request:?}: {} {number}", answer.status)) }
    });
    load.wait_for(400);
    let (_, failures) = load.stop();
    assert!(failures.is_empty(), "{failures:?}");
}

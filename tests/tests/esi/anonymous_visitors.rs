//! Pages that are filled for anonymous clients, according to ESI 1.0 and LiteSpeed.

use myriad_tests::Request;

use super::{by, is_clean, session, start};

const ESI: &str =
    "Content-Type: text/html\r\nSurrogate-Control: content=\"ESI/1.0\"\r\nCache-Control: max-age=60";

#[test]
fn part_is_put_into_everybody_s_page_and_cached_by_itself() {
    let (server, origin) = start("gzip on;", |call| {
        match call.uri() {
        "/page" => call.answer(
            ESI,
            "<p>1<esi:include src='/part?a=1&amp;b=2'/>2<esi:remove>no</esi:remove><esi:comment text='c'/>3<!--esi <b>4</b>-->",
        ),
        _ => call.answer("Content-Type: text/html\r\nCache-Control: max-age=60", format!("({}{})", call.uri(), call.param("HTTP_COOKIE"))),
    }
    });
    for cookie in ["", "_ga=1"] {
        let answer = server.fetch(&Request::get("/page").field("Cookie", cookie));
        assert_eq!(answer.text(), "<p>1(/part?a=1&b=2)23 <b>4</b>");
        is_clean(&answer);
        assert_eq!((answer.field("ETag"), answer.field("Content-Length")), (None, None));
    }
    assert_eq!(origin.calls(), ["GET /page", "GET /part?a=1&b=2"]);
    assert_eq!(server.get("/part?a=1&b=2").cache(), "HIT");
    let packed = server.fetch(&Request::get("/page").accepting("gzip"));
    assert_eq!((packed.coding(), packed.text().len()), ("gzip", "<p>1(/part?a=1&b=2)23 <b>4</b>".len()));
    // Requests of known visitors are sent to the origin, because its response does not permit the cache.
    assert_eq!(server.fetch(&by("/page", "ada")).cache(), "BYPASS");
}

#[test]
fn litespeed_s_word_and_markup_are_read() {
    let (server, _origin) = start("fastcgi_param X-LSCACHE on;", |call| {
        match call.uri() {
        "/page" => call.answer(
            "Content-Type: text/html\r\nX-LiteSpeed-Cache-Control: public,max-age=60,esi=on",
            "1<!-- lscwp a --><esi:include src='/?lsesi=a&_control=private%2Cno-vary' cache-control='private,no-vary' as-var='1' />2",
        ),
        _ => call.answer("X-LiteSpeed-Cache-Control: no-cache", "own"),
    }
    });
    let answer = server.get("/page");
    assert_eq!(answer.text(), "1<!-- lscwp a -->own2");
    is_clean(&answer);
}

#[test]
fn includes_that_loop_are_refused() {
    let (server, origin) = start("", |call| match call.uri() {
        "/self" => call.answer(ESI, "s<esi:include src='/self'>!</esi:include>"),
        "/a" => call.answer(ESI, "a<esi:include src='/b'/>"),
        "/b" => call.answer(ESI, "b<esi:include src='/a'/>"),
        _ => call.answer(ESI, "c<esi:include src='/a?deep'/><esi:include src='/b'/>"),
    });
    assert_eq!(server.get("/self").text(), "s!");
    server.log_has("the page includes itself");
    assert_eq!(server.get("/a").text(), "abab");
    server.log_has("esi_max_depth");
    assert!(origin.count() <= 4, "{:?}", origin.calls());
}

#[test]
fn includes_beyond_the_bound_stay_empty() {
    let page = [0, 1, 2, 3, 4].map(|number| format!("<esi:include src='/{number}'/>|")).concat();
    let (server, origin) = start("esi_max_includes 2;", move |call| match call.uri() {
        "/page" => call.answer(ESI, page.clone()),
        uri => {
            let uri = uri.to_owned();
            call.answer("Cache-Control: max-age=60", uri);
        }
    });
    assert_eq!(server.get("/page").text(), "/0|/1||||");
    server.log_has("3 includes exceed the limit");
    assert_eq!(origin.count(), 3);
}

#[test]
fn page_that_is_not_stored_is_filled_on_its_way() {
    let (server, _origin) = start("", |call| {
        if call.uri() == "/page" {
            call.answer(
                "Content-Type: text/html\r\nSurrogate-Control: content=\"ESI/1.0\", no-store",
                "1<esi:include src='/part'/>2",
            );
        } else {
            let cookie = call.param("HTTP_COOKIE").to_owned();
            call.answer("Cache-Control: private", format!("({cookie})"));
        }
    });
    for _ in 0..2 {
        let answer = server.get("/page");
        assert_eq!(answer.text(), "1()2");
        is_clean(&answer);
    }
    let answer = server.fetch(&by("/page", "ada"));
    assert_eq!(answer.text(), format!("1({})2", session("ada")));
    assert_eq!(answer.field("Cache-Control"), Some("private, no-store"));
    is_clean(&answer);
    assert_eq!(server.fetch(&Request::head("/page")).body, b"");
}

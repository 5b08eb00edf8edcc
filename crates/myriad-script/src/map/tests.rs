use crate::error::EvalError;
use crate::frame::Frame;
use crate::testing::{Request, compiler};

/// Defines `$result` by a map, and returns its value. Each line is split at spaces.
fn mapped(source: &str, lines: &[&str], prepare: impl FnOnce(Request) -> Request) -> String {
    let mut compiler = compiler();
    compiler.declare_map("$result", &split(lines)).unwrap();
    let template = compiler.template("$result").unwrap();
    compiler.define_map("$result", source, &split(lines)).unwrap();
    let request = prepare(Request::new(compiler.finish().unwrap()));
    let mut out = Vec::new();
    template.eval(&request, &mut Frame::new(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn split<'a>(lines: &[&'a str]) -> Vec<Vec<&'a str>> {
    lines.iter().map(|line| line.split(' ').collect()).collect()
}

#[test]
fn texts_match_without_letter_case_and_the_rest_is_default() {
    let lines = ["default 0", "POST 1", "put 2", " empty"];
    let map =
        |method: &str| mapped("$request_method", &lines, |request| request.with("request_method", method));
    assert_eq!(map("POST"), "1");
    assert_eq!(map("post"), "1");
    assert_eq!(map("PUT"), "2");
    assert_eq!(map("GET"), "0");
    assert_eq!(map(""), "empty");
    assert_eq!(mapped("$http_none", &["POST 1"], |request| request), "");
}

#[test]
fn patterns_come_after_texts_in_their_order_and_captures_serve_the_value() {
    let lines = ["default no", "~^/a/(?<rest>.*)$ $rest-$1", "~*^/A 2", "~ 3", "/a/exact 4"];
    let map = |uri: &str| mapped("$uri", &lines, |request| request.at(uri, ""));
    assert_eq!(map("/a/x"), "x-x");
    assert_eq!(map("/A/x"), "2");
    assert_eq!(map("/z"), "3");
    assert_eq!(map("/a/exact"), "4");
}

#[test]
fn named_groups_of_a_map_serve_templates_written_before_it() {
    let mut compiler = compiler();
    let lines = split(&["~^/(?<first>[^/]+) 1"]);
    compiler.declare_map("$result", &lines).unwrap();
    let template = compiler.template("$result:$first").unwrap();
    compiler.define_map("$result", "$uri", &lines).unwrap();
    let request = Request::new(compiler.finish().unwrap()).at("/shop/cart", "");
    let mut out = Vec::new();
    template.eval(&request, &mut Frame::new(), &mut out).unwrap();
    assert_eq!(out, b"1:shop");
}

#[test]
fn wildcards_need_the_word_hostnames() {
    let lines = ["default 0", "hostnames", "example.com 1", "*.example.com 2", ".example.org 3", "mail.* 4"];
    let map = |host: &str| mapped("$host", &lines, |request| request.with("host", host));
    assert_eq!(map("example.com"), "1");
    assert_eq!(map("EXAMPLE.COM."), "1");
    assert_eq!(map("a.b.example.com"), "2");
    assert_eq!(map("example.org"), "3");
    assert_eq!(map("x.example.org"), "3");
    assert_eq!(map("mail.net"), "4");
    assert_eq!(map("other.net"), "0");
    let literal =
        |host: &str| mapped("$host", &["*.example.com 2", "default 0"], |request| request.with("host", host));
    assert_eq!(literal("a.example.com"), "0");
    assert_eq!(literal("*.example.com"), "2");
}

#[test]
fn a_backslash_takes_the_meaning_from_special_names() {
    let lines = ["default 0", "\\default 1", "\\~x 2", "\\hostnames 3"];
    let map = |host: &str| mapped("$host", &lines, |request| request.with("host", host));
    assert_eq!(map("default"), "1");
    assert_eq!(map("~x"), "2");
    assert_eq!(map("hostnames"), "3");
    assert_eq!(map("x"), "0");
}

#[test]
fn sources_and_values_hold_variables() {
    let lines = ["default $host!", "GET:x ${host}/$request_method"];
    let map = |method: &str| {
        mapped("$request_method:$host", &lines, |request| {
            request.with("request_method", method).with("host", "x")
        })
    };
    assert_eq!(map("GET"), "x/GET");
    assert_eq!(map("PUT"), "x!");
}

#[test]
fn a_map_is_computed_once_a_request_and_a_volatile_one_each_time() {
    for (flag, reads, second) in [("", 1, "old"), ("volatile", 2, "new")] {
        let mut compiler = compiler();
        compiler.declare_lazy("$result").unwrap();
        let template = compiler.template("$result").unwrap();
        let mut lines = vec![vec!["a", "old"], vec!["b", "new"]];
        if !flag.is_empty() {
            lines.push(vec![flag]);
        }
        compiler.define_map("result", "$host", &lines).unwrap();
        let request = Request::new(compiler.finish().unwrap()).with("host", "a");
        let (mut frame, mut out) = (Frame::new(), Vec::new());
        template.eval(&request, &mut frame, &mut out).unwrap();
        let request = request.with("host", "b");
        template.eval(&request, &mut frame, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!("old{second}"));
        assert_eq!(*request.reads.borrow(), reads);
        frame.reset();
        let mut out = Vec::new();
        template.eval(&request, &mut frame, &mut out).unwrap();
        assert_eq!(out, b"new", "the next request computes anew");
        frame.forget_computed();
        let request = request.with("host", "a");
        let mut out = Vec::new();
        template.eval(&request, &mut frame, &mut out).unwrap();
        assert_eq!(out, b"old", "the same request with another field");
    }
}

#[test]
fn unread_variable_is_not_computed() {
    let mut compiler = compiler();
    compiler.declare_lazy("$result").unwrap();
    compiler.define_map("result", "$host", &[vec!["default", "1"]]).unwrap();
    let other = compiler.template("$uri").unwrap();
    let request = Request::new(compiler.finish().unwrap());
    other.eval(&request, &mut Frame::new(), &mut Vec::new()).unwrap();
    assert_eq!(*request.reads.borrow(), 1);
}

#[test]
fn maps_that_need_each_other_end_in_an_error() {
    let mut compiler = compiler();
    compiler.declare_lazy("$one").unwrap();
    compiler.declare_lazy("$two").unwrap();
    compiler.define_map("$one", "$two", &[vec!["default", "1"]]).unwrap();
    compiler.define_map("$two", "$host", &[vec!["default", "$one"]]).unwrap();
    let template = compiler.template("$one").unwrap();
    let request = Request::new(compiler.finish().unwrap());
    let mut frame = Frame::new();
    let error = template.eval(&request, &mut frame, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, EvalError::Cycle { .. }), "{error}");
    assert!(error.to_string().starts_with("cycle while evaluating variable"));
    // The depth was restored after the error: the frame remains usable.
    frame.enter("x").unwrap();
    frame.leave();
}

#[test]
fn set_wins_over_a_map_of_the_same_name() {
    let mut compiler = compiler();
    compiler.declare_lazy("$result").unwrap();
    compiler.define_map("$result", "$host", &[vec!["default", "map"]]).unwrap();
    let variable = compiler.variable("result").unwrap();
    let template = compiler.template("$result").unwrap();
    let request = Request::new(compiler.finish().unwrap());
    let (mut frame, mut out) = (Frame::new(), Vec::new());
    variable.assign(&mut frame, b"set");
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(out, b"set");
}

#[test]
fn an_absent_cookie_runs_no_pattern_and_a_present_one_is_found() {
    let lines = ["default 0", "~*wordpress_logged_in|wp-postpass 1"];
    assert_eq!(mapped("$http_cookie", &lines, |request| request), "0");
    let cookie = |text: &str| mapped("$http_cookie", &lines, |request| request.with("http_cookie", text));
    assert_eq!(cookie("a=b"), "0");
    assert_eq!(cookie("a=b; wordpress_logged_in_1=x"), "1");
}

#[test]
fn an_empty_value_matches_no_pattern() {
    for pattern in ["~ regex", "~* regex", "~^$ regex", "~.* regex", "~*^(a|)$ regex"] {
        let lines = ["default default", pattern];
        assert_eq!(mapped("$http_none", &lines, |request| request), "default", "{pattern}");
        let lines = ["default default", pattern, " text"];
        assert_eq!(mapped("$http_none", &lines, |request| request), "text", "{pattern}");
    }
    let host = |lines: &[&str], host: &str| mapped("$host", lines, |request| request.with("host", host));
    assert_eq!(host(&["default default", "hostnames", "~.* regex"], "."), "default");
    assert_eq!(host(&["default default", "hostnames", "~^a$ regex"], "a."), "regex");
    assert_eq!(host(&["default default", "~.* regex"], "."), "regex");
}

#[test]
fn wrong_lines_are_named() {
    let mut compiler = compiler();
    let lines = split(&["a 1", "A 2", "b", "~( 1", "c $nope", "default 1", "default 2", "x y z"]);
    let errors = compiler.define_map("$result", "$host", &lines).unwrap_err();
    let items: Vec<_> = errors.iter().map(|error| error.item.unwrap()).collect();
    assert_eq!(items, [1, 2, 3, 4, 6, 7]);
    assert_eq!(errors[0].message, "conflicting parameter \"A\"");
    assert_eq!(errors[1].message, "invalid number of the map parameters");
    assert_eq!(errors[4].message, "duplicate default map parameter");
    let errors = compiler.define_map("$result", "$host", &split(&["hostnames", "a.*.b 1"])).unwrap_err();
    assert_eq!(errors[0].message, "invalid hostname or wildcard \"a.*.b\"");
    assert!(compiler.define_map("$result", "$nope", &split(&["a 1"])).is_err());
    assert!(compiler.define_map("$host", "$uri", &split(&["a 1"])).is_err());
}

#[test]
fn a_promised_map_must_be_defined() {
    let mut compiler = compiler();
    compiler.declare_lazy("$result").unwrap();
    let errors = compiler.finish().unwrap_err();
    assert_eq!(errors[0].message, "variable \"result\" is never defined");
}

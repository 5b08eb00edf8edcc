use crate::frame::Frame;
use crate::testing::{Request, compiler};

fn holds(words: &[&str], prepare: impl FnOnce(Request) -> Request) -> bool {
    let mut compiler = compiler();
    compiler.declare_set("$mine").unwrap();
    let mine = compiler.variable("mine").unwrap();
    let condition = compiler.condition(words).unwrap();
    let request = prepare(Request::new(compiler.finish().unwrap()));
    let mut frame = Frame::new();
    mine.assign(&mut frame, b"POST");
    condition.holds(&request, &mut frame).unwrap()
}

fn post(request: Request) -> Request {
    request
        .with("request_method", "POST")
        .with("http_cookie", "a=0")
        .with("arg_zero", "0")
        .with("arg_two", "00")
}

#[test]
fn a_variable_is_true_unless_it_is_empty_or_zero() {
    assert!(holds(&["($request_method)"], post));
    assert!(holds(&["(", "$request_method", ")"], post));
    assert!(holds(&["$arg_two"], post));
    assert!(!holds(&["($arg_zero)"], post));
    assert!(!holds(&["($arg_none)"], post));
}

#[test]
fn texts_are_compared_as_they_are() {
    assert!(holds(&["($request_method", "=", "POST)"], post));
    assert!(!holds(&["($request_method", "=", "post)"], post));
    assert!(holds(&["($request_method", "!=", "GET)"], post));
    assert!(holds(&["($request_method", "=", "$mine)"], post));
    assert!(holds(&["($mine", "=", "$mine)"], post));
    assert!(holds(&["($mine", "=", "P${absent}OST", ")"], post));
    assert!(holds(&["($arg_none", "=", "", ")"], post));
    assert!(!holds(&["($request_method", "=", "", ")"], post));
    assert!(holds(&["($request_method", "!=", "", ")"], post));
}

#[test]
fn patterns_match_with_and_without_letter_case() {
    assert!(holds(&["($request_method", "~", "^PO)"], post));
    assert!(!holds(&["($request_method", "~", "^po", ")"], post));
    assert!(holds(&["($request_method", "~*", "^po", ")"], post));
    assert!(holds(&["($request_method", "!~", "GET|HEAD", ")"], post));
    assert!(!holds(&["($request_method", "!~*", "post", ")"], post));
    assert!(holds(&["$mine", "~", "(?:P)(OST)"], post));
}

#[test]
fn files_are_asked_of_the_embedder() {
    let files = |mut request: Request| {
        request.files = vec!["f:/srv/a".into(), "d:/srv".into(), "e:/srv/a".into(), "x:/bin/sh".into()];
        request.with("uri", "/").with("host", "a")
    };
    assert!(holds(&["(-f", "/srv/$host)"], files));
    assert!(!holds(&["(-f", "/srv", ")"], files));
    assert!(holds(&["(!-f", "/srv)"], files));
    assert!(holds(&["(-d", "/srv)"], files));
    assert!(!holds(&["(!-d", "/srv)"], files));
    assert!(holds(&["(-e", "/srv/a)"], files));
    assert!(holds(&["(!-e", "/nope)"], files));
    assert!(holds(&["(-x", "/bin/sh)"], files));
    assert!(holds(&["(!-x", "/srv/a)"], files));
}

#[test]
fn a_match_sets_captures_and_a_failed_one_clears_them() {
    let mut compiler = compiler();
    let matching = compiler.condition(&["$host", "~", "^(?<sub>[a-z]+)\\.(.+)$"]).unwrap();
    let failing = compiler.condition(&["$host", "~", "(nothing)"]).unwrap();
    let template = compiler.template("$1 $2 $sub").unwrap();
    let request = Request::new(compiler.finish().unwrap()).with("host", "www.example.com");
    let (mut frame, mut out) = (Frame::new(), Vec::new());
    assert!(matching.holds(&request, &mut frame).unwrap());
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(out, b"www example.com www");
    assert!(!failing.holds(&request, &mut frame).unwrap());
    out.clear();
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(out, b"  www");
}

#[test]
fn a_variable_may_be_captured_into_itself() {
    let mut compiler = compiler();
    compiler.declare_set("$mine").unwrap();
    let mine = compiler.variable("mine").unwrap();
    let condition = compiler.condition(&["$mine", "~", "^(?<mine>.).*$"]).unwrap();
    let template = compiler.template("$mine").unwrap();
    let request = Request::new(compiler.finish().unwrap());
    let (mut frame, mut out) = (Frame::new(), Vec::new());
    mine.assign(&mut frame, b"xyz");
    assert!(condition.holds(&request, &mut frame).unwrap());
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(out, b"x");
}

#[test]
fn the_variable_of_a_condition_is_a_whole_word() {
    let holds = |words: &[&str]| {
        let mut compiler = compiler();
        compiler.declare_set("$my-own").unwrap();
        let condition = compiler.condition(words).unwrap();
        let request = Request::new(compiler.finish().unwrap()).with("arg_go-get", "1");
        condition.holds(&request, &mut Frame::new()).unwrap()
    };
    assert!(holds(&["($arg_go-get", "=", "1)"]) && holds(&["($arg_go-get)"]));
    assert!(!holds(&["($my-own)"]));
    let unknown = compiler().condition(&["($host-name)"]).unwrap_err();
    assert!(unknown.message.starts_with("unknown \"host-name\" variable"), "{}", unknown.message);
}

#[test]
fn wrong_conditions_are_refused_in_nginx_words() {
    let message = |words: &[&str]| compiler().condition(words).unwrap_err().message;
    assert_eq!(message(&["(host)"]), "invalid condition \"host\"");
    assert_eq!(message(&["($host"]), "invalid condition \"$host\"");
    assert_eq!(message(&["($host", "==", "x)"]), "unexpected \"==\" in condition");
    assert_eq!(message(&["($host", "="]), "invalid condition \"=\"");
    assert_eq!(message(&["($host", "=)"]), "unexpected \"=\" in condition");
    assert_eq!(message(&["($host", "=", "a", "b)"]), "unexpected \"=\" in condition");
    assert_eq!(message(&["(-f)"]), "invalid condition \"-f\"");
    assert_eq!(message(&["(-z", "x)"]), "invalid condition \"-z\"");
    assert_eq!(message(&["()"]), "invalid condition \"\"");
    assert_eq!(message(&["$host$uri", "=", "x"]), "invalid condition \"$host$uri\"");
    assert!(message(&["($host", "~", "a(b", ")"]).contains("does not compile"));
    assert!(compiler().condition::<&str>(&[]).is_err());
}

#[test]
fn predicates_stop_at_the_first_that_is_true() {
    let mut compiler = compiler();
    let predicates =
        compiler.predicates(&["0", "", "$cookie_nocache", "$arg_nocache$arg_comment", "$host"]).unwrap();
    let never = compiler.predicates(&["0", ""]).unwrap();
    let always = compiler.predicates(&["1", "$host"]).unwrap();
    let request =
        Request::new(compiler.finish().unwrap()).with("arg_nocache", "1").with("cookie_nocache", "0");
    let mut frame = Frame::new();
    assert!(predicates.any_true(&request, &mut frame).unwrap());
    assert_eq!(*request.reads.borrow(), 3, "the last one is not asked");
    assert!(never.is_empty() && !never.any_true(&request, &mut frame).unwrap());
    assert!(always.any_true(&request, &mut frame).unwrap());
    let request = request.with("arg_nocache", "").with("arg_comment", "");
    assert!(!predicates.any_true(&request, &mut frame).unwrap());
}

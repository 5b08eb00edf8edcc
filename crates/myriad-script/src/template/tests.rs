use crate::frame::Frame;
use crate::template::ValueForm;
use crate::testing::{Request, compiler};

fn eval(text: &str, prepare: impl FnOnce(Request) -> Request) -> String {
    let mut compiler = compiler();
    let template = compiler.template(text).unwrap();
    let request = prepare(Request::new(compiler.finish().unwrap()));
    let (mut frame, mut out, mut scratch) = (Frame::new(), Vec::new(), b"old".to_vec());
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(template.value(&request, &mut frame, &mut scratch).unwrap(), out, "both ways agree");
    String::from_utf8(out).unwrap()
}

fn error(text: &str) -> (String, usize) {
    let error = compiler().template(text).unwrap_err();
    (error.message, error.offset)
}

#[test]
fn names_are_read_plain_and_in_braces() {
    let prepare =
        |request: Request| request.with("host", "example.com").with("built", "B").with("scheme", "https");
    assert_eq!(eval("", prepare), "");
    assert_eq!(eval("/plain", prepare), "/plain");
    assert_eq!(eval("$host", prepare), "example.com");
    assert_eq!(eval("$HOST", prepare), "example.com");
    assert_eq!(eval("$built", prepare), "B");
    assert_eq!(eval("$scheme://${host}s/$built-$absent!", prepare), "https://example.coms/B-!");
    assert_eq!(eval("${host}${host}", prepare), "example.comexample.com");
}

#[test]
fn a_dollar_without_a_name_is_refused_as_nginx_does() {
    assert_eq!(error("price: $"), ("invalid variable name".into(), 7));
    assert_eq!(error("$ x").0, "invalid variable name");
    assert_eq!(error("a$$host"), ("invalid variable name".into(), 1));
    assert_eq!(error("${}").0, "invalid variable name");
    assert_eq!(error("x${host"), ("the closing bracket in \"host\" variable is missing".into(), 1));
    assert_eq!(error("${ho-st}").0, "the closing bracket in \"ho\" variable is missing");
    assert_eq!(error("$0").0, "unknown \"0\" variable");
}

#[test]
fn unknown_names_bring_the_nearest_one() {
    assert_eq!(error("a $hots"), ("unknown \"hots\" variable, did you mean \"$host\"?".into(), 2));
    assert_eq!(error("$nothing_like_it").0, "unknown \"nothing_like_it\" variable");
}

#[test]
fn captures_take_one_digit() {
    let mut compiler = compiler();
    let template = compiler.template("$1-$2-$10-$3").unwrap();
    let regex = compiler.regex("^/(a+)(x)?(b+)", false).unwrap();
    let request = Request::new(compiler.finish().unwrap());
    let (mut frame, mut out) = (Frame::new(), Vec::new());
    assert!(regex.matches(b"/aabbb", &mut frame).unwrap());
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(out, b"aa--aa0-bbb");
    assert_eq!((frame.capture(2), frame.capture(3)), (None, Some(&b"bbb"[..])));
    frame.reset();
    assert_eq!(frame.capture(1), None);
}

#[test]
fn constants_and_single_variables_are_known_as_such() {
    let mut compiler = compiler();
    assert_eq!(compiler.template("/x").unwrap().as_static(), Some(&b"/x"[..]));
    assert_eq!(compiler.template("/x$host").unwrap().as_static(), None);
    let host = compiler.template("$host").unwrap().as_builtin().unwrap();
    assert_eq!(compiler.template("/x$host").unwrap().as_builtin(), None);
    assert!(compiler.template("/x$host").unwrap().reads(|id| id == host));
    assert!(!compiler.template("/x$uri").unwrap().reads(|id| id == host));
}

/// Format for tests that writes values in brackets.
struct BracketedForm;

impl ValueForm for BracketedForm {
    fn append(&self, value: &[u8], out: &mut Vec<u8>) {
        out.extend([b"<", value, b">"].concat());
    }

    fn convert_appended(&self, out: &mut Vec<u8>, from: usize) {
        let value = out.split_off(from);
        self.append(&value, out);
    }

    fn missing(&self) -> &[u8] {
        b"-"
    }
}

#[test]
fn text_values_and_missing_variables_are_written_distinctly() {
    let mut compiler = compiler();
    compiler.declare_set("$mine").unwrap();
    let template = compiler.template("a $host $built $absent$mine").unwrap();
    let request = Request::new(compiler.finish().unwrap()).with("host", "h").with("built", "");
    let mut out = b"before ".to_vec();
    template.write(&request, &mut Frame::new(), &mut out, &BracketedForm).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "before a <h> <> -<>");
}

#[test]
fn what_needs_no_form_is_left_as_it_was_made() {
    let mut compiler = compiler();
    let template = compiler.template("$built$digits").unwrap();
    let request = Request::new(compiler.finish().unwrap()).with("built", "1").with("digits", "2");
    let mut out = Vec::new();
    template.write(&request, &mut Frame::new(), &mut out, &BracketedForm).unwrap();
    assert_eq!(out, b"<1>2");
}

#[test]
fn reading_an_unset_variable_is_reported_once_a_request_and_gives_nothing() {
    let mut compiler = compiler();
    compiler.declare_set("$mine").unwrap();
    let template = compiler.template("[$mine$mine]").unwrap();
    let request = Request::new(compiler.finish().unwrap());
    let (mut frame, mut out) = (Frame::new(), Vec::new());
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(out, b"[]");
    assert_eq!(*request.uninitialized.borrow(), ["mine"]);
}

#[test]
fn user_variables_hide_prefixed_names_but_not_fixed_ones() {
    let mut compiler = compiler();
    compiler.declare_set("$cookie_a").unwrap();
    assert_eq!(compiler.declare_set("$host").unwrap_err().message, "the duplicate \"host\" variable");
    compiler.declare_set("$args").unwrap();
    assert_eq!(compiler.declare_lazy("args").unwrap_err().message, "the duplicate \"args\" variable");
    assert!(compiler.declare_set("$a.b").is_err());
    let template = compiler.template("$cookie_a$cookie_b").unwrap();
    let mine = compiler.variable("cookie_a").unwrap();
    let request = Request::new(compiler.finish().unwrap()).with("cookie_a", "theirs").with("cookie_b", "B");
    let (mut frame, mut out) = (Frame::new(), Vec::new());
    mine.assign(&mut frame, b"mine");
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(out, b"mineB");
}

#[test]
fn a_reset_frame_knows_nothing_of_the_last_request() {
    let mut compiler = compiler();
    let mine = compiler.variable("mine").unwrap();
    let template = compiler.template("$mine").unwrap();
    let request = Request::new(compiler.finish().unwrap());
    let mut frame = Frame::new();
    mine.assign(&mut frame, b"secret");
    let (mut out, mut scratch) = (Vec::new(), Vec::new());
    assert_eq!(template.value(&request, &mut frame, &mut scratch).unwrap(), b"secret");
    frame.reset();
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(out, b"");
}

#[test]
fn random_texts_compile_or_fail_with_an_offset_inside_them() {
    const PIECES: [&str; 12] =
        ["$", "{", "}", "host", "$host", "${host}", "$1", "é", " ", "\\", "$nope", "${"];
    for seed in 0..3000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let text: String = (0..random.usize(..8)).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
        let mut compiler = compiler();
        match compiler.template(&text) {
            Ok(template) => {
                let request = Request::new(compiler.finish().unwrap()).with("host", "h");
                let mut out = Vec::new();
                template.eval(&request, &mut Frame::new(), &mut out).unwrap();
                let expected = text
                    .replace("${host}", "h")
                    .replace("$host", "h")
                    .replace("$HOST", "h")
                    .replace("$1", "");
                assert_eq!(String::from_utf8(out).unwrap(), expected, "seed {seed}: {text}");
            }
            Err(error) => {
                assert_eq!(text.as_bytes().get(error.offset), Some(&b'$'), "seed {seed}: {text}");
            }
        }
    }
}

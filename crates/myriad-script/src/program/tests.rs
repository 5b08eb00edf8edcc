use super::*;
use crate::error::ScriptError;
use crate::testing::{Request, compiler};

fn set<'a>(variable: &'a str, value: &'a str) -> StepSource<'a> {
    StepSource { tag: 0, kind: StepKind::Set { variable, value } }
}

fn rewrite<'a>(pattern: &'a str, replacement: &'a str, flag: &'a str) -> StepSource<'a> {
    let flag = if flag.is_empty() { None } else { Some(flag) };
    StepSource { tag: 0, kind: StepKind::Rewrite { pattern, replacement, flag } }
}

fn returns<'a>(code: &'a str, text: Option<&'a str>) -> StepSource<'a> {
    StepSource { tag: 0, kind: StepKind::Return { code, text } }
}

const BREAK: StepSource<'static> = StepSource { tag: 0, kind: StepKind::Break };

fn when<'a>(condition: &[&'a str], id: Option<u32>, block: &[StepSource<'a>]) -> StepSource<'a> {
    let kind = StepKind::If { condition: condition.to_vec(), block: block.to_vec(), id: id.map(IfId) };
    StepSource { tag: 0, kind }
}

/// Result of a program, and the request after it.
struct RunOutcome {
    flow: ProgramResult,
    request: Request,
    output: String,
    mine: String,
}

impl RunOutcome {
    fn uri(&self) -> String {
        let (uri, args) = (&self.request.uri, &self.request.args);
        format!("{}?{}", String::from_utf8_lossy(uri), String::from_utf8_lossy(args))
    }
}

fn try_run(
    steps: &[StepSource<'_>],
    prepare: impl FnOnce(Request) -> Request,
) -> Result<RunOutcome, crate::error::EvalError> {
    let mut compiler = compiler();
    compiler.declare_set("$mine").unwrap();
    let program = compiler.program(steps).unwrap();
    let mine = compiler.template("$mine").unwrap();
    let mut request = prepare(Request::new(compiler.finish().unwrap()));
    let mut frame = Frame::new();
    let flow = program.run(&mut request, &mut frame)?;
    let mut value = Vec::new();
    mine.eval(&request, &mut frame, &mut value).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ok(RunOutcome { flow, request, output: text(frame.output()), mine: text(&value) })
}

fn run(steps: &[StepSource<'_>], prepare: impl FnOnce(Request) -> Request) -> RunOutcome {
    try_run(steps, prepare).unwrap()
}

#[test]
fn nothing_to_do_continues() {
    let ran = run(&[], |request| request);
    assert_eq!(ran.flow, ProgramResult { action: ProgramAction::Continue, matched_if: None });
}

#[test]
fn the_skip_cache_recipe_runs_in_order() {
    let steps = [
        set("$mine", "0"),
        when(&["($request_method", "=", "POST)"], None, &[set("$mine", "1")]),
        when(&["($query_string", "!=", "\")"], None, &[set("$mine", "2")]),
        when(
            &["($request_uri", "~*", "/wp-admin/|/xmlrpc.php|wp-.*.php|/feed/", ")"],
            None,
            &[set("$mine", "3")],
        ),
        when(
            &["($http_cookie", "~*", "wordpress_(?!test_cookie)|wp-postpass", ")"],
            None,
            &[set("$mine", "4")],
        ),
    ];
    let mine = |method: &str, uri: &str, cookie: &str| {
        let steps = [&steps[..2], &steps[3..]].concat();
        run(&steps, |request| {
            request.with("request_method", method).with("request_uri", uri).with("http_cookie", cookie)
        })
        .mine
    };
    assert_eq!(mine("GET", "/hello/", ""), "0");
    assert_eq!(mine("POST", "/hello/", ""), "1");
    assert_eq!(mine("POST", "/wp-admin/x", ""), "3");
    assert_eq!(mine("GET", "/", "wordpress_test_cookie=1"), "0");
    assert_eq!(mine("GET", "/", "wordpress_logged_in_1=x"), "4");
}

#[test]
fn the_last_if_with_a_configuration_of_its_own_is_named() {
    let yes = ["($host)"];
    let no = ["($absent)"];
    let steps = [
        when(&yes, Some(1), &[]),
        when(&yes, Some(2), &[set("$mine", "x")]),
        when(&yes, None, &[]),
        when(&no, Some(3), &[]),
    ];
    let ran = run(&steps, |request| request.with("host", "h"));
    assert_eq!(ran.flow, ProgramResult { action: ProgramAction::Continue, matched_if: Some(IfId(2)) });
    let steps = [when(&yes, Some(1), &[BREAK]), when(&yes, Some(2), &[])];
    let ran = run(&steps, |request| request.with("host", "h"));
    assert_eq!(ran.flow, ProgramResult { action: ProgramAction::Break, matched_if: Some(IfId(1)) });
}

#[test]
fn a_rewrite_without_flag_goes_on_with_the_new_uri() {
    let steps = [rewrite("^/a$", "/b", ""), rewrite("^/b$", "/c", ""), set("$mine", "$uri")];
    let ran = run(&steps, |request| request.at("/a", ""));
    assert_eq!(
        (ran.flow.action, ran.uri().as_str(), ran.mine.as_str()),
        (ProgramAction::UriChanged, "/c?", "/c")
    );
    assert_eq!(ran.request.log.borrow().first().unwrap(), "\"^/a$\" matches \"/a\"");
}

#[test]
fn flags_end_the_set() {
    for (flag, action) in [("last", ProgramAction::UriChanged), ("break", ProgramAction::Break)] {
        let steps = [rewrite("^/a", "/b", flag), set("$mine", "reached"), returns("404", None)];
        let ran = run(&steps, |request| request.at("/a", ""));
        assert_eq!((ran.flow.action, ran.uri().as_str(), ran.mine.as_str()), (action, "/b?", ""));
        let ran = run(&steps, |request| request.at("/other", ""));
        assert_eq!(ran.flow.action, ProgramAction::Return { status: 404, text: false });
    }
    let steps = [rewrite("^/a", "/b", ""), BREAK];
    assert_eq!(run(&steps, |request| request.at("/a", "")).flow.action, ProgramAction::Break);
}

#[test]
fn arguments_are_appended_unless_the_replacement_ends_in_a_question_mark() {
    let uri = |replacement: &str, args: &str| {
        run(&[rewrite("^/users/(.*)$", replacement, "last")], |request| request.at("/users/42", args)).uri()
    };
    assert_eq!(uri("/show?user=$1", "x=1"), "/show?user=42&x=1");
    assert_eq!(uri("/show?user=$1", ""), "/show?user=42");
    assert_eq!(uri("/show?user=$1?", "x=1"), "/show?user=42");
    assert_eq!(uri("/show/$1", "x=1"), "/show/42?x=1");
    assert_eq!(uri("/show/$1?", "x=1"), "/show/42?");
    assert_eq!(uri("/show?$args", "x=1"), "/show?x=1&x=1");
}

#[test]
fn redirects_are_known_by_flag_or_by_scheme() {
    let redirect = |replacement: &str, flag: &str| {
        let ran = run(&[rewrite("^/old/(.*)$", replacement, flag), returns("500", None)], |request| {
            request.at("/old/page", "x=1").with("scheme", "https").with("host", "h")
        });
        (ran.flow.action, ran.output)
    };
    let found = ProgramAction::Redirect { status: 302 };
    let moved = ProgramAction::Redirect { status: 301 };
    assert_eq!(redirect("/new/$1", "redirect"), (found, "/new/page?x=1".into()));
    assert_eq!(redirect("/new/$1", "permanent"), (moved, "/new/page?x=1".into()));
    assert_eq!(redirect("/new?p=$1", "permanent"), (moved, "/new?p=page&x=1".into()));
    assert_eq!(redirect("/new?p=$1?", "permanent"), (moved, "/new?p=page".into()));
    assert_eq!(redirect("http://o/$1?", ""), (found, "http://o/page".into()));
    assert_eq!(redirect("https://o/$1?", "last"), (found, "https://o/page".into()));
    assert_eq!(redirect("$scheme://$host/$1", "permanent"), (moved, "https://h/page?x=1".into()));
}

#[test]
fn captures_of_an_escaped_uri_are_escaped_again_in_redirects_and_arguments() {
    let ran = |replacement: &str, flag: &str, escaped: bool| {
        let ran = run(&[rewrite("^/f/(.*)$", replacement, flag)], |mut request| {
            request.escaped = escaped;
            request.at("/f/a b&c/d", "")
        });
        if ran.output.is_empty() { ran.uri() } else { ran.output }
    };
    // In a path, captures are not escaped. In the path of a redirect, `/` and `&` are decoded again.
    assert_eq!(ran("/g/$1", "last", true), "/g/a b&c/d?");
    assert_eq!(ran("/g?x=$1", "last", true), "/g?x=a%20b%26c/d");
    assert_eq!(ran("/g?x=$1", "last", false), "/g?x=a b&c/d");
    assert_eq!(ran("/g/$1", "permanent", true), "/g/a%20b&c/d");
    assert_eq!(ran("/g?x=$1", "permanent", true), "/g?x=a%20b%26c/d");
}

#[test]
fn set_takes_captures_escaped_until_a_rewrite_has_matched_as_nginx_does() {
    let escaped = |mut request: Request| {
        request.escaped = true;
        request.at("/a b", "")
    };
    let first = [when(&["($uri", "~", "^/(.*)$", ")"], None, &[set("$mine", "$1")])];
    assert_eq!(run(&first, escaped).mine, "a%20b");
    let after = [rewrite("^/(.*)$", "/$1", ""), set("$mine", "$1")];
    assert_eq!(run(&after, escaped).mine, "a b");
}

#[test]
fn no_redirect_can_split_the_response() {
    let steps = [returns("301", Some("https://$host$uri"))];
    let ran = run(&steps, |request| request.at("/x\r\nSet-Cookie: a=1", "").with("host", "h"));
    assert_eq!(ran.output, "https://h/x%0D%0ASet-Cookie: a=1");
    let steps = [rewrite("(?s)^(.*)$", "http://h$1", "")];
    let ran = run(&steps, |request| request.at("/x\r\ny", ""));
    assert_eq!(ran.output, "http://h/x%0D%0Ay");
}

#[test]
fn return_answers_with_codes_texts_and_urls() {
    let answer = |code: &str, text: Option<&str>| {
        let ran = run(&[returns(code, text)], |request| request.with("host", "h").with("scheme", "https"));
        (ran.flow.action, ran.output)
    };
    assert_eq!(answer("444", None), (ProgramAction::Return { status: 444, text: false }, String::new()));
    assert_eq!(
        answer("200", Some("hi $host\n")),
        (ProgramAction::Return { status: 200, text: true }, "hi h\n".into())
    );
    assert_eq!(
        answer("301", Some("$scheme://$host/")),
        (ProgramAction::Redirect { status: 301 }, "https://h/".into())
    );
    assert_eq!(answer("308", Some("/x")), (ProgramAction::Redirect { status: 308 }, "/x".into()));
    assert_eq!(
        answer("https://$host/", None),
        (ProgramAction::Redirect { status: 302 }, "https://h/".into())
    );
    assert_eq!(
        answer("$scheme://$host/", None),
        (ProgramAction::Redirect { status: 302 }, "https://h/".into())
    );
    assert_eq!(answer("301", None), (ProgramAction::Return { status: 301, text: false }, String::new()));
    assert_eq!(answer("404", Some("")), (ProgramAction::Return { status: 404, text: true }, String::new()));
}

#[test]
fn an_empty_uri_is_an_error() {
    let result = try_run(&[rewrite("^/(x?)", "$1", "last")], |request| request.at("/", ""));
    assert_eq!(result.err(), Some(crate::error::EvalError::EmptyUri));
}

#[test]
fn a_match_that_gives_up_is_an_error_and_not_a_miss() {
    let steps = [when(&["($uri", "~", "^(a+)+$", ")"], None, &[returns("403", None)])];
    let result = try_run(&steps, |request| request.at(&("a".repeat(3000) + "!"), ""));
    assert!(matches!(result.err(), Some(crate::error::EvalError::Regex { .. })));
}

#[test]
fn set_of_a_builtin_goes_to_the_embedder() {
    let steps = [set("$args", "$args&y=2"), set("$limit_rate", "10k"), set("$mine", "$args")];
    let ran = run(&steps, |request| request.at("/", "x=1"));
    assert_eq!(
        ran.request.assigned,
        [("args".into(), "x=1&y=2".into()), ("limit_rate".into(), "10k".to_owned())]
    );
    assert_eq!(ran.mine, "x=1&y=2");
}

#[test]
fn a_variable_may_grow_from_itself() {
    let steps = [set("$mine", "a"), set("$mine", "${mine}b"), set("$mine", "$mine$mine")];
    assert_eq!(run(&steps, |request| request).mine, "abab");
}

#[test]
fn names_may_be_set_after_their_use_and_inside_blocks() {
    let block = [set("$late", "1"), rewrite("^/(?<tail>.*)", "/x", "")];
    let steps = [set("$mine", "$late$tail$word"), when(&["($host", "~", "(?<word>x)", ")"], None, &block)];
    assert_eq!(run(&steps, |request| request).mine, "");
}

#[test]
fn all_errors_of_a_block_come_together_with_their_steps() {
    let step = |tag, kind| StepSource { tag, kind };
    let inner = vec![step(4, StepKind::Set { variable: "mine", value: "x" })];
    let steps = [
        step(1, StepKind::Rewrite { pattern: "(", replacement: "/", flag: None }),
        step(2, StepKind::Rewrite { pattern: "a", replacement: "/?x=$nope", flag: Some("last") }),
        step(3, StepKind::If { condition: vec!["(oops)"], block: inner, id: None }),
        step(5, StepKind::Return { code: "1000", text: None }),
        step(6, StepKind::Rewrite { pattern: "a", replacement: "/", flag: Some("lost") }),
        step(7, StepKind::Return { code: "/path", text: None }),
    ];
    let errors = compiler().program(&steps).unwrap_err();
    let mut items: Vec<_> = errors.iter().map(|error| error.item.unwrap()).collect();
    items.sort_unstable();
    assert_eq!(items, [1, 2, 3, 4, 5, 6, 7]);
    let at = |item: usize| errors.iter().find(|error| error.item == Some(item)).unwrap();
    assert_eq!((at(2).message.as_str(), at(2).offset), ("unknown \"nope\" variable", 4));
    assert_eq!(at(4).message, "invalid variable name \"mine\"");
    assert_eq!(at(5).message, "invalid return code \"1000\"");
    assert_eq!(at(6).message, "invalid parameter \"lost\"");
    let fixed = compiler().program(&[step(9, StepKind::Set { variable: "$host", value: "x" })]).unwrap_err();
    assert_eq!(fixed, [ScriptError::new("the duplicate \"host\" variable").in_item(9)]);
}

/// Checks that random programs are either rejected or run without a panic, twice with the same result.
#[test]
fn random_programs_run_to_the_same_end_every_time() {
    const TEXTS: [&str; 14] =
        ["$1", "/x", "?a=$1", "$host", "?", "http://h/", "%41", "$mine", "", "$uri", "é", "$args", "(", "${"];
    const PATTERNS: [&str; 8] = ["^/(.*)$", ".", "(a|b)*", "^$", "(?<n>x)", "(", "/", "%"];
    const FLAGS: [&str; 6] = ["", "last", "break", "redirect", "permanent", "no"];
    let mut finished = 0;
    for seed in 0..3000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = random.usize(1..6);
        let texts: Vec<String> = (0..count)
            .map(|_| (0..random.usize(1..4)).map(|_| TEXTS[random.usize(..TEXTS.len())]).collect())
            .collect();
        let steps: Vec<_> = texts
            .iter()
            .map(|text| match random.u8(..5) {
                0 => set("$mine", text),
                1 => rewrite(PATTERNS[random.usize(..8)], text, FLAGS[random.usize(..6)]),
                2 => when(&["$uri", "~", PATTERNS[random.usize(..8)]], Some(7), &[set("$mine", text), BREAK]),
                3 => returns("301", Some(text)),
                _ => when(&["$mine", "=", text], None, &[rewrite("^/(.)", text, "")]),
            })
            .collect();
        if compiler().program(&steps).is_err() {
            continue;
        }
        let go = || {
            try_run(&steps, |mut request| {
                request.escaped = seed % 2 == 0;
                request.at("/a b/%?x", "q=1").with("host", "h\r")
            })
            .map(|ran| (ran.flow, ran.uri(), ran.output, ran.mine))
        };
        let first = go();
        if let Ok((_, _, output, _)) = &first {
            assert!(!output.contains(['\r', '\n']), "seed {seed}: {output:?}");
        }
        assert_eq!(first, go(), "seed {seed}");
        finished += 1;
    }
    assert!(finished > 500, "{finished}");
}

/// Runs a program `count` times for one request, as after `last`, and returns its first error.
fn rounds(steps: &[StepSource<'_>], arguments: &str, count: usize) -> Result<(), crate::error::EvalError> {
    let mut compiler = compiler();
    let program = compiler.program(steps).unwrap();
    let mut request = Request::new(compiler.finish().unwrap()).at("/start", arguments);
    let mut frame = Frame::new();
    for _ in 0..count {
        program.run(&mut request, &mut frame)?;
        assert!(request.uri.len() + request.args.len() <= crate::MOST_TEXT);
    }
    Ok(())
}

#[test]
fn texts_that_take_themselves_up_again_are_bounded_and_the_directive_is_named() {
    let long = "a".repeat(8000);
    let assert_too_long = |steps: &[StepSource<'_>], named: &str| {
        rounds(steps, &long, 2).expect("short enough for two rounds");
        let error = rounds(steps, &long, 11).expect_err("too long");
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("\"{named}\" produces a text of more than 1048576 bytes: ")),
            "{text}"
        );
    };
    assert_too_long(&[set("$mine", "$mine$mine$args")], "set $mine");
    assert_too_long(&[set("$args", "$args&$args")], "set $args");
    assert_too_long(&[rewrite("^(.*)$", "$1/$args", ""), set("$args", "$args$args")], "rewrite ^(.*)$");
    assert_too_long(&[rewrite("^(.*)$", "/$1$1$args?$args", "last")], "rewrite ^(.*)$");
    assert_too_long(&[rewrite("^", "/next?a=$args", "last")], "rewrite ^");
    assert_too_long(
        &[set("$mine", "$mine$mine$args"), rewrite("^x", "/$mine$mine$mine", "redirect")],
        "set $mine",
    );
    let grown = set("$mine", "$mine$mine$args");
    let many = "$mine".repeat(20);
    let url = format!("http://h/{many}");
    for (last, named) in [
        (returns("200", Some(&many)), "return 200"),
        (rewrite("^/s", &url, ""), "rewrite ^/s"),
        (when(&["(-f", &format!("{many})")], None, &[]), "if"),
        (when(&["($uri", "=", &format!("{many})")], None, &[]), "if"),
    ] {
        assert_too_long(&[grown.clone(), last], named);
    }
    // Constant texts of the configuration have no limit.
    let own = "x".repeat(crate::MOST_TEXT + 1);
    assert_eq!(run(&[returns("200", Some(&own))], |request| request).output.len(), own.len());
}

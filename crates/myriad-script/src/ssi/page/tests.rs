use std::collections::HashMap;
use std::fmt::Write;

use super::*;
use crate::ssi::shared::PatternGroups;

/// Request with the given variables, in which a pattern is a plain text.
#[derive(Debug, Default)]
pub(crate) struct FakeRequest {
    pub(crate) variables: HashMap<String, String>,
    pub(crate) log: String,
}

impl PageEnvironment for FakeRequest {
    fn variable(&mut self, name: &[u8], time_format: &[u8]) -> Option<Vec<u8>> {
        if name == b"date_gmt" {
            return Some(time_format.to_vec());
        }
        self.variables.get(std::str::from_utf8(name).unwrap()).map(|value| value.clone().into_bytes())
    }

    fn search(&mut self, pattern: &[u8], subject: &[u8]) -> Result<Option<PatternGroups>, String> {
        if pattern == b"(" {
            return Err("unbalanced".to_owned());
        }
        let at = subject.windows(pattern.len().max(1)).position(|window| window == pattern);
        let found = at.map(|at| at..at + pattern.len());
        Ok(found.map(|whole| PatternGroups { numbered: [whole].to_vec(), named: vec![("found".into(), 0)] }))
    }

    fn uri(&self) -> &[u8] {
        b"/folder/page.html"
    }

    fn log(&mut self, message: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.log, "{message}");
    }
}

const RULES: SsiRules = SsiRules { value_length: 255, silent_errors: false };

/// Returns a page with its includes shown in brackets, and the log. The page arrives in pieces of `size` bytes.
fn run(page: &[u8], size: usize, rules: SsiRules) -> (String, String) {
    let mut request = FakeRequest::default();
    request.variables.insert("arg_a".into(), "<A>".into());
    request.variables.insert("empty".into(), String::new());
    let mut reader = SsiPage::new(rules, Rc::default());
    let mut out = Vec::new();
    let mut whole = Vec::new();
    for mut piece in page.chunks(size.max(1)) {
        while !piece.is_empty() {
            let include = reader.push(&mut piece, &mut request, &mut out);
            whole.append(&mut out);
            if let Some(SsiInclude { uri, wait, then }) = include {
                let uri = String::from_utf8_lossy(&uri).into_owned();
                whole.extend_from_slice(format!("[{uri} {wait} {then:?}]").as_bytes());
            }
        }
    }
    reader.finish(&mut request, &mut out);
    whole.append(&mut out);
    (String::from_utf8(whole).unwrap(), request.log)
}

/// Returns a processed page, and checks that the result is the same for pieces of any size.
fn shown(page: &str) -> String {
    let whole = run(page.as_bytes(), page.len(), RULES);
    for size in 1..page.len() {
        assert_eq!(run(page.as_bytes(), size, RULES), whole, "{page} in pieces of {size}");
    }
    whole.0
}

const ERROR: &str = "[an error occurred while processing the directive]";

#[test]
fn echo_writes_variables_of_the_request_and_of_the_page() {
    assert_eq!(shown("<!--#echo var=\"arg_a\" -->"), "&lt;A&gt;");
    assert_eq!(shown("<!--#echo var=\"ARG_A\" encoding=\"none\" -->"), "<A>");
    assert_eq!(shown("-<!--#echo var=\"empty\" default=\"x\" -->-"), "--");
    assert_eq!(shown("<!--#echo var=\"nothing\" -->"), "(none)");
    assert_eq!(shown("<!--#echo var=\"nothing\" default=\"d\" -->"), "d");
    assert_eq!(shown("-<!--#echo var=\"nothing\" default=\"\" -->-"), "--");
    assert_eq!(shown("<!--#set var=\"B\" value=\"$arg_a!\" --><!--#echo var=\"b\" -->"), "&lt;A&gt;!");
    assert_eq!(
        shown("<!--#echo var=\"arg_a\" encoding=\"url\" --> <!--#echo var=\"arg_a\" -->"),
        "%3CA%3E %3CA%3E",
        "an encoding stays"
    );
}

#[test]
fn one_branch_of_an_if_is_shown() {
    let page = |value: &str| {
        shown(&format!(
            "<!--#set var=\"x\" value=\"{value}\" --><!--#if expr=\"$x = 1\" -->one<!--#elif expr=\"$x = 2\" -->two\
             <!--#echo var=\"x\" --><!--#else -->other<!--#endif -->."
        ))
    };
    assert_eq!(page("1"), "one.");
    assert_eq!(page("2"), "two2.");
    assert_eq!(page("3"), "other.");
    let hidden =
        "<!--#if expr=\"$empty\" -->a<!--#include virtual=\"/x\" --><!--#nonsense --><!--#endif -->b";
    assert_eq!(shown(hidden), "b");
}

#[test]
fn commands_out_of_place_are_errors() {
    assert_eq!(shown("<!--#else -->"), ERROR);
    assert_eq!(shown("<!--#endif -->"), ERROR);
    assert_eq!(shown("<!--#elif expr=\"$x\" -->"), ERROR);
    assert_eq!(shown("<!--#nonsense -->x"), format!("{ERROR}x"));
    assert_eq!(shown("<!--#echo -->"), ERROR);
    assert_eq!(shown("<!--#echo var -->"), ERROR);
    let nested = "<!--#if expr=\"1\" -->a<!--#if expr=\"1\" -->b<!--#endif -->c";
    assert_eq!(shown(nested), format!("a{ERROR}bc"));
    let twice = "<!--#if expr=\"$no\" --><!--#else -->a<!--#else -->b<!--#endif -->";
    assert_eq!(shown(twice), format!("a{ERROR}b"));
}

#[test]
fn error_message_is_configured_or_silenced() {
    assert_eq!(shown("<!--#config errmsg=\"oh\" --><!--#x --><!--#echo -->"), "ohoh");
    let silent = SsiRules { silent_errors: true, ..RULES };
    let (text, log) = run(b"a<!--#x -->b<!--#echo var -->c", 100, silent);
    assert_eq!(text, "abc");
    assert_eq!(log.lines().count(), 2, "{log}");
}

#[test]
fn dates_are_written_in_the_format_of_the_page() {
    assert_eq!(shown("<!--#echo var=\"date_gmt\" -->"), "%A, %d-%b-%Y %H:%M:%S %Z");
    assert_eq!(
        shown(
            "<!--#config timefmt=\"%s\" --><!--#set var=\"d\" value=\"$date_gmt\" --><!--#echo var=\"d\" -->"
        ),
        "%s"
    );
}

#[test]
fn includes_name_uris_from_the_folder_of_the_page() {
    assert_eq!(shown("a<!--#include virtual=\"/x?y\" -->b"), "a[/x?y false Show]b");
    assert_eq!(shown("<!--#include virtual=\"x\" wait=\"yes\" -->"), "[/folder/x true Show]");
    assert_eq!(shown("<!--#include file=\"x.html\" -->"), "[/folder/x.html true Show]");
    assert_eq!(shown("<!--#include virtual=\"$empty$arg_a\" -->"), "[/folder/<A> false Show]");
    assert_eq!(shown("<!--#include virtual=\"/x\" set=\"A\" -->"), "[/x true Set([97])]");
    assert_eq!(shown("<!--#include virtual=\"/x\" stub=\"none\" -->"), ERROR);
}

#[test]
fn blocks_keep_text_and_commands_for_stubs() {
    let page = "<!--#block name=\"one\" -->text <!--#echo var='a\"b' default=\"\\\"\" --><!--#endblock -->\
                <!--#include virtual=\"/x\" stub=\"one\" -->.";
    let stub = "text <!--#echo var='a\"b' default=\"\\\"\" -->";
    assert_eq!(shown(page), format!("[/x false Stub(b{stub:?})]."));
}

#[test]
fn a_page_with_much_text_comes_back_in_between() {
    let mut reader = SsiPage::new(RULES, Rc::default());
    let page = "x".repeat(10 * WINDOW) + &"<b>".repeat(WINDOW);
    let (mut input, mut out, mut whole, mut turns) = (page.as_bytes(), Vec::new(), Vec::new(), 0);
    while !input.is_empty() {
        assert!(reader.push(&mut input, &mut FakeRequest::default(), &mut out).is_none());
        whole.append(&mut out);
        turns += 1;
    }
    assert!(whole == page.as_bytes() && turns > 3, "{turns}");
}

#[test]
fn any_bytes_come_to_the_same_in_any_pieces() {
    let parts: [&str; 16] = [
        "<!--#",
        "-->",
        "--",
        "<",
        "x",
        " ",
        "\"",
        "'",
        "=",
        "\\",
        "echo var=\"a\"",
        "if expr=\"$a\"",
        "set",
        "endif ",
        "block name=\"b\"",
        "endblock ",
    ];
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..2000 {
        let page: String = (0..random.usize(1..20)).map(|_| parts[random.usize(..parts.len())]).collect();
        let whole = run(page.as_bytes(), page.len(), RULES);
        assert_eq!(run(page.as_bytes(), 1, RULES), whole, "{page}");
        assert_eq!(run(page.as_bytes(), 3, RULES), whole, "{page}");
    }
}

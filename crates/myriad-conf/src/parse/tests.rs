use std::path::Path;

use super::{MAX_DEPTH, parse};
use crate::{BuiltinFile, MemoryLoader, Node, ParsedConfiguration, dump};

const MAIN: &str = "/etc/nginx/nginx.conf";

fn read(text: impl Into<Vec<u8>>) -> ParsedConfiguration {
    parse(&MemoryLoader::with(MAIN, text), Path::new(MAIN), b"", &[])
}

/// Returns nodes as one line: each word in `<>`, each block in `{}`.
fn show(nodes: &[Node]) -> String {
    let one = |node: &Node| {
        let words = std::iter::once(&node.name).chain(&node.args);
        let words: Vec<_> = words.map(|word| format!("<{}>", word.text.escape_ascii())).collect();
        let block = node.block.as_ref().map_or(String::new(), |block| format!("{{{}}}", show(block)));
        words.join("") + &block
    };
    nodes.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn reads(text: &str, expected: &str) {
    let parsed = read(text);
    assert_eq!(parsed.errors, [], "{text}");
    assert_eq!(show(&parsed.nodes), expected, "{text}");
}

#[track_caller]
fn fails(text: &str, message: &str) {
    let errors = read(text).errors;
    assert!(errors.iter().any(|error| error.message.contains(message)), "{text}: {errors:?}");
}

#[test]
fn words_are_separated_by_whitespace_and_terminated_by_semicolon() {
    reads("a b\tc\r\nd;e;", "<a><b><c><d> <e>");
    reads("", "");
    reads(" # nothing\n", "");
}

#[test]
fn quotes_hold_spaces_newlines_and_syntax_together() {
    reads(r#"a "b c;{}#" 'd "e"' "";"#, r#"<a><b c;{}#><d \"e\"><>"#);
    reads("a 'two\nlines';", "<a><two\\nlines>");
}

#[test]
fn a_quote_inside_a_bare_word_is_text() {
    reads(r#"a b"c d'e;"#, r#"<a><b\"c><d\'e>"#);
}

#[test]
fn backslashes_escape_quotes_and_controls_and_stay_before_the_rest() {
    reads(r#"a "\"\'\\\t\r\n\d\.";"#, r#"<a><\"\'\\\t\r\n\\d\\.>"#);
    reads(r"a b\ c \; \{ \#d;", r"<a><b\\ c><\\;><\\{><\\#d>");
    reads(r"location ~ \.php$ {}", r"<location><~><\\.php$>{}");
}

#[test]
fn a_comment_starts_a_word_only() {
    reads("a#b c # rest ; {\n;", "<a#b><c>");
}

#[test]
fn braces_after_a_dollar_belong_to_the_word() {
    reads("a ${b}c; d $e${f}{g;}", "<a><${b}c> <d><$e${f}>{<g>}");
    reads("a \"${b\";", "<a><${b>");
}

#[test]
fn a_closing_brace_inside_a_word_is_text() {
    reads("a b}c; d{e;}", "<a><b}c> <d>{<e>}");
}

#[test]
fn a_parenthesis_may_follow_a_quoted_word() {
    reads(r#"if ($a = "b c"){d;}"#, "<if><($a><=><b c><)>{<d>}");
}

#[test]
fn blocks_nest() {
    reads("a{b{c d;}e;}f;", "<a>{<b>{<c><d>} <e>} <f>");
}

#[test]
fn bytes_of_any_kind_survive() {
    let parsed = read(b"a \xff\xfe\x00 '\xc3';".to_vec());
    assert_eq!(parsed.errors, []);
    assert_eq!(show(&parsed.nodes), r"<a><\xff\xfe\x00><\xc3>");
}

#[test]
fn a_byte_order_mark_is_no_text() {
    reads("\u{feff}a;", "<a>");
}

#[test]
fn a_line_of_a_megabyte_is_read() {
    let parsed = read(format!("a {};", "x".repeat(1 << 20)));
    assert_eq!(parsed.errors, []);
    assert_eq!(parsed.nodes[0].args[0].text.len(), 1 << 20);
}

#[test]
fn broken_syntax_is_named() {
    fails("a", "unexpected end of file, expecting \";\" or \"}\"");
    fails("a {", "expecting \"}\"");
    fails("}", "unexpected \"}\"");
    fails("a b }", "unexpected \"}\"");
    fails(";", "unexpected \";\"");
    fails("{}", "unexpected \"{\"");
    fails("a 'b;", "missing terminating `'`");
    fails("a 'b'c;", "unexpected \"c\"");
    fails("include;", "takes one argument");
}

#[test]
fn spans_cover_what_was_written() {
    let parsed = read("ab 'c d'; e { f; }");
    let at = |span: crate::Span| (span.start, span.end);
    assert_eq!(at(parsed.nodes[0].span), (0, 8));
    assert_eq!(at(parsed.nodes[0].args[0].span), (3, 8));
    assert_eq!(at(parsed.nodes[1].span), (10, 11));
}

#[test]
fn blocks_too_deep_are_an_error_and_end() {
    let nested = |depth: usize| read("a{".repeat(depth) + &"}".repeat(depth));
    assert_eq!(nested(MAX_DEPTH).errors.len(), 0);
    for depth in [MAX_DEPTH + 1, 100_000] {
        let parsed = nested(depth);
        assert_eq!(parsed.errors.len(), 1);
        assert!(parsed.errors[0].message.contains("nested more than"));
    }
}

#[test]
fn includes_are_relative_to_the_folder_of_the_main_file() {
    let loader = MemoryLoader::with(MAIN, "include conf.d/a.conf;")
        .and("/etc/nginx/conf.d/a.conf", "a; include b.conf; include /abs/c.conf;")
        .and("/etc/nginx/b.conf", "b;")
        .and("/abs/c.conf", "c;");
    let parsed = parse(&loader, Path::new(MAIN), b"", &[]);
    assert_eq!(parsed.errors, []);
    assert_eq!(show(&parsed.nodes), "<a> <b> <c>");
}

#[test]
fn patterns_include_sorted_and_may_match_nothing() {
    let loader = MemoryLoader::with(MAIN, "include sites/*.conf; include none/*; include s?tes/[bc].conf;")
        .and("/etc/nginx/sites/b.conf", "b;")
        .and("/etc/nginx/sites/a.conf", "a;")
        .and("/etc/nginx/sites/.hidden.conf", "hidden;")
        .and("/etc/nginx/sites/a.txt", "text;");
    let parsed = parse(&loader, Path::new(MAIN), b"", &[]);
    assert_eq!(parsed.errors, []);
    assert_eq!(show(&parsed.nodes), "<a> <b> <b>");
}

#[test]
fn an_absent_file_is_an_error_where_it_is_named() {
    let parsed = read("include nowhere.conf;");
    assert!(parsed.errors[0].message.starts_with("cannot open \"/etc/nginx/nowhere.conf\""));
    assert_eq!((parsed.errors[0].span.start, parsed.errors[0].span.end), (8, 20));
}

#[test]
fn an_include_that_reaches_itself_is_an_error() {
    let loader = MemoryLoader::with(MAIN, "include a;").and("/etc/nginx/a", "x; include nginx.conf;");
    let parsed = parse(&loader, Path::new(MAIN), b"", &[]);
    assert_eq!(parsed.errors.len(), 1);
    assert!(parsed.errors[0].message.contains("includes itself"));
    assert_eq!(show(&parsed.nodes), "<x>");
}

#[test]
fn includes_that_multiply_end() {
    let mut loader = MemoryLoader::with(MAIN, "include 0;").and("/etc/nginx/20", "x; x; x; x;");
    for n in 0..20 {
        loader =
            loader.and(format!("/etc/nginx/{n}"), format!("include {0}; include {0}; include {0};", n + 1));
    }
    let parsed = parse(&loader, Path::new(MAIN), b"", &[]);
    assert_eq!(parsed.errors.len(), 1);
    assert!(parsed.errors[0].message.contains("check for includes that multiply"));
}

#[test]
fn a_block_may_not_end_in_another_file() {
    let loader = MemoryLoader::with(MAIN, "a { include b; }").and("/etc/nginx/b", "b; }");
    assert_eq!(parse(&loader, Path::new(MAIN), b"", &[]).errors.len(), 1);
    let loader = MemoryLoader::with(MAIN, "include b; }").and("/etc/nginx/b", "b {");
    assert_eq!(parse(&loader, Path::new(MAIN), b"", &[]).errors.len(), 2);
}

#[test]
fn built_in_tables_stand_in_for_absent_files_only() {
    let parsed = read("include mime.types;");
    assert_eq!(parsed.errors, []);
    assert!(parsed.sources[1..].iter().all(|source| source.builtin));
    let text = show(&parsed.nodes);
    assert!(text.contains("<application/javascript><js><mjs>") && text.contains("<image/webp><webp>"));

    let loader = MemoryLoader::with(MAIN, "include mime.types;").and("/etc/nginx/mime.types", "own;");
    assert_eq!(show(&parse(&loader, Path::new(MAIN), b"", &[]).nodes), "<own>");
}

#[test]
fn a_table_of_a_protocol_is_found_by_its_name_in_any_folder() {
    let tables = [BuiltinFile { name: "some_params", text: || "some A b;".to_owned() }];
    let parse = |loader: &MemoryLoader| parse(loader, Path::new(MAIN), b"", &tables);
    let parsed = parse(&MemoryLoader::with(MAIN, "include some_params; include /x/some_params;"));
    assert_eq!(parsed.errors, []);
    assert_eq!(show(&parsed.nodes), "<some><A><b> <some><A><b>");
    let own = MemoryLoader::with(MAIN, "include some_params;").and("/etc/nginx/some_params", "own;");
    assert_eq!(show(&parse(&own).nodes), "<own>");
    assert_eq!(parse(&MemoryLoader::with(MAIN, "include other_params;")).errors.len(), 1);
}

#[test]
fn global_directives_come_first_and_need_no_semicolon() {
    let loader = MemoryLoader::with(MAIN, "a;");
    for globals in ["daemon off", "daemon off;", "daemon off; "] {
        let parsed = parse(&loader, Path::new(MAIN), globals.as_bytes(), &[]);
        assert_eq!(parsed.errors, [], "{globals}");
        assert_eq!(show(&parsed.nodes), "<daemon><off> <a>", "{globals}");
    }
}

#[test]
fn dump_prints_every_file_once() {
    let loader = MemoryLoader::with(MAIN, "include b; include b;").and("/etc/nginx/b", "b;\n");
    let text = String::from_utf8(dump(&parse(&loader, Path::new(MAIN), b"daemon off;", &[]))).unwrap();
    let expected = "# configuration file /etc/nginx/nginx.conf:\ninclude b; include b;\n\
                    # configuration file /etc/nginx/b:\nb;\n\n";
    assert_eq!(text, expected);
}

//! Removal of white space and comments from scripts (`rewrite_javascript`).

use super::JsRefusal;
use super::lexer::{JsKind, JsToken, is_word, joins_punctuators, lex};
use crate::OptimizeLimits;

/// Removes white space and comments that have no meaning. Line breaks are retained where a semicolon may be inserted at
/// them (ECMAScript 2025, section 12.10). Comments with licenses are retained.
///
/// Returns an error if the script is longer than `script_bytes` of the limits, is not understood, starts with `#!`,
/// contains comments in the syntax of HTML, or may search the source of its functions for comments; also if the tokens
/// of the result, or the line breaks between them that can have a meaning, differ from those of the original. As the
/// grammar of ECMAScript consists of tokens and these line breaks, the syntax tree stays the same.
///
/// ```
/// let limits = myriad_optimize::OptimizeLimits::default();
/// let js = "function f( a ) {\n  return a + + 1; // x\n}\n\nf ( /a  b/ )\nvar b";
/// let shorter = myriad_optimize::js::rewrite_javascript(js, &limits);
/// assert_eq!(shorter.as_deref(), Ok("function f(a){return a+ +1;}\nf(/a  b/)\nvar b"));
/// ```
pub fn rewrite_javascript(text: &str, limits: &OptimizeLimits) -> Result<String, JsRefusal> {
    if text.len() > limits.script_bytes {
        return Err(JsRefusal::TooLong);
    }
    if text.starts_with("#!") {
        return Err(JsRefusal::Hashbang);
    }
    let tokens = lex(text)?;
    refuse_doubtful(text, &tokens)?;
    let result = written(text, &tokens);
    let rewritten = lex(&result).map_err(|_| JsRefusal::Different)?;
    refuse_doubtful(&result, &rewritten)?;
    if !relevant(text, &tokens).eq(relevant(&result, &rewritten)) {
        return Err(JsRefusal::Different);
    }
    Ok(result)
}

/// Returns a word in a script that may make the script's effect depend on its URL, such as `currentScript`; `None` if
/// it contains no such word.
pub(crate) fn reads_own_url(text: &str) -> Option<&'static str> {
    const WORDS: [&str; 4] = ["currentScript", "sourceURL", ".stack", "import"];
    let is_used = |word: &&'static str| match *word {
        // Imports are resolved against the URL. In names and texts, the word has no meaning.
        "import" => text.contains(word) && has_word(text, word),
        word => text.contains(word),
    };
    WORDS.into_iter().find(is_used)
}

/// Returns whether a script has a keyword; true if it cannot be split into tokens.
fn has_word(text: &str, word: &str) -> bool {
    lex(text).map_or(true, |tokens| {
        tokens.iter().any(|token| token.kind == JsKind::Word && &text[token.range.clone()] == word)
    })
}

/// Refuses comments in the syntax of HTML, and regular expressions that search for comments (`\/\*`).
fn refuse_doubtful(text: &str, tokens: &[JsToken]) -> Result<(), JsRefusal> {
    for token in tokens {
        let rest = &text[token.range.start..];
        match token.kind {
            JsKind::Punctuator if rest.starts_with("<!--") || rest.starts_with("-->") => {
                return Err(JsRefusal::HtmlComment);
            }
            JsKind::Regex if text[token.range.clone()].contains("\\/\\*") => {
                return Err(JsRefusal::ReadsComments);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the tokens other than white space and comments, each with true if a line break before it can have a meaning.
fn relevant<'a>(text: &'a str, tokens: &'a [JsToken]) -> impl Iterator<Item = (JsKind, &'a str, bool)> {
    let (mut before, mut has_line) = ("", false);
    tokens.iter().filter_map(move |token| {
        if token.kind.is_trivia() {
            has_line |= breaks_line(token.kind);
            return None;
        }
        let word = &text[token.range.clone()];
        let is_relevant = has_line && !before.is_empty() && line_matters(before, word);
        (before, has_line) = (word, false);
        Some((token.kind, word, is_relevant))
    })
}

fn breaks_line(kind: JsKind) -> bool {
    matches!(kind, JsKind::LineBreak | JsKind::LongComment)
}

/// Returns whether a line break between two tokens can have a meaning. It cannot after an opening brace, bracket or
/// parenthesis, a comma or a semicolon, because no statement is complete there; nor before a closing one, because a
/// statement is terminated there with or without the line break, or cannot be terminated.
fn line_matters(before: &str, after: &str) -> bool {
    !(matches!(before, "{" | "(" | "[" | "," | ";")
        || before.ends_with("${")
        || matches!(after, "}" | ")" | "]"))
}

fn written(text: &str, tokens: &[JsToken]) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut before, mut has_line, mut has_gap) = ("", false, false);
    // A license is on separate lines. If that inserts a line break with a meaning, the comparison refuses the result.
    for token in tokens {
        let word = &text[token.range.clone()];
        if token.kind.is_trivia() {
            if is_licence(token.kind, word) {
                if !out.is_empty() && !out.ends_with('\n') {
                    out.push('\n');
                }
                out.push_str(word);
                out.push('\n');
            }
            has_line |= breaks_line(token.kind);
            has_gap = true;
            continue;
        }
        if has_gap && !before.is_empty() && !out.ends_with('\n') {
            if has_line && line_matters(before, word) {
                out.push('\n');
            } else if needs_space(before, word) {
                out.push(' ');
            }
        }
        out.push_str(word);
        (before, has_line, has_gap) = (word, false, false);
    }
    out
}

/// Returns whether a comment must be retained: it contains a license (`!`, `@license`, `@preserve`) or conditional
/// statements of old browsers (`@cc_on`).
fn is_licence(kind: JsKind, comment: &str) -> bool {
    matches!(kind, JsKind::Comment | JsKind::LongComment)
        && (comment.starts_with("/*!")
            || comment.starts_with("//!")
            || ["@license", "@preserve", "@cc_on"].iter().any(|mark| comment.contains(mark)))
}

/// Returns whether two tokens would become other tokens, or start a comment, without a space between them.
fn needs_space(before: &str, after: &str) -> bool {
    let (Some(last), Some(first)) = (before.chars().next_back(), after.chars().next()) else { return false };
    let is_wordlike = |c: char| is_word(c) || matches!(c, '#' | '\\');
    let is_number = before.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
    let is_regex = before.len() > 2 && before.starts_with('/');
    let joins_comment =
        matches!((last, first), ('/', '/' | '*' | '=') | ('*', '/') | ('<', '!') | ('-', '>'));
    is_wordlike(last) && is_wordlike(first)
        || is_number && first == '.'
        || is_regex && is_wordlike(first)
        || joins_comment
        || joins_punctuators(before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> Result<String, JsRefusal> {
        rewrite_javascript(text, &OptimizeLimits::default())
    }

    #[test]
    fn white_space_and_comments_are_removed() {
        for (text, expected) in [
            ("", ""),
            ("// a\n/* b */", ""),
            ("var  a = 1 ; // b\nvar c", "var a=1;var c"),
            ("a\nb", "a\nb"),
            ("a /* b\n */ c", "a\nc"),
            ("return\na", "return\na"),
            ("f(\n  a ,\n  b\n)\n(c)", "f(a,b)\n(c)"),
            ("if (a) {\n b()\n}\nelse { c }", "if(a){b()}\nelse{c}"),
            ("a + +b - -c + ++d", "a+ +b- -c+ ++d"),
            ("a = b / c / d", "a=b/c/d"),
            ("a = / x /.test( b )", "a=/ x /.test(b)"),
            ("x = a ? .5 : ! b && ~ c", "x=a? .5:!b&&~c"),
            ("'a  b' + \"//\" + `  ${ a }  `", "'a  b'+\"//\"+`  ${a}  `"),
            ("typeof 'a' in b", "typeof'a'in b"),
            ("1 .a + 1. .b", "1 .a+1. .b"),
            ("async  ( a ) => { }", "async(a)=>{}"),
            ("/*! (c) */\nvar a", "/*! (c) */\nvar a"),
            ("a;\n// @license b\nc", "a;\n// @license b\nc"),
            ("a\u{2028}b\u{a0}c", "a\nb c"),
            ("class A { #a = 1\n #b\n static  async * c ( ) { } }", "class A{#a=1\n#b\nstatic async*c(){}}"),
            ("a\n++\nb", "a\n++\nb"),
            ("//# sourceMappingURL=a.map", ""),
        ] {
            assert_eq!(rewritten(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn dependence_on_the_url_is_found() {
        for (text, expected) in [
            ("document.currentScript.src", Some("currentScript")),
            ("new Error().stack", Some(".stack")),
            ("import('./a.js')", Some("import")),
            ("import.meta.url", Some("import")),
            ("importScripts('a.js')", None),
            ("'import a'; // import\nimportant", None),
            ("eval('a//# sourceURL=b')", Some("sourceURL")),
        ] {
            assert_eq!(reads_own_url(text), expected, "{text}");
        }
    }

    #[test]
    fn doubtful_scripts_are_left_unchanged() {
        for (text, expected) in [
            ("a <!--b", JsRefusal::HtmlComment),
            ("a\n--> b", JsRefusal::HtmlComment),
            ("#!/usr/bin/node\n", JsRefusal::Hashbang),
            ("x.replace(/\\/\\*/, '')", JsRefusal::ReadsComments),
            ("a /*! b */ c", JsRefusal::Different),
        ] {
            assert_eq!(rewritten(text), Err(expected), "{text}");
        }
        assert_eq!(rewritten("a < ! --b").as_deref(), Ok("a< !--b"));
        let limits = OptimizeLimits { script_bytes: 3, ..OptimizeLimits::default() };
        assert_eq!(rewrite_javascript("a; b", &limits), Err(JsRefusal::TooLong));
    }

    #[test]
    fn random_scripts_keep_their_tokens_and_are_stable() {
        let words = [
            "a", "1", ".", "+", "-", "++", "--", "/", "*", "=", "<", ">", "!", "(", ")", "{", "}", "[", "]",
            ";", ",", " ", "\n", "'s'", "`", "${", "//x\n", "/* */", "/*\n*/", "return", "if", "?", ":", "&",
            "|", "=>", "\\", "\u{e9}", "\u{2028}", "#", "@", "%", "0x1", "/*! */", "?.", "'", "in",
        ];
        let mut count = 0;
        for seed in 0..50_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let text: String = (0..random.usize(..20)).filter_map(|_| random.choice(words)).collect();
            let Ok(once) = rewritten(&text) else { continue };
            count += 1;
            assert!(once.len() <= text.len() + 2 * text.matches("/*!").count(), "{text:?} {once:?}");
            assert_eq!(rewritten(&once).as_deref(), Ok(once.as_str()), "seed {seed}: {text}");
        }
        assert!(count > 2000, "{count}");
    }
}

use super::*;

/// Returns the shared page, with its holes shown in brackets: `[src|fallback]`. The page arrives in pieces of `step`
/// bytes.
fn cut_in(page: &[u8], token: Option<&str>, limits: &EsiLimits, step: usize) -> (String, RejectedMarkup) {
    let declaration =
        EsiDeclaration { token: token.map(|token| token.as_bytes().into()), ..EsiDeclaration::default() };
    let mut cutter = Cutter::new(&declaration, limits.clone());
    let mut collected = HoleCollector::default();
    for piece in page.chunks(step.max(1)) {
        cutter.push(piece, &mut collected);
        assert!(
            cutter.undecided.len() < LONGEST_TAG + piece.len(),
            "{} bytes are held",
            cutter.undecided.len()
        );
    }
    let refused = cutter.finish(&mut collected);
    let (mut shown, mut from) = (String::new(), 0);
    let text = |from: usize, to: usize| String::from_utf8_lossy(&collected.text[from..to]).into_owned();
    for hole in &collected.holes {
        let at = hole.at as usize;
        let end = at + hole.inline as usize;
        shown += &text(from, at);
        let src = String::from_utf8_lossy(&hole.include.src);
        shown = format!("{shown}[{src}|{}]", text(at, end));
        from = end;
    }
    (shown + &text(from, collected.text.len()), refused)
}

fn limits() -> EsiLimits {
    EsiLimits { includes: 4, host: (*b"example.org").into() }
}

/// Returns the shared page, and checks that it is the same for pieces of any size.
fn cut(page: &str, token: Option<&str>) -> (String, RejectedMarkup) {
    let whole = cut_in(page.as_bytes(), token, &limits(), page.len());
    for step in [1, 2, 3, 7] {
        assert_eq!(cut_in(page.as_bytes(), token, &limits(), step), whole, "{step} bytes at a time: {page}");
    }
    whole
}

#[track_caller]
fn comes_to(page: &str, expected: &str) {
    assert_eq!(cut(page, None), (expected.to_owned(), RejectedMarkup::default()), "{page}");
}

const TOKEN: Option<&str> = Some("0123abcd");

#[test]
fn markup_is_cut_out() {
    comes_to("a<esi:include src=\"/b\"/>c", "a[/b|]c");
    comes_to("a<esi:include src='/b?c=1&amp;d'>text</esi:include>e", "a[/b?c=1&d|text]e");
    comes_to("a<esi:remove>b<i></esi:remove>c", "ac");
    comes_to("a<esi:comment text='b>'/>c", "ac");
    comes_to("a<!--esi <b> -->c", "a <b> c");
    comes_to("<!--esi <esi:include src='/a'/>-->--><!-- b -->", " [/a|]--><!-- b -->");
    comes_to("<esi:inline name='/a' cache-control='private'>x</esi:inline><esi:include src='/a'/>", "[/a|]");
    comes_to("<p class=\"a <esi:include src='/b'/>\">", "<p class=\"a [/b|]\">");
    comes_to("", "");
}

#[test]
fn what_is_no_markup_stays_as_it_is() {
    for text in [
        "<p>a < b</p>",
        "<esi:choose><esi:when test='1'></esi:when></esi:choose>",
        "<esi:include/>",
        "<esi:include src=/a/>",
        "</esi:include></esi:remove>",
        "<esi:comment>a</esi:comment>",
        "<!--essay--><!--esi-->",
        "<esi:include src='/a'",
        "<ESI:include src='/a'/>",
        "&lt;esi:include src='/a'/&gt;",
        "<",
        "<!--es",
        "a-->",
    ] {
        comes_to(text, text);
    }
    comes_to("<<esi:include src='/a'/>", "<[/a|]");
    comes_to("<esi:include <esi:include src='/a'/>", "<esi:include [/a|]");
}

#[test]
fn markup_without_the_token_of_the_page_is_text() {
    for text in [
        "<esi:include src='/a'/>",
        "<esi:include src='/a' token='0123abce'/>",
        "<esi:include src='/a' token=''/>",
        "<!--esi <b>-->",
        "<esi:remove>a</esi:remove>",
        "<esi:comment text=''/>",
    ] {
        assert_eq!(cut(text, TOKEN), (text.to_owned(), RejectedMarkup::default()));
        // An invalid (empty) token matches no tag.
        assert_eq!(cut(text, Some("")), (text.to_owned(), RejectedMarkup::default()));
    }
    let own = "<esi:include src='/a' token='0123abcd'>x</esi:include>y</esi:include token='0123abcd'>z";
    assert_eq!(cut(own, TOKEN).0, "[/a|x</esi:include>y]z");
    assert_eq!(cut("<esi:remove token=\"0123abcd\">x</esi:remove token=\"0123abcd\">y", TOKEN).0, "y");
}

#[test]
fn markup_that_was_cut_out_makes_no_markup_of_what_stands_around_it() {
    comes_to("<es<esi:comment text=''/>i:include src='/a'/>", "<esi:include src='/a'/>");
    comes_to("<esi:include src='/a'><esi:include src='/b'/></esi:include>", "[/a|<esi:include src='/b'/>]");
}

#[test]
fn includes_of_other_hosts_and_beyond_the_bound_are_left_out() {
    let foreign = "a<esi:include src='http://evil.org/b'/><esi:include src='//evil/b'>c</esi:include>\
                   <esi:include src='http://example.org/d' alt='http://evil/'/>";
    let (shown, refused) = cut(foreign, None);
    assert_eq!((shown.as_str(), refused.foreign), ("ac[/d|]", 3));
    let (shown, refused) = cut(&"<esi:include src='/a'>x</esi:include>".repeat(6), None);
    assert_eq!((shown.as_str(), refused.too_many), ("[/a|x][/a|x][/a|x][/a|x]xx", 2));
}

#[test]
fn include_that_is_not_closed_takes_nothing_of_the_page() {
    let (shown, refused) = cut("a<esi:include src='/b'>c<p>", None);
    assert_eq!((shown.as_str(), refused.unclosed), ("a[/b|]c<p>", 1));
    assert_eq!(cut("a<esi:remove>c<p>", None).1.unclosed, 1);
}

#[test]
fn tag_that_is_too_long_is_text() {
    let long = format!("<esi:include src='/{}'/>b", "a".repeat(LONGEST_TAG));
    comes_to(&long, &long);
}

#[test]
fn any_pieces_of_any_page_come_to_the_same() {
    let words = [
        "<esi:include src='/a' token='0123abcd'",
        "/>",
        ">",
        "</esi:include token='0123abcd'>",
        "<esi:remove token='0123abcd'>",
        "</esi:remove token='0123abcd'>",
        "<esi:",
        "<!--esi ",
        "-->",
        "-",
        "<",
        "text",
        "'",
        "\"",
        " ",
        "</esi:include>",
        "<esi:include src='/b'/>",
        "<esi:comment text='a'/>",
    ];
    for seed in 0..3_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let page: String = (0..random.usize(0..20)).map(|_| words[random.usize(0..words.len())]).collect();
        let token = TOKEN.filter(|_| random.bool());
        let whole = cut_in(page.as_bytes(), token, &limits(), page.len());
        let step = random.usize(1..9);
        assert_eq!(cut_in(page.as_bytes(), token, &limits(), step), whole, "seed {seed}: {page}");
    }
}

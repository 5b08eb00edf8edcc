//! Tests of the listings of `fancyindex`.

use myriad_serve::testing::{PhaseResult, TestFolder, TestSite, send_request};

/// Returns the listing of a directory with these files and directives. `target` is appended to the URI of the
/// directory, after its slash.
fn listed(name: &str, files: &[&str], rules: &str, target: &str) -> PhaseResult {
    let folder = TestFolder::new(&format!("fancyindex-{name}"));
    let shown = folder.0.join("a<b>&");
    std::fs::create_dir_all(shown.join("inner")).expect("a folder");
    for file in files {
        std::fs::write(shown.join(file), file).expect("a file");
    }
    let site = TestSite::in_folder(&folder.0, "root .; fancyindex on;", rules);
    send_request(&site, &format!("GET /a%3Cb%3E%26/{target}"), &[])
}

/// Returns the names of a listing, in order.
fn names(page: &PhaseResult) -> Vec<&str> {
    page.text.split("title=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn names_are_text_in_a_page_and_not_markup() {
    let evil = "\"><img src=x onerror=alert(1)>'&lt;";
    let text = listed("markup", &[evil], "fancyindex_css_href '/a\"><b>.css';", "").text;
    assert!(!text.contains("<img") && !text.contains("<b>"), "{text}");
    assert!(text.contains("<title>Index of /a&lt;b&gt;&amp;/</title>"), "{text}");
    assert!(text.contains("<h1>Index of /a&lt;b&gt;&amp;/</h1>"), "{text}");
    assert!(text.contains("href=\"/a&quot;&gt;&lt;b&gt;.css\""), "{text}");
    let link = "<a href=\"%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E%27%26lt%3B\" \
                title=\"&quot;&gt;&lt;img src=x onerror=alert(1)&gt;'&amp;lt;\">";
    assert!(text.contains(link), "{text}");
}

#[test]
fn query_of_client_sets_sort_order_only() {
    let page = listed("order", &["b", "aaa"], "", "?C=S&O=D");
    assert_eq!(names(&page), ["inner", "aaa", "b"]);
    assert!(
        page.text.contains("<a href=\"inner/?C=S&amp;O=D\""),
        "links to folders keep the order: {}",
        page.text
    );
    assert!(page.text.contains("<a href=\"../?C=S&amp;O=D\""), "{}", page.text);
    let usual = listed("order-usual", &["b", "aaa"], "", "?C=N&O=%22%3E");
    assert_eq!(names(&usual), ["inner", "aaa", "b"]);
    assert!(usual.text.contains("<a href=\"inner/\"") && !usual.text.contains("%22"), "{}", usual.text);
    let written = listed("order-written", &["b", "aaa"], "fancyindex_default_sort name_desc;", "");
    assert_eq!(names(&written), ["inner", "b", "aaa"]);
}

#[test]
fn names_are_left_out_as_written() {
    let files = [".hidden", "a.bak", "B.BAK", "c", "README"];
    assert_eq!(names(&listed("usual", &files, "", "")), ["inner", "B.BAK", "README", "a.bak", "c"]);
    let rules = "fancyindex_ignore \\.bak$ ^in; fancyindex_ignore readme; fancyindex_show_dotfiles on;";
    assert_eq!(names(&listed("ignored", &files, rules, "")), [".hidden", "c"]);
    let rules =
        "fancyindex_case_sensitive off; fancyindex_directories_first off; fancyindex_hide_parent_dir on;";
    let page = listed("loose", &files, rules, "");
    assert_eq!(names(&page), ["a.bak", "B.BAK", "c", "inner", "README"]);
    assert!(!page.text.contains("Parent"), "{}", page.text);
}

#[test]
fn header_and_footer_are_files_or_answers() {
    let rules = "fancyindex_header /head; fancyindex_footer foot;
        location = /head { return 200 '<h1>My '; } location ~ /foot$ { return 200 \"<i>$uri</i>\"; }";
    let text = listed("asked", &["x"], rules, "").text;
    assert!(text.starts_with("<h1>My /a&lt;b&gt;&amp;/</h1>"), "{text}");
    assert!(text.ends_with("</table>\n<i>/a<b>&/foot</i>"), "{text}");
    let rules = "fancyindex_header head.html local; fancyindex_footer /none; fancyindex_show_path off;";
    let folder = TestFolder::new("fancyindex-local");
    folder.write("head.html", "<p>local</p>");
    let prefix = folder.0.display();
    let rules = rules.replace("head.html", &format!("{prefix}/head.html"));
    let site = TestSite::in_folder(&folder.0, "root .; fancyindex on;", &rules);
    let text = send_request(&site, "GET /", &[]).text;
    assert!(text.starts_with("<p>local</p><table"), "{text}");
    assert!(
        text.ends_with("</body>\n</html>\n"),
        "if the footer cannot be loaded, the default footer is sent: {text}"
    );
    assert!(!text.contains("Parent"), "the root has no parent link: {text}");
}

#[test]
fn headers_that_ask_for_themselves_come_to_an_end() {
    let text = listed("cycle", &["x"], "fancyindex_header ./;", "").text;
    assert!(text.contains("title=\"x\""), "{text}");
}

#[test]
fn fancyindex_goes_before_autoindex_and_after_an_index() {
    let folder = TestFolder::new("fancyindex-both");
    let site = TestSite::in_folder(&folder.0, "root .; autoindex on; fancyindex on;", "");
    assert!(send_request(&site, "GET /", &[]).text.contains("id=\"list\""));
    assert_eq!(send_request(&site, "POST /", &[]).status, 403, "only GET and HEAD are supported");
    folder.write("index.html", "index");
    assert_eq!(send_request(&site, "GET /", &[]).text, "index");
}

#[test]
fn sizes_and_dates_are_as_written() {
    let rules = "fancyindex_exact_size off; fancyindex_time_format '<%Y>';";
    let text = listed("sizes", &["x"], rules, "").text;
    assert!(text.contains("<td class=\"size\">1 B</td><td class=\"date\">&lt;20"), "{text}");
}

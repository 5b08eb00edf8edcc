//! Man page of all directives, from the registry.

use myriad_conf::registry::{DefaultValue, DirectiveRow, DirectiveStatus};

use super::commands::DIRECTIVES;
use super::roff::RoffPage;

const ABOUT: &str = "The configuration is written in the language of nginx: a directive consists of a name, its values and a \
     semicolon, or a block in braces. The directives of nginx are documented at https://nginx.org/en/docs/; this \
     page lists for each supported directive its contexts, its default, and its differences from nginx.";

/// Returns the manual page of all directives that Myriad does not reject, as roff.
pub(super) fn directives_page(rows: &[DirectiveRow]) -> String {
    let mut page = RoffPage::new(DIRECTIVES, 5);
    page.section("name");
    page.line(&format!("{DIRECTIVES} - configuration of Myriad, in the language of nginx"));
    page.section("description");
    page.paragraph(ABOUT);
    let mut obeyed: Vec<&DirectiveRow> =
        rows.iter().filter(|row| !matches!(row.status, DirectiveStatus::Refused(_))).collect();
    obeyed.sort_by(|a, b| (&a.name, &a.contexts).cmp(&(&b.name, &b.contexts)));
    page.section("directives");
    for row in obeyed {
        page.entry(&row.name, &text(row));
    }
    page.section("see also");
    page.line("myriad(8)");
    page.finish()
}

fn text(row: &DirectiveRow) -> String {
    let mut text = without_markup(row.doc);
    let mut add = |sentence: &str| {
        if !text.is_empty() && !text.ends_with('.') {
            text.push('.');
        }
        text.push(' ');
        text.push_str(sentence);
    };
    match row.default {
        DefaultValue::None => {}
        DefaultValue::Text(value) => add(&format!("Default: {value}.")),
        DefaultValue::Computed(sentence) => add(&format!("Default: {}.", without_markup(sentence))),
    }
    if !row.contexts.is_empty() {
        add(&format!("Context: {}.", row.contexts));
    }
    match row.status {
        DirectiveStatus::Differs(note) => add(&format!("Differs from nginx: {}.", without_markup(note))),
        DirectiveStatus::NoEffect(note) => add(&format!("No effect: {}.", without_markup(note))),
        DirectiveStatus::Later(note) => add(&format!("Not implemented yet: {}.", without_markup(note))),
        DirectiveStatus::Own => add("Myriad's own."),
        DirectiveStatus::Same | DirectiveStatus::Refused(_) => {}
    }
    text.trim().to_owned()
}

/// Removes the markup from Markdown.
fn without_markup(markdown: &str) -> String {
    markdown.replace(['`', '*'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directive_entry_lists_context_default_and_difference_from_nginx() {
        let page = directives_page(&myriad_serve::registry().rows());
        assert!(page.contains(".TP\n\\fBworker_processes\\fR\n"), "nginx's own");
        assert!(page.contains(".TP\n\\fBclient_min_rate\\fR\n") && page.contains("Myriad\\(aqs own."));
        assert!(page.contains("Context: ") && page.contains("Default: "));
        assert!(page.contains("Differs from nginx: "));
    }
}

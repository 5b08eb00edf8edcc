//! Hiding of argument values from clients that are not authenticated: URLs may contain API secrets and keys that reset
//! a password.

use crate::protocol::monitoring::{InspectReport, TextChangeReport, TopsReport};
use crate::protocol::{AdminReply, PageReport};

/// Character that replaces a hidden value of a query argument.
const HIDDEN: char = '*';

/// Returns a URL, a key or a pattern with `*` instead of each argument value: `/x?key=*&id=*`. A value starts after any
/// `=` (cache keys may contain arguments without `?`) and ends before the next `&`, `;` or space, or at the end.
pub fn without_values(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, value)) = rest.split_once('=') {
        shown.push_str(before);
        shown.push('=');
        let end = value.find(['&', ';', ' ']).unwrap_or(value.len());
        if end > 0 {
            shown.push(HIDDEN);
        }
        rest = &value[end..];
    }
    shown.push_str(rest);
    shown
}

fn hide(text: &mut String) {
    if text.contains('=') {
        *text = without_values(text);
    }
}

impl AdminReply {
    /// Hides the values of query arguments ([`without_values`]) in the URLs and keys of pages, in the URLs of their
    /// parts, and in the descriptions of purges; hides the values of request fields in variants of pages; removes
    /// bodies and other text of pages.
    pub fn hide_values(&mut self) {
        match self {
            Self::Page(page) => page.hide_values(),
            Self::Image(image) => hide(&mut image.url),
            Self::Purge(purge) => hide(&mut purge.what),
            Self::PurgeEvent(purge) => {
                hide(&mut purge.what);
                purge.change.iter_mut().for_each(TextChangeReport::hide_text);
            }
            Self::Tops(tops) => tops.hide_values(),
            Self::Zone(zone) => zone.running_purges.iter_mut().for_each(|purge| hide(&mut purge.name)),
            Self::Memory(_)
            | Self::Peer(_)
            | Self::Tick(_)
            | Self::History(_)
            | Self::Tags(_)
            | Self::Senders(_)
            | Self::Cluster(_)
            | Self::Leak(_)
            | Self::End(_)
            | Self::Error(_) => {}
        }
    }
}

impl PageReport {
    fn hide_values(&mut self) {
        hide(&mut self.key);
        self.url.iter_mut().for_each(hide);
        if let Some(variant) = &mut self.variant {
            *variant = without_field_values(variant);
        }
        for skipped in
            self.optimized.iter_mut().flat_map(|form| &mut form.filters).flat_map(|one| &mut one.skipped)
        {
            hide(&mut skipped.subject);
            hide(&mut skipped.reason);
        }
        // The body may contain any URL.
        self.esi.iter_mut().for_each(|esi| esi.body = None);
        for part in self.esi.iter_mut().flat_map(|esi| &mut esi.parts) {
            hide(&mut part.src);
            part.alt.iter_mut().for_each(hide);
        }
    }
}

/// Returns a description of a variant with `*` instead of the values of its fields, which may be cookies or other
/// credentials. The language, the device class and the codings are shown.
fn without_field_values(variant: &str) -> String {
    const SHOWN: [&str; 4] = ["accept-language: ", "device class: ", "other codings: ", "no "];
    // A part without a name continues the value before it.
    let fields = variant.split("; ").filter_map(|field| {
        if SHOWN.iter().any(|start| field.starts_with(start)) {
            return Some(field.to_owned());
        }
        let (name, _) = field.split_once(": ")?;
        Some(format!("{}: {HIDDEN}", without_values(name)))
    });
    fields.collect::<Vec<_>>().join("; ")
}

impl TextChangeReport {
    /// Hides the argument values in the URL of the page, and removes the text of the page.
    fn hide_text(&mut self) {
        hide(&mut self.page);
        for text in [&mut self.near, &mut self.before, &mut self.after] {
            text.clear();
        }
    }
}

impl InspectReport {
    /// Hides the values of query arguments in the reports about stored pages.
    pub fn hide_values(&mut self) {
        self.stored.iter_mut().for_each(PageReport::hide_values);
    }
}

impl TopsReport {
    fn hide_values(&mut self) {
        self.pages.iter_mut().for_each(|page| hide(&mut page.url));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::monitoring::{PurgeEvent, TopPage};
    use crate::protocol::{
        EsiReport, FilterResultReport, OptimizedReport, PartReport, RunningPurgeReport, SkippedReport,
        ZoneReport,
    };

    #[test]
    fn names_of_arguments_are_shown_and_values_are_not() {
        for (text, shown) in [
            ("https://a.test/x", "https://a.test/x"),
            ("/wp-login.php?action=rp&key=dXNlcg==&login=ann", "/wp-login.php?action=*&key=*&login=*"),
            ("/x?a&b=&c=d", "/x?a&b=&c=*"),
            ("httpGETa.test/x?consumer_secret=cs_1;b=2", "httpGETa.test/x?consumer_secret=*;b=*"),
            ("a.test/resetkey=1&login=ann GET", "a.test/resetkey=*&login=* GET"),
            ("/x?a==b=c", "/x?a=*"),
            ("=", "="),
            ("/é?ü=ö&ä=ß", "/é?ü=*&ä=*"),
        ] {
            assert_eq!(without_values(text), shown, "{text}");
        }
    }

    #[test]
    fn variants_show_field_names_and_values_without_credentials() {
        for (variant, shown) in [
            (
                "accept-language: de,en;q=0.95; device class: mobile",
                "accept-language: de,en;q=0.95; device class: mobile",
            ),
            ("cookie: a=1; b=2; no x-device; user-agent: curl", "cookie: *; no x-device; user-agent: *"),
            ("", ""),
        ] {
            assert_eq!(without_field_values(variant), shown);
        }
    }

    #[test]
    fn values_in_reported_urls_are_masked() {
        let url = "http://a.test/?key=sesame";
        let page = PageReport {
            key: url.to_owned(),
            url: Some(url.to_owned()),
            variant: Some("cookie: a=sesame; b: sesame; x-token: sesame; no x-theme".to_owned()),
            esi: Some(EsiReport {
                body: Some(url.to_owned()),
                parts: vec![PartReport {
                    src: url.to_owned(),
                    alt: Some(url.to_owned()),
                    ..PartReport::default()
                }],
                ..EsiReport::default()
            }),
            optimized: Some(OptimizedReport {
                filters: vec![FilterResultReport {
                    skipped: vec![SkippedReport { subject: url.to_owned(), reason: format!("no {url}") }],
                    ..FilterResultReport::default()
                }],
                ..OptimizedReport::default()
            }),
            ..PageReport::default()
        };
        let change = TextChangeReport {
            page: url.to_owned(),
            near: "open sesame".to_owned(),
            before: "sesame".to_owned(),
            after: "sesame".to_owned(),
        };
        let event = PurgeEvent { what: url.to_owned(), change: Some(change), ..PurgeEvent::default() };
        let purge = RunningPurgeReport { name: url.to_owned(), ..RunningPurgeReport::default() };
        let zone = ZoneReport { running_purges: vec![purge], ..ZoneReport::default() };
        let tops = TopsReport {
            pages: vec![TopPage { url: url.to_owned(), ..TopPage::default() }],
            ..TopsReport::default()
        };
        for mut reply in [
            AdminReply::Page(Box::new(page)),
            AdminReply::PurgeEvent(Box::new(event)),
            AdminReply::Zone(Box::new(zone)),
            AdminReply::Tops(Box::new(tops)),
        ] {
            assert!(reply.json().contains("sesame"));
            reply.hide_values();
            let hidden = reply.json();
            assert!(hidden.contains("?key=*") && !hidden.contains("sesame"), "{hidden}");
        }
    }
}

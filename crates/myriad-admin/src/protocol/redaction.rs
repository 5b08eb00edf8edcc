//! Hiding of argument values from clients that are not authenticated: URLs may contain API secrets and keys that reset
//! a password.

use crate::protocol::monitoring::{InspectReport, TopsReport};
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
    /// Hides the values of query arguments ([`without_values`]) in the URLs and keys of pages, in the URLs of ESI
    /// fragments, and in the descriptions of purges; removes the bodies of pages.
    pub fn hide_values(&mut self) {
        match self {
            Self::Page(page) => page.hide_values(),
            Self::Purge(purge) => hide(&mut purge.what),
            Self::PurgeEvent(purge) => {
                hide(&mut purge.what);
                purge.change.iter_mut().for_each(|change| hide(&mut change.page));
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
        // The body may contain any URL.
        self.esi.iter_mut().for_each(|esi| esi.body = None);
        for part in self.esi.iter_mut().flat_map(|esi| &mut esi.parts) {
            hide(&mut part.src);
            part.alt.iter_mut().for_each(hide);
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
    use crate::protocol::monitoring::TopPage;

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
    fn values_in_reported_urls_are_masked() {
        let url = "http://a.test/?key=sesame";
        let page = PageReport { key: url.to_owned(), url: Some(url.to_owned()), ..PageReport::default() };
        let tops = TopsReport {
            pages: vec![TopPage { url: url.to_owned(), ..TopPage::default() }],
            ..TopsReport::default()
        };
        for mut reply in [AdminReply::Page(Box::new(page)), AdminReply::Tops(Box::new(tops))] {
            assert!(reply.json().contains("sesame"));
            reply.hide_values();
            let hidden = reply.json();
            assert!(hidden.contains("?key=*") && !hidden.contains("sesame"), "{hidden}");
        }
    }
}

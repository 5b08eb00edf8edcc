//! Cache zones with pages in them.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_encode::Coding;
use myriad_log::{ErrorLog, Level};
use myriad_policy::{Command, EntityTag, Lifetime};
use myriad_store::{
    Alternative, Covers, DiskEvent, DiskLimits, DiskOptions, DiskPool, Metadata, Object, Zone,
};

use crate::{
    Fetches, KeepFolders, KeptLifetime, KeptProxied, Marks, ProxiedFacts, PurgeEnds, TextEnds, Texts,
    ZoneCounts, covering,
};

/// What is kept with a page, while it is on its own; in the store, its texts lie beside the body ([`PageView`]).
#[derive(Clone)]
pub struct PageMeta {
    /// All but the texts.
    pub facts: PageFacts,
    texts: Box<[u8]>,
}

/// What is kept with a page, but the texts.
#[derive(Clone)]
pub struct PageFacts {
    /// The status.
    pub status: u16,
    /// Where the field lines, the media type, the marks and more end in the texts.
    pub ends: TextEnds,
    /// The page's tag; none while its bytes are still arriving and the origin sent none.
    pub tag: Option<EntityTag>,
    /// `Last-Modified` in seconds; means nothing where the texts have none.
    pub modified_s: u64,
    /// Whether the origin itself compressed: then it may be compressed for others, whatever `gzip` says.
    pub origin_encoded: bool,
    /// `Cache-Control: no-transform`.
    pub no_transform: bool,
    /// Validity in milliseconds, stale windows, who gave them.
    pub kept_lifetime: KeptLifetime,
    /// Whether there is a `Location` or `Refresh` that `proxy_redirect` may rewrite for each visitor.
    pub redirects: bool,
    /// `Expires`, `no-cache` and the like, as `gzip_proxied` asks.
    pub kept_proxied: KeptProxied,
}

impl PageMeta {
    /// A page's metadata; the ends of the facts are those of the texts.
    pub fn new(facts: PageFacts, texts: Box<[u8]>) -> Self {
        Self { facts, texts }
    }

    /// As it is looked at.
    pub fn view(&self) -> PageView<'_> {
        PageView { facts: &self.facts, texts: &self.texts }
    }
}

/// What is kept with a page, wherever it is.
#[derive(Clone, Copy)]
pub struct PageView<'a> {
    /// All but the texts.
    pub facts: &'a PageFacts,
    texts: &'a [u8],
}

impl Deref for PageView<'_> {
    type Target = PageFacts;

    fn deref(&self) -> &PageFacts {
        self.facts
    }
}

impl<'a> PageView<'a> {
    /// A copy to be kept on its own.
    pub fn to_owned(self) -> PageMeta {
        PageMeta { facts: self.facts.clone(), texts: self.texts.into() }
    }

    /// The texts.
    pub fn texts(self) -> Texts<'a> {
        Texts::new(self.texts, self.facts.ends)
    }

    /// Field lines ready to send: all but length, encoding, validators and what a place adds.
    pub fn lines(self) -> &'a [u8] {
        self.texts().lines()
    }

    /// Media type without parameters, lower case, for `gzip_types`.
    pub fn media_type(self) -> &'a [u8] {
        self.texts().media_type()
    }

    /// The reason phrase, where it is not the usual one.
    pub fn reason(self) -> &'a str {
        self.texts().reason()
    }

    /// `Last-Modified` as sent, and in seconds.
    pub fn last_modified(self) -> Option<(&'a [u8], u64)> {
        let text = self.texts().last_modified();
        (!text.is_empty()).then_some((text, self.facts.modified_s))
    }

    /// What purges find it by.
    pub fn marks(self) -> Marks<&'a [u8]> {
        self.texts().marks()
    }
}

impl PageFacts {
    /// Validity in milliseconds, stale windows, who gave them.
    pub fn lifetime(&self) -> Lifetime {
        self.kept_lifetime.get()
    }

    /// `Expires`, `no-cache` and the like, as `gzip_proxied` asks.
    pub fn proxied(&self) -> ProxiedFacts {
        self.kept_proxied.get()
    }
}

impl Metadata for PageMeta {
    /// The level that made the encoding.
    type Alternative = u8;
    type Kept = PageFacts;
    type View<'a> = PageView<'a>;

    fn view(&self) -> PageView<'_> {
        self.view()
    }

    fn keep(self, texts: &mut Vec<u8>) -> PageFacts {
        texts.extend_from_slice(&self.texts);
        self.facts
    }

    #[inline]
    fn view_kept<'a>(facts: &'a PageFacts, texts: &'a [u8]) -> PageView<'a> {
        PageView { facts, texts }
    }

    fn weight(facts: &PageFacts) -> usize {
        let tag = match &facts.tag {
            Some(EntityTag::Origin { opaque, .. }) => opaque.len() + 16,
            Some(EntityTag::Made(_)) | None => 0,
        };
        facts.kept_lifetime.weight() + tag
    }

    fn labels(page: PageView<'_>, each: &mut dyn FnMut(u64)) {
        page.marks().labels(each);
    }

    fn address(page: PageView<'_>) -> Option<[u64; 2]> {
        Some(page.marks().subject().address())
    }

    fn covers(rule: &[u8]) -> Option<Covers<Self>> {
        covering(&Command::decode(rule)?.what).ok()
    }
}

/// A stored page.
pub type Page = Object<PageMeta>;

/// A zone of pages.
pub struct PageZone {
    /// The store.
    pub zone: Zone<PageMeta>,
    /// Where its files are.
    pub folder: PageFolder,
    /// What its requests came to.
    pub counts: ZoneCounts,
    /// How its purges ended.
    pub ends: PurgeEnds,
    /// What fills it.
    pub fetches: Arc<Fetches>,
}

/// Where the files of a zone are: what a zone cannot change while it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFolder {
    /// The folder.
    pub path: PathBuf,
    /// `levels=`.
    pub levels: Vec<u8>,
}

impl PageZone {
    /// An empty zone.
    pub fn new(zone: Zone<PageMeta>, folder: PageFolder) -> Self {
        let fetches = Arc::default();
        Self { zone, folder, counts: ZoneCounts::default(), ends: PurgeEnds::default(), fetches }
    }

    /// Opens the disk tier, if it is not open yet, or changes its limits. What goes wrong is told to `log`; `keeper` makes the
    /// folder anew where somebody removes it that the worker may not make.
    pub fn open(&self, limits: DiskLimits, pool: &DiskPool, log: &ErrorLog, keeper: Arc<dyn KeepFolders>) {
        let (log, name, keeper) = (log.clone(), self.zone.name().to_owned(), keeper);
        let options = DiskOptions {
            path: self.folder.path.clone(),
            levels: self.folder.levels.clone(),
            limits,
            clock: Arc::new(system_ms),
            report: Arc::new(move |event| {
                tell(&log, &name, event);
                if let DiskEvent::Removed { path, is_made: false, .. } = event {
                    keeper.folder(path);
                }
            }),
        };
        self.zone.open_disk(options, pool);
        self.zone.limit_disk(limits);
    }
}

/// An error as nginx writes it: number, colon, text.
fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    error.raw_os_error().map_or_else(|| text.to_owned(), |number| format!("{number}: {text}"))
}

/// The time of threads that no worker's clock is kept for.
pub fn system_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}

fn tell(log: &ErrorLog, zone: &str, event: &DiskEvent) {
    match event {
        DiskEvent::Failed { what, path, error } => log.write(
            Level::Crit,
            None,
            format_args!(
                "cache zone \"{zone}\": {what} \"{}\" failed ({}); pages are kept in memory alone meanwhile",
                path.display(),
                describe(error),
            ),
        ),
        DiskEvent::Works => {
            log.write(
                Level::Notice,
                None,
                format_args!("cache zone \"{zone}\": pages are kept on disk again"),
            );
        }
        DiskEvent::Quarantined { path, is_kept, why, count } => {
            let done = if *is_kept { "quarantined" } else { "removed" };
            let path = path.display();
            let text = format_args!("cache zone \"{zone}\": \"{path}\" is {done}: {why} ({count} so far)");
            log.write(Level::Warn, None, text);
        }
        DiskEvent::PurgesDamaged { path, all } => {
            let path = path.display();
            let end = match all {
                true => "purges may be lost, so everything is purged",
                false => {
                    "its end was written when the power went, and belongs to a purge that nobody was told of"
                }
            };
            let text = format_args!(
                "cache zone \"{zone}\": \"{path}\" is damaged: {end}; it is kept as \"{path}.damaged\""
            );
            log.write(Level::Error, None, text);
        }
        DiskEvent::Removed { is_news: false, .. } => {}
        DiskEvent::Removed { path, is_made, .. } => {
            let path = path.display();
            let end = if *is_made { "and is made anew" } else { "and is asked for" };
            let text =
                format_args!("cache zone \"{zone}\": \"{path}\" was removed, with all its pages, {end}");
            log.write(Level::Notice, None, text);
        }
        DiskEvent::Recovered { files, bytes, took_ms } => log.write(
            Level::Notice,
            None,
            format_args!("cache zone \"{zone}\": {files} files of {bytes} bytes known after {took_ms} ms"),
        ),
    }
}

/// The index of an encoding among a page's alternatives.
pub fn slot(coding: Coding) -> u8 {
    match coding {
        Coding::Identity | Coding::Gzip => 0,
        Coding::Brotli => 1,
        Coding::Zstd => 2,
    }
}

/// The index of gzip at its strong level, beside the fast one that was made when the page was stored.
pub const STRONG_GZIP: u8 = 3;

/// The best alternative of a page in a coding.
pub fn alternative(page: &Page, coding: Coding) -> Option<&Alternative<u8>> {
    match coding {
        Coding::Identity => None,
        Coding::Gzip => page.alternative(STRONG_GZIP).or_else(|| page.alternative(slot(coding))),
        coding => page.alternative(slot(coding)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_with_each_of_a_million_pages_stays_small() {
        assert!(size_of::<PageFacts>() <= 80, "{} bytes", size_of::<PageFacts>());
    }
}

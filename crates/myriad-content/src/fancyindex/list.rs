//! Reading of a directory and creation of its page.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use myriad_conf::Diagnostic;
use myriad_conf::settings::Settings;
use myriad_net::ResponseBody;
use myriad_script::Regex;

use myriad_exchange::exchange::{Answer, Exchange, FolderHandler, Pending, Step, Waiting};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use super::order::Order;
use super::settings::{FancyindexSettings, Insert};
use super::{insert, page};
use crate::folder::{Selection, read};

/// Rules of a place.
struct Rules {
    written: FancyindexSettings,
    ignore: Vec<Regex>,
}

/// Enables directory listings if `fancyindex` is on.
pub(super) fn compile(compile: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let written = settings.feature::<FancyindexSettings>();
    if !written.on {
        return;
    }
    if !written.show_path && written.header == Insert::Own {
        let message = "\"fancyindex_show_path off\" requires \"fancyindex_header\"";
        compile.report(
            Diagnostic::error(written.show_path_at, message)
                .help("write fancyindex_header PATH local; or remove \"fancyindex_show_path off\""),
        );
    }
    let ignore = written.ignore.iter().filter_map(|pattern| compile.regex(pattern)).collect();
    let rules = Arc::new(Rules { written: written.clone(), ignore });
    features.keep::<Box<dyn FolderHandler>>(Box::new(Handler(rules)));
}

struct Handler(Arc<Rules>);

impl FolderHandler for Handler {
    fn begin(&self, folder: &Path) -> Step {
        Step::Wait(Box::new(List { rules: Arc::clone(&self.0), folder: folder.to_owned() }))
    }
}

struct List {
    rules: Arc<Rules>,
    folder: PathBuf,
}

impl Pending for List {
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> Waiting<'_> {
        Box::pin(list(exchange, self.rules, self.folder))
    }

    fn explain(&self, exchange: &mut Exchange) {
        if let Some(sink) = &exchange.request.received.sink {
            let folder = self.folder.display();
            sink.note(
                "content",
                format!("a listing of the directory {folder}"),
                "fancyindex".to_owned(),
                None,
            );
        }
    }
}

async fn list(exchange: &mut Exchange, rules: Arc<Rules>, folder: PathBuf) -> Step {
    let written = &rules.written;
    let selection = Selection { hidden: written.show_hidden, links: !written.hide_links };
    let mut items = match read(exchange, folder, selection).await {
        Ok(items) => items,
        Err(step) => return step,
    };
    items.retain(|item| !rules.ignores(&item.name));
    let order = Order::asked(&exchange.request.route.args).unwrap_or(written.order);
    order.sort(&mut items, written.case_sensitive, written.directories_first);
    let uri = exchange.request.route.uri.clone();
    let mut text = insert::text(exchange, &written.header).await.unwrap_or_else(|| {
        let mut head = Vec::new();
        page::head(&uri, written.css.bytes(), &mut head);
        head
    });
    text.reserve(512 + items.len() * 200);
    page::table(&uri, &items, (written, order), &mut text);
    match insert::text(exchange, &written.footer).await {
        Some(footer) => text.extend_from_slice(&footer),
        None => page::foot(&mut text),
    }
    let mut answer = Answer::new(200, ResponseBody::Full(Bytes::from(text)));
    answer.media_type = Some(b"text/html"[..].into());
    answer.compressible = true;
    Step::Answer(answer)
}

impl Rules {
    /// Returns whether a name is omitted, also if matching a regular expression fails.
    fn ignores(&self, name: &[u8]) -> bool {
        self.ignore.iter().any(|regex| regex.is_match(name).unwrap_or(true))
    }
}

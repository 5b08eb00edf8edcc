//! Reads a directory and creates its page.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use myriad_conf::Diagnostic;
use myriad_conf::settings::Settings;
use myriad_net::ResponseBody;
use myriad_script::Regex;

use myriad_exchange::exchange::{
    ContentResponse, Exchange, FolderHandler, PendingStep, PhaseStep, StepFuture,
};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use super::order::SortOrder;
use super::settings::{FancyindexSettings, PageInsert};
use super::{insert, page};
use crate::folder::{ItemSelection, read};

/// Compiled `fancyindex*` of a location.
struct FancyindexRules {
    settings: FancyindexSettings,
    ignore: Vec<Regex>,
}

/// Stores the directory handler of a configuration level in `features` if `fancyindex` is on. Reports
/// `fancyindex_show_path off` without a configured header.
pub(super) fn compile(compile: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let written = settings.feature::<FancyindexSettings>();
    if !written.on {
        return;
    }
    if !written.show_path && written.header == PageInsert::BuiltIn {
        let message = "\"fancyindex_show_path off\" requires \"fancyindex_header\"";
        compile.report(
            Diagnostic::error(written.show_path_at, message)
                .help("write fancyindex_header PATH local; or remove \"fancyindex_show_path off\""),
        );
    }
    let ignore = written.ignore.iter().filter_map(|pattern| compile.regex(pattern)).collect();
    let rules = Arc::new(FancyindexRules { settings: written.clone(), ignore });
    features.insert::<Box<dyn FolderHandler>>(Box::new(FancyindexHandler(rules)));
}

struct FancyindexHandler(Arc<FancyindexRules>);

impl FolderHandler for FancyindexHandler {
    fn begin(&self, folder: &Path) -> PhaseStep {
        PhaseStep::Wait(Box::new(FancyindexListing { rules: Arc::clone(&self.0), folder: folder.to_owned() }))
    }
}

struct FancyindexListing {
    rules: Arc<FancyindexRules>,
    folder: PathBuf,
}

impl PendingStep for FancyindexListing {
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> StepFuture<'_> {
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

async fn list(exchange: &mut Exchange, rules: Arc<FancyindexRules>, folder: PathBuf) -> PhaseStep {
    let written = &rules.settings;
    let selection = ItemSelection { hidden: written.show_hidden, links: !written.hide_links };
    let mut items = match read(exchange, folder, selection).await {
        Ok(items) => items,
        Err(step) => return step,
    };
    items.retain(|item| !rules.ignores(&item.name));
    let order = SortOrder::parse_arguments(&exchange.request.route.args).unwrap_or(written.order);
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
    let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::from(text)));
    answer.media_type = Some(b"text/html"[..].into());
    answer.compressible = true;
    PhaseStep::Answer(answer)
}

impl FancyindexRules {
    /// Returns whether a name is omitted (`fancyindex_ignore`). Also returns true if the match of a regular expression
    /// fails.
    fn ignores(&self, name: &[u8]) -> bool {
        self.ignore.iter().any(|regex| regex.is_match(name).unwrap_or(true))
    }
}

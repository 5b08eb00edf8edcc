//! Reads a directory and creates its listing in the configured format.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use myriad_conf::settings::Settings;
use myriad_http::uri;
use myriad_log::LogLevel;
use myriad_net::ResponseBody;

use crate::folder::{DirectoryItem, ItemKind, ItemSelection, read};

use super::settings::{AutoindexFormat, AutoindexSettings};
use super::{html, json, xml};
use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::FolderHandler;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::{Exchange, PendingStep, StepFuture};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_output::{self};

/// Maximum length of the function name for JSONP, in bytes.
const LONGEST_CALLBACK: usize = 128;

/// Stores the directory handler of a configuration level in `features` if `autoindex` is on.
pub(super) fn compile(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let rules = *settings.feature::<AutoindexSettings>();
    if rules.on {
        features.insert::<Box<dyn FolderHandler>>(Box::new(rules));
    }
}

impl FolderHandler for AutoindexSettings {
    fn begin(&self, folder: &Path) -> PhaseStep {
        PhaseStep::Wait(Box::new(AutoindexListing { rules: *self, folder: folder.to_owned() }))
    }
}

struct AutoindexListing {
    rules: AutoindexSettings,
    folder: PathBuf,
}

impl PendingStep for AutoindexListing {
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> StepFuture<'_> {
        Box::pin(list(exchange, self.rules, self.folder))
    }

    fn explain(&self, exchange: &mut Exchange) {
        if let Some(sink) = &exchange.request.received.sink {
            let folder = self.folder.display();
            sink.note(
                "content",
                format!("a listing of the directory {folder}"),
                "autoindex".to_owned(),
                None,
            );
        }
    }
}

/// Returns the response with the listing of a directory; 400 for an invalid JSONP function name, or the error response
/// if the directory cannot be read.
async fn list(exchange: &mut Exchange, rules: AutoindexSettings, folder: PathBuf) -> PhaseStep {
    let mut callback = None;
    if rules.format == AutoindexFormat::Jsonp {
        let Ok(name) = json_callback(&exchange.request.route.args) else {
            exchange.request.log(LogLevel::Info, format_args!("client sent invalid callback name"));
            return PhaseStep::Error(400);
        };
        callback = name.map(<[u8]>::to_vec);
    }
    let selection = ItemSelection { hidden: false, links: true };
    match read(exchange, folder, selection).await {
        Ok(mut items) => {
            sort(&mut items);
            PhaseStep::Answer(answer(exchange, rules, callback.as_deref(), &items))
        }
        Err(step) => step,
    }
}

/// Sorts the entries of a directory listing by name, directories first.
fn sort(items: &mut [DirectoryItem]) {
    items.sort_unstable_by(|a, b| {
        let is_file = |item: &DirectoryItem| item.kind != ItemKind::Directory;
        is_file(a).cmp(&is_file(b)).then_with(|| a.name.cmp(&b.name))
    });
}

fn answer(
    exchange: &mut Exchange,
    rules: AutoindexSettings,
    callback: Option<&[u8]>,
    items: &[DirectoryItem],
) -> ContentResponse {
    let uri = exchange.request.route.uri.clone();
    let (media_type, text): (&'static [u8], _) = match (rules.format, callback) {
        (AutoindexFormat::Html, _) => {
            let utf8 = myriad_output::names_utf8(exchange, b"text/html");
            (b"text/html", html::page(&uri, items, &html::AutoindexLayout { utf8, rules }))
        }
        (AutoindexFormat::Xml, _) => (b"text/xml; charset=utf-8", xml::document(items)),
        (AutoindexFormat::Json, _) | (AutoindexFormat::Jsonp, None) => {
            (b"application/json", json::array(items, None))
        }
        (AutoindexFormat::Jsonp, callback) => (b"application/javascript", json::array(items, callback)),
    };
    let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::from(text)));
    answer.media_type = Some(media_type.into());
    answer.compressible = true;
    answer
}

/// Returns the JSONP function name in the argument `callback`; `None` if it is missing or empty. Returns an error
/// unless it consists of at most 128 ASCII letters, digits, `_` and `.`.
fn json_callback(args: &[u8]) -> Result<Option<&[u8]>, ()> {
    let Some(name) = uri::arg(args, b"callback").filter(|name| !name.is_empty()) else { return Ok(None) };
    let plain = name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    if plain && name.len() <= LONGEST_CALLBACK { Ok(Some(name)) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_names_hold_no_code() {
        assert_eq!(json_callback(b""), Ok(None));
        assert_eq!(json_callback(b"callback="), Ok(None));
        assert_eq!(json_callback(b"a=1&callback=My.call_2"), Ok(Some(&b"My.call_2"[..])));
        assert_eq!(json_callback(b"callback=alert(1)"), Err(()));
        assert_eq!(json_callback(format!("callback={}", "a".repeat(129)).as_bytes()), Err(()));
    }

    #[test]
    fn folders_stand_first() {
        let item = |kind, name: &str| DirectoryItem { kind, name: name.into(), modified_s: 0, size: 0 };
        let mut items =
            [item(ItemKind::File, "b"), item(ItemKind::Directory, "zoo"), item(ItemKind::Other, "a")];
        sort(&mut items);
        assert_eq!(items.map(|item| item.name), [b"zoo".to_vec(), b"a".to_vec(), b"b".to_vec()]);
    }
}

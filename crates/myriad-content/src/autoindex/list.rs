//! A folder that is read, and what its list is sent as.

use std::fs::DirEntry;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use myriad_conf::settings::Settings;
use myriad_files::SystemError;
use myriad_http::uri;
use myriad_log::Level;
use myriad_net::ResponseBody;

use super::item::{Item, ItemKind};
use super::settings::{AutoindexFormat, AutoindexSettings};
use super::{html, json, xml};
use myriad_exchange::exchange::Answer;
use myriad_exchange::exchange::FolderHandler;
use myriad_exchange::exchange::Step;
use myriad_exchange::exchange::{Exchange, Pending, Waiting};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_output::{self};

/// Most bytes of the name of a JSONP function.
const LONGEST_CALLBACK: usize = 128;

/// Lists folders where `autoindex` is on.
pub(super) fn compile(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let rules = *settings.feature::<AutoindexSettings>();
    if rules.on {
        features.keep::<Box<dyn FolderHandler>>(Box::new(rules));
    }
}

impl FolderHandler for AutoindexSettings {
    fn begin(&self, folder: &Path) -> Step {
        Step::Wait(Box::new(List { rules: *self, folder: folder.to_owned() }))
    }
}

struct List {
    rules: AutoindexSettings,
    folder: PathBuf,
}

impl Pending for List {
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> Waiting<'_> {
        Box::pin(list(exchange, self.rules, self.folder))
    }

    fn explain(&self, exchange: &mut Exchange) {
        if let Some(sink) = &exchange.request.received.sink {
            let folder = self.folder.display();
            sink.note("content", format!("a list of the folder {folder}"), "autoindex".to_owned(), None);
        }
    }
}

/// Lists a folder, read on the pool of blocking work.
async fn list(exchange: &mut Exchange, rules: AutoindexSettings, folder: PathBuf) -> Step {
    let mut callback = None;
    if rules.format == AutoindexFormat::Jsonp {
        let Ok(name) = callback_of(&exchange.request.route.args) else {
            exchange.request.log(Level::Info, format_args!("client sent invalid callback name"));
            return Step::Error(400);
        };
        callback = name.map(<[u8]>::to_vec);
    }
    let shown = folder.clone();
    let read = tokio::task::spawn_blocking(move || read(&folder)).await;
    match read.unwrap_or_else(|_| Err(io::Error::other("reading was abandoned"))) {
        Ok(items) => Step::Answer(answer(exchange, rules, callback.as_deref(), &items)),
        Err(error) => {
            let error = SystemError::of(&error);
            let level = if error.status() == 500 { Level::Crit } else { Level::Error };
            let folder = shown.display();
            exchange.request.log(level, format_args!("opendir() \"{folder}\" failed ({error})"));
            Step::Error(error.status())
        }
    }
}

fn answer(
    exchange: &mut Exchange,
    rules: AutoindexSettings,
    callback: Option<&[u8]>,
    items: &[Item],
) -> Answer {
    let uri = exchange.request.route.uri.clone();
    let (media_type, text): (&'static [u8], _) = match (rules.format, callback) {
        (AutoindexFormat::Html, _) => {
            let utf8 = myriad_output::names_utf8(exchange, b"text/html");
            (b"text/html", html::page(&uri, items, &html::Look { utf8, rules }))
        }
        (AutoindexFormat::Xml, _) => (b"text/xml; charset=utf-8", xml::document(items)),
        (AutoindexFormat::Json, _) | (AutoindexFormat::Jsonp, None) => {
            (b"application/json", json::array(items, None))
        }
        (AutoindexFormat::Jsonp, callback) => (b"application/javascript", json::array(items, callback)),
    };
    let mut answer = Answer::new(200, ResponseBody::Full(Bytes::from(text)));
    answer.media_type = Some(media_type.into());
    answer.compressible = true;
    answer
}

/// The argument `callback`; an error where it is no name that could do no harm in a script.
fn callback_of(args: &[u8]) -> Result<Option<&[u8]>, ()> {
    let Some(name) = uri::arg(args, b"callback").filter(|name| !name.is_empty()) else { return Ok(None) };
    let plain = name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    if plain && name.len() <= LONGEST_CALLBACK { Ok(Some(name)) } else { Err(()) }
}

/// What is in a folder: folders first, each kind by name, without what is hidden.
fn read(folder: &Path) -> io::Result<Vec<Item>> {
    let mut items = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().as_bytes().starts_with(b".") {
            items.extend(item(&entry)?);
        }
    }
    items.sort_unstable_by(|a, b| {
        let is_file = |item: &Item| item.kind != ItemKind::Directory;
        is_file(a).cmp(&is_file(b)).then_with(|| a.name.cmp(&b.name))
    });
    Ok(items)
}

/// None for what this server may not look at. A link that leads nowhere is shown as itself.
fn item(entry: &DirEntry) -> io::Result<Option<Item>> {
    let path = entry.path();
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(_) => match std::fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            // Gone since the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        },
    };
    Ok(Some(Item {
        kind: match metadata {
            _ if metadata.is_dir() => ItemKind::Directory,
            _ if metadata.is_file() => ItemKind::File,
            _ => ItemKind::Other,
        },
        name: entry.file_name().into_vec(),
        modified_s: u64::try_from(metadata.mtime()).unwrap_or(0),
        size: metadata.len(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_names_hold_no_code() {
        assert_eq!(callback_of(b""), Ok(None));
        assert_eq!(callback_of(b"callback="), Ok(None));
        assert_eq!(callback_of(b"a=1&callback=My.call_2"), Ok(Some(&b"My.call_2"[..])));
        assert_eq!(callback_of(b"callback=alert(1)"), Err(()));
        assert_eq!(callback_of(format!("callback={}", "a".repeat(129)).as_bytes()), Err(()));
    }

    #[test]
    fn folders_stand_first_and_what_is_hidden_is_not_shown() {
        let folder = std::env::temp_dir().join(format!("myriad-autoindex-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("zoo")).unwrap();
        for name in ["b", "a", ".hidden"] {
            std::fs::write(folder.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", folder.join("link")).unwrap();
        let items = read(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        let items: Vec<_> = items
            .unwrap()
            .into_iter()
            .map(|item| (item.kind.as_str(), String::from_utf8(item.name).unwrap()))
            .collect();
        let expected = [("directory", "zoo"), ("file", "a"), ("file", "b"), ("other", "link")];
        assert_eq!(items, expected.map(|(kind, name)| (kind, name.to_owned())));
    }
}

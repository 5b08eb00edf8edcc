//! Content handler of static files.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use myriad_encode::{Coding, CodingSet, CompressionLevel, compress, first_gzip_level};
use myriad_files::{FileCache, FileEntry, PathEntry, PathKind, SystemError, as_path};
use myriad_http::{Known, Method};
use myriad_log::LogLevel;
use myriad_net::ResponseBody;
use myriad_script::Frame;
use myriad_upstream::with_descriptor;

use crate::files::precompressed;
#[cfg(feature = "nginx-extras")]
use crate::random_index;
use myriad_exchange::exchange::paths::{look_up, look_up_rechecking_absence, of_uri, rechecks_absence};
use myriad_exchange::exchange::shortcut;
use myriad_exchange::exchange::{ContentResponse, ResponseSource, media_type_of};
use myriad_exchange::exchange::{Exchange, Handler, PendingStep, Request, StepFuture, exchange_buffers};
use myriad_exchange::exchange::{FolderHandler, GET_HEAD, MethodHandler, PhaseStep};
use myriad_exchange::responses::redirect;
use myriad_store::page::ProxiedFacts;

/// Handler of files under the root, the default of a location without another handler.
pub struct FileHandler {
    /// Handler of methods other than GET, HEAD, POST and those of `dav_methods`, such as purges.
    pub other_methods: &'static dyn MethodHandler,
}

impl Handler for FileHandler {
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        begin(exchange, self.other_methods)
    }

    fn shortcut(&self, exchange: &mut Exchange) -> Option<PhaseStep> {
        shortcut(exchange)
    }

    fn allows_shortcut(&self) -> bool {
        true
    }
}

/// Serves the file of the URI, or the index of a directory. A directory without a trailing slash is redirected. POST is
/// permitted for a directory with a trailing slash only: an existing file results in 405, a missing one in 404. Other
/// methods are passed to the handler that supports them (`dav_methods`, `other_methods`), otherwise the response is
/// 405.
fn begin(exchange: &mut Exchange, other_methods: &dyn MethodHandler) -> PhaseStep {
    let request = &exchange.request;
    let reads = matches!(request.received.head.method(), Method::Get | Method::Head) || request.route.as_get;
    let posts = request.received.head.method() == Method::Post;
    // A URI that `try_files` produced may have another form: it is empty for the root itself.
    let begins = match request.route.uri.first() {
        Some(first) => *first == b'/' || request.route.form.below_alias,
        None => true,
    };
    if request.route.uri.contains(&0) || !begins {
        return PhaseStep::Error(404);
    }
    if !reads
        && !posts
        && let Some(step) = handle_write_method(exchange)
    {
        return step;
    }
    let request = &exchange.request;
    let is_taken = !reads && !posts && other_methods.takes(request);
    // A form may be posted to a directory, whose index may be a script; the pages of a script may be purged too.
    if request.route.uri.ends_with(b"/") && (reads || posts || is_taken) {
        return index(exchange);
    }
    if is_taken {
        return other_methods.begin(exchange);
    }
    if !reads && !posts {
        return method_not_allowed(&mut exchange.request);
    }
    match find(exchange) {
        // A file does not support POST (405), but a missing file is 404, as in nginx.
        Ok((found, _)) if !reads && found.entry.file().is_some() => method_not_allowed(&mut exchange.request),
        Ok((found, None)) => {
            if found.entry.file().is_some() {
                shortcut::store(&exchange.request);
            }
            serve(exchange, &found)
        }
        Ok((found, Some(path))) => PhaseStep::Wait(Box::new(FileLoad { found, path })),
        Err(error) => {
            exchange.request.log(LogLevel::Error, format_args!("{error}"));
            PhaseStep::Error(500)
        }
    }
}

/// Returns a 405 response; `Allow` lists the methods of files and those of the location (`dav_methods`).
pub(crate) fn method_not_allowed(request: &mut Request) -> PhaseStep {
    let own = request.place().features.get::<Box<dyn MethodHandler>>().map(|handler| handler.methods());
    PhaseStep::method_not_allowed(request, GET_HEAD.union(own.unwrap_or_default()))
}

/// Runs the location's handler of other methods (`dav_methods`); `None` if it does not support the request.
fn handle_write_method(exchange: &mut Exchange) -> Option<PhaseStep> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let writes = site.runtime.place(exchange.request.route.place).features.get::<Box<dyn MethodHandler>>()?;
    writes.takes(&exchange.request).then(|| writes.begin(exchange))
}

/// Serves the file of the URI without waiting if it is loaded (in memory or open), otherwise returns `None`. The
/// location of the URI is known from an earlier request, so that the rules are not evaluated.
fn shortcut(exchange: &mut Exchange) -> Option<PhaseStep> {
    match find(exchange) {
        Ok((found, None)) if found.entry.file().is_some() => Some(serve(exchange, &found)),
        _ => None,
    }
}

/// Looks up the file of the URI or a precompressed variant. Also returns its path if it is a file that must be loaded
/// before it can be sent. Fails if the path cannot be evaluated.
fn find(exchange: &mut Exchange) -> Result<(FoundFile, Option<PathBuf>), myriad_script::EvalError> {
    exchange_buffers::with_buffer(|file| {
        let Exchange { request, frame } = exchange;
        of_uri(request, &request.route.uri, frame, file)?;
        let packed = precompressed::find(request, frame, file);
        let varies = packed.varies;
        let (entry, coding) = match packed.file {
            Some(found) => found,
            None => (look_up_rechecking_absence(request, frame, file), Coding::Identity),
        };
        let to_load = entry.file().is_some_and(|file| !file.is_loaded()).then(|| as_path(file).to_owned());
        Ok((FoundFile { entry, coding, varies }, to_load))
    })
}

/// File found for a URI, with its coding: identity, except for a precompressed file.
struct FoundFile {
    entry: Arc<PathEntry>,
    coding: Coding,
    /// Set if the choice of the file depends on the codings that the client accepts, so that the response needs `Vary`.
    varies: bool,
}

/// Pending load of a file.
struct FileLoad {
    found: FoundFile,
    path: PathBuf,
}

impl PendingStep for FileLoad {
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> StepFuture<'_> {
        Box::pin(load(exchange, self.found, self.path))
    }

    fn explain(&self, exchange: &mut Exchange) {
        if let Some(sink) = &exchange.request.received.sink {
            sink.note("content", format!("the file {}", self.path.display()), "", None);
        }
        myriad_output::explain(exchange, None);
    }
}

/// Loads a file on the blocking thread pool, then serves it. If it was replaced since the lookup, looks it up once
/// more.
async fn load(exchange: &mut Exchange, mut found: FoundFile, path: PathBuf) -> PhaseStep {
    let mut loaded = read(exchange, &found, &path).await;
    if loaded.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::Other) {
        let key = path.as_os_str().as_encoded_bytes();
        FileCache::forget(&found.entry);
        found.entry = look_up(&exchange.request, &mut exchange.frame, key);
        loaded = read(exchange, &found, &path).await;
    }
    let error = match loaded {
        Ok(()) => return serve(exchange, &found),
        Err(error) => error,
    };
    open_failure(&exchange.request, path.as_os_str().as_encoded_bytes(), SystemError::of(&error))
}

/// Opens the file, and reads it if it is small. If the process has no free descriptors, closes some and tries again.
async fn read(exchange: &Exchange, found: &FoundFile, path: &std::path::Path) -> std::io::Result<()> {
    let make_descriptors = || exchange.request.site.worker.make_descriptors();
    with_descriptor(async || read_once(found, path).await, make_descriptors).await
}

async fn read_once(found: &FoundFile, path: &std::path::Path) -> std::io::Result<()> {
    let loading = Arc::clone(&found.entry);
    let named = path.to_owned();
    let loaded = tokio::task::spawn_blocking(move || match loading.file() {
        Some(file) => file.load(&named),
        None => Ok(()),
    })
    .await;
    loaded.unwrap_or_else(|_| Err(std::io::Error::other("the read was cancelled")))
}

/// Serves a directory: a random file (`random_index`), the first parameter of `index` that [`find_index`] accepts, or a
/// listing. Otherwise the response is 403, or 404 for a missing directory.
fn index(exchange: &mut Exchange) -> PhaseStep {
    #[cfg(feature = "nginx-extras")]
    if random_index::is_on(&exchange.request) {
        let mut folder = Vec::new();
        let Exchange { request, frame } = exchange;
        if of_uri(request, &request.route.uri, frame, &mut folder).is_err() {
            return PhaseStep::Error(500);
        }
        let folder = as_path(&folder).to_owned();
        return PhaseStep::Wait(Box::new(random_index::RandomFile { folder, fallback: first_index }));
    }
    first_index(exchange)
}

fn first_index(exchange: &mut Exchange) -> PhaseStep {
    if let Some(step) = find_index(exchange, look_up) {
        return step;
    }
    // Nothing was found in the cache of file data: the absence is verified by a second lookup.
    let again = rechecks_absence(&exchange.request).then(|| find_index(exchange, look_up_rechecking_absence));
    again.flatten().unwrap_or_else(|| directory_without_index(exchange))
}

type LookupFn = fn(&Request, &mut Frame, &[u8]) -> Arc<PathEntry>;

/// Finds the first parameter of `index` that is an absolute URI, or the name of an existing file or directory; sets the
/// URI of the request accordingly, and returns an internal redirect. Returns `None` if there is no such parameter, and
/// status 500 if a parameter cannot be evaluated.
fn find_index(exchange: &mut Exchange, look: LookupFn) -> Option<PhaseStep> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.route.place);
    for template in &place.files.index {
        let mut target = Vec::new();
        let Exchange { request, frame } = exchange;
        if template.eval(request, frame, &mut target).is_err() {
            return Some(PhaseStep::Error(500));
        }
        if target.starts_with(b"/") {
            let args = std::mem::take(&mut request.route.args);
            redirect::local_redirect(request, &target);
            request.route.args = args;
            return Some(PhaseStep::Redirect);
        }
        let found = exchange_buffers::with_buffer(|file| {
            of_uri(request, &request.route.uri, frame, file).ok()?;
            file.extend_from_slice(&target);
            let entry = look(request, frame, file);
            // As in nginx, a directory with the name of an index is accepted: the client is redirected to it.
            (entry.file().is_some() || entry.is_directory()).then_some(())
        });
        if found.is_some() {
            request.route.uri.extend_from_slice(&target);
            return Some(PhaseStep::Redirect);
        }
    }
    None
}

fn directory_without_index(exchange: &mut Exchange) -> PhaseStep {
    let Exchange { request, frame } = exchange;
    exchange_buffers::with_buffer(|file| {
        let _ = of_uri(request, &request.route.uri, frame, file);
        let entry = look_up(request, frame, file);
        let shown = file.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
        let shown = String::from_utf8_lossy(&file[..shown]);
        match &entry.kind {
            PathKind::Directory => {
                if let Some(folders) = folders(request) {
                    return folders.begin(as_path(file));
                }
                request.log(LogLevel::Error, format_args!("directory index of \"{shown}/\" is forbidden"));
                PhaseStep::Error(403)
            }
            PathKind::Missing(error) => {
                if request.place().logs.not_found || !error.is_absence() {
                    request.log(LogLevel::Error, format_args!("\"{shown}/\" is not found ({error})"));
                }
                PhaseStep::Error(error.status())
            }
            PathKind::File(_) | PathKind::Other => PhaseStep::Error(404),
        }
    })
}

/// Returns the location's handler of directories (such as `autoindex`); `None` if it has none, and for requests that
/// are neither GET nor HEAD.
fn folders(request: &Request) -> Option<&dyn FolderHandler> {
    let reads = matches!(request.received.head.method(), Method::Get | Method::Head) || request.route.as_get;
    request.place().features.get::<Box<dyn FolderHandler>>().map(|folders| &**folders).filter(|_| reads)
}

fn serve(exchange: &mut Exchange, found: &FoundFile) -> PhaseStep {
    match &found.entry.kind {
        PathKind::File(file) if found.coding != Coding::Identity => serve_encoded(exchange, found, file),
        PathKind::File(file) => answer(exchange, found, file),
        PathKind::Directory => redirect::add_slash(exchange),
        PathKind::Other => PhaseStep::Error(404),
        PathKind::Missing(error) => {
            let Exchange { request, frame } = exchange;
            let mut file = Vec::new();
            if of_uri(request, &request.route.uri, frame, &mut file).is_err() {
                return PhaseStep::Error(500);
            }
            open_failure(request, &file, *error)
        }
    }
}

/// Logs the error of opening a file, and returns the response. Absent files are not logged with `log_not_found off`.
fn open_failure(request: &Request, file: &[u8], error: SystemError) -> PhaseStep {
    if request.place().logs.not_found || !error.is_absence() {
        let level = if error.status() == 500 { LogLevel::Crit } else { LogLevel::Error };
        let file = String::from_utf8_lossy(file);
        request.log(level, format_args!("open() \"{file}\" failed ({error})"));
    }
    PhaseStep::Error(error.status())
}

fn answer(exchange: &mut Exchange, found: &FoundFile, file: &FileEntry) -> PhaseStep {
    let request = &exchange.request;
    let entry = &found.entry;
    let media_type = media_type_of(request, &request.route.uri);
    let facts = ProxiedFacts { has_last_modified: true, has_etag: true, ..ProxiedFacts::default() };
    // If filters change the response, it is compressed after them.
    let filtered = request.place().filters.change(&media_type);
    let status = request.errors.forced_status.unwrap_or(200);
    let is_plain = !myriad_output::is_compressed(status);
    let whole = filtered || is_plain || request.received.head.fields().has(Known::Range);
    let encodings = myriad_output::encodings(request, &media_type, Some(file.length), facts, false);
    let mut answer = ContentResponse::new(200, ResponseBody::None);
    answer.varies_by_encoding = encodings.varies && !is_plain || found.varies;
    answer.media_type = Some(media_type);
    answer.source = ResponseSource::File(Arc::clone(entry));
    answer.ranges = true;
    match file.contents() {
        Some(contents) => {
            let encoded =
                if whole { None } else { best_encoding(request, entry, file, contents, &encodings) };
            answer.uncompressed = if encoded.is_some() { file.length } else { 0 };
            let (coding, bytes) = encoded.unwrap_or_else(|| (Coding::Identity, contents.clone()));
            answer.coding = coding;
            answer.ranges = coding == Coding::Identity;
            answer.body = ResponseBody::Full(bytes);
        }
        None => match file.descriptor() {
            Some(descriptor) => {
                // The file is too large to be cached in each encoding: it is compressed while it is sent.
                answer.compressible = !whole;
                answer.body =
                    ResponseBody::File { file: Arc::clone(descriptor), offset: 0, length: file.length };
            }
            None => return PhaseStep::Error(500),
        },
    }
    PhaseStep::Answer(answer)
}

/// Serves a precompressed file as it is.
fn serve_encoded(exchange: &mut Exchange, found: &FoundFile, file: &FileEntry) -> PhaseStep {
    let request = &exchange.request;
    let mut answer = ContentResponse::new(200, ResponseBody::None);
    answer.media_type = Some(media_type_of(request, &request.route.uri));
    answer.varies_by_encoding = found.varies;
    answer.coding = found.coding;
    answer.source = ResponseSource::File(Arc::clone(&found.entry));
    answer.ranges = true;
    answer.body = match (file.contents(), file.descriptor()) {
        (Some(contents), _) => ResponseBody::Full(contents.clone()),
        (None, Some(descriptor)) => {
            ResponseBody::File { file: Arc::clone(descriptor), offset: 0, length: file.length }
        }
        (None, None) => return PhaseStep::Error(500),
    };
    PhaseStep::Answer(answer)
}

/// Returns the best available encoding of a small file that the client accepts; `None` to send the file uncompressed,
/// also if its best encoding is not smaller. If the best encoding is missing or was made with the lowest level, it is
/// generated once in the background. If no acceptable encoding exists, one with gzip is generated immediately, unless
/// the client does not accept gzip or the file is too long for that ([`first_gzip_level`]).
fn best_encoding(
    request: &Request,
    entry: &Arc<PathEntry>,
    file: &FileEntry,
    contents: &Bytes,
    encodings: &myriad_output::Encodings,
) -> Option<(Coding, Bytes)> {
    let wanted = encodings.wanted();
    if wanted == Coding::Identity {
        return None;
    }
    // The lowest level is replaced by the strong one.
    if let Some((level, bytes)) = file.encoded(wanted)
        && level >= CompressionLevel::Fast.number(wanted)
    {
        return (bytes.len() < contents.len()).then_some((wanted, bytes));
    }
    let entry_to_encode = Arc::clone(entry);
    let key = Arc::as_ptr(entry) as u64 ^ ((wanted as u64) << 60);
    request
        .site
        .worker
        .encoder
        .submit(key, move || add_encoding(&entry_to_encode, wanted, CompressionLevel::Strong));
    let mut available = CodingSet::EMPTY.with(Coding::Identity);
    for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
        if file.encoded(coding).is_some() {
            available.insert(coding);
        }
    }
    match encodings.best(available) {
        Some(coding) if coding != Coding::Identity => file.encoded(coding).map(|(_, bytes)| (coding, bytes)),
        // If no encoding exists yet, the file is compressed immediately with gzip at a low level.
        _ if encodings.takes(Coding::Gzip) => {
            add_encoding(entry, Coding::Gzip, first_gzip_level(contents.len() as u64)?);
            file.encoded(Coding::Gzip).map(|(_, bytes)| (Coding::Gzip, bytes))
        }
        _ => None,
    }
}

fn add_encoding(entry: &PathEntry, coding: Coding, level: CompressionLevel) {
    let Some(file) = entry.file() else { return };
    let Some(contents) = file.contents() else { return };
    if let Ok(encoded) = compress(coding, level, contents) {
        file.attach(coding, level.number(coding), Bytes::from(encoded));
    }
}

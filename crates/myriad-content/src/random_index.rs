//! `random_index`: serves a random file of the directory (nginx's random_index module).

use std::path::PathBuf;

use myriad_conf::registry::{Contexts, Directive, FLAG};
use myriad_conf::settings::Settings;
use myriad_conf::{feature_settings, set};
use myriad_exchange::exchange::{Exchange, PendingStep, PhaseStep, Request, StepFuture};
use myriad_exchange::feature::Feature;
use myriad_exchange::responses::redirect;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use crate::folder::{ItemKind, ItemSelection, read};

/// Registration of the feature `random_index`.
pub const FEATURE: Feature = Feature::new("random_index", ROWS).compiled_by(compile);

static ROWS: &[Directive] = &[Directive::new(
    "random_index",
    Contexts::LOCATION,
    FLAG,
    set!(Feature<RandomIndex>.flag => on),
    "Serves a random file of a directory instead of an index.",
)
.default("off")];

/// Setting `random_index` of a configuration level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RandomIndex {
    on: bool,
}

feature_settings!(RandomIndex);

fn compile(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let rules = *settings.feature::<RandomIndex>();
    if rules.on {
        features.insert(rules);
    }
}

/// Returns whether `random_index` is on in the request's location.
pub(crate) fn is_on(request: &Request) -> bool {
    request.place().features.get::<RandomIndex>().is_some()
}

/// Pending selection of a random file in a directory.
pub(crate) struct RandomFile {
    pub(crate) folder: PathBuf,
    /// Function that responds to the request if the directory contains no files.
    pub(crate) fallback: fn(&mut Exchange) -> PhaseStep,
}

impl PendingStep for RandomFile {
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> StepFuture<'_> {
        Box::pin(async move {
            let drawn = serve_random_file(exchange, self.folder).await;
            drawn.unwrap_or_else(|| (self.fallback)(exchange))
        })
    }

    fn explain(&self, exchange: &mut Exchange) {
        if let Some(sink) = &exchange.request.received.sink {
            let folder = self.folder.display();
            sink.note(
                "content",
                format!("a random file of the directory {folder}"),
                "random_index".to_owned(),
                None,
            );
        }
    }
}

/// Redirects internally to a random file of a directory; `None` if it has none. Hidden files and directories are never
/// selected. If the directory cannot be read, returns the error response.
async fn serve_random_file(exchange: &mut Exchange, folder: PathBuf) -> Option<PhaseStep> {
    let items = match read(exchange, folder, ItemSelection { hidden: false, links: true }).await {
        Ok(items) => items,
        Err(step) => return Some(step),
    };
    let files: Vec<_> = items.iter().filter(|item| item.kind == ItemKind::File).collect();
    let file = fastrand::choice(&files)?;
    let request = &mut exchange.request;
    // The next request may receive another file, so the shortcut must not be used.
    request.shortcut.depends_on_more.set(true);
    let target = [request.route.uri.as_slice(), &file.name].concat();
    let args = std::mem::take(&mut request.route.args);
    redirect::local_redirect_to(request, &target, &args);
    Some(PhaseStep::Redirect)
}

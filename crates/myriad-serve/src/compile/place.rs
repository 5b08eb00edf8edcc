//! Compilation of the settings of a level (server, location, `if` or `limit_except`) into a [`Place`].

use std::sync::Arc;

use myriad_conf::model::LimitExcept as LimitExceptConf;
use myriad_conf::settings::{self, BodyInFile, ClientSettings, Handler as HandlerConf, Settings};
use myriad_conf::{Span, Text};
use myriad_files::{Naming, TempFolder};
use myriad_script::{Program, Template};

use super::RuntimeCompiler;
use super::timeouts::timeouts;
use super::traffic;
use crate::features;
use myriad_admin::purge::request::ServerPurges;
use myriad_cache::handler::OriginHandler;
use myriad_content::files::{self, FileHandler};
use myriad_exchange::exchange::Handler;
use myriad_exchange::feature::make_handler;
use myriad_exchange::runtime::{
    BodyRules, Candidate, ConnectionRules, EntryRules, ErrorPage, ErrorRules, ErrorTarget, FilePlace,
    KeepAliveRules, LimitExcept, LogRules, MediaTypes, Place, PlaceId, Rates, Reads, RedirectRules,
    RewriteRules, Rooting, TryFiles, UploadRules,
};

/// Content handler of levels without another handler: serves files.
const FILES: FileHandler = FileHandler { other_methods: &ServerPurges };

/// Properties of a compiled level (place) that are not part of its settings: its `limit_except`.
#[derive(Default)]
pub(super) struct PlaceContext<'a> {
    pub(super) limit_except: Option<&'a LimitExceptConf>,
}

impl RuntimeCompiler<'_> {
    /// Compiles the settings of a level and adds the result to `self.places`. Returns its index.
    pub(super) fn place(
        &mut self,
        settings: &Settings,
        context: &PlaceContext<'_>,
        (rewrite, ifs): (Program, Vec<PlaceId>),
    ) -> PlaceId {
        let limit_except = context.limit_except.map(|limit| {
            let inner = PlaceContext { limit_except: None };
            LimitExcept {
                methods: limit.methods.iter().map(|method| method.as_bytes().into()).collect(),
                place: self.place(&limit.settings, &inner, Default::default()),
            }
        });
        let client = &settings.client;
        let content = &settings.content;
        let handler = self.handler(settings);
        let entry = EntryRules {
            internal: content.internal,
            limit_except: limit_except.map(Box::new),
            gate: self.after_all_rules(|compile| compile.gate(settings)),
            origin_gate: self.gates.origin_gate(settings),
        };
        let upload = UploadRules {
            max_body: client.max_body_size,
            body: self.body(client),
            timeout_ms: client.body_timeout,
        };
        let connection = self.in_answer(|compile| compile.connection(settings));
        let files = self.in_rules(|compile| compile.files(settings));
        let errors = ErrorRules {
            // The page for 412 or 416 may be sent to a request that used the shortcut.
            pages: self.in_answer(|compile| {
                content.error_pages.iter().map(|page| compile.error_page(page)).collect()
            }),
            recursive: content.recursive_error_pages,
        };
        let headers = self.in_answer(|compile| compile.headers(settings));
        let filters = myriad_output::compiled_filters(self, settings);
        let offer = myriad_output::encoding::offer(settings, self);
        let mut logs = self.in_answer(|compile| compile.log_rules(settings));
        let mut features = features::compiled(self, settings);
        logs.counting = features.take();
        logs.after_sent = features.take();
        logs.tracing = features.take();
        logs.classes = features.take();
        features.shrink();
        let place = Place {
            shortcut: false,
            entry,
            rewrite: RewriteRules { program: rewrite, ifs: ifs.into() },
            handler,
            upload: self.shared.deduplicate(upload),
            connection: self.shared.deduplicate(connection),
            files: self.shared.deduplicate(files),
            errors: self.shared.deduplicate(errors),
            headers: self.shared.deduplicate(headers),
            filters,
            offer: self.shared.deduplicate(offer),
            logs: self.shared.deduplicate(logs),
            redirects: RedirectRules {
                absolute: content.absolute_redirect,
                port: content.port_in_redirect,
                server_name: content.server_name_in_redirect,
                msie_refresh: content.msie_refresh,
                msie_padding: content.msie_padding,
            },
            features,
        };
        self.places.push(place);
        let label = self.after_all_rules(|compile| compile.label(settings));
        self.atlas.places.push(label);
        self.places.len() as PlaceId - 1
    }

    /// Returns the content handler of a level. If it has none, or its handler is invalid (which has been reported), the
    /// level serves files.
    fn handler(&mut self, settings: &Settings) -> Box<dyn Handler> {
        match &settings.handler {
            None => Box::new(FILES),
            Some(HandlerConf::Feature(handler)) => {
                make_handler(self, handler).unwrap_or_else(|| Box::new(FILES))
            }
            Some(HandlerConf::Origin { protocol, target, prefix }) => {
                match self.after_all_rules(|compile| compile.origin(settings, *protocol, (target, prefix))) {
                    Some(origin) => Box::new(OriginHandler(Arc::new(origin))),
                    None => Box::new(FILES),
                }
            }
        }
    }

    fn connection(&mut self, settings: &Settings) -> ConnectionRules {
        let client = &settings.client;
        ConnectionRules {
            timeouts: timeouts(client),
            frame: settings.http2.chunk,
            keepalive_header_s: client.keepalive_header_s.map_or(0, |seconds| seconds as u32),
            keepalive: KeepAliveRules {
                time_ms: client.keepalive_time,
                not_msie6: client.keepalive_disable_msie6,
                not_safari: client.keepalive_disable_safari,
            },
            chunked: client.chunked_transfer_encoding,
            rates: self.rates(&settings.content.limit_rate, &settings.content.limit_rate_after),
        }
    }

    fn log_rules(&mut self, settings: &Settings) -> LogRules {
        let log = &settings.log;
        LogRules {
            access: log.access.iter().filter_map(|one| self.access_log(one, log.open_files)).collect(),
            errors: self.error_log(&log.error),
            not_found: log.not_found,
            subrequests: log.subrequest,
            rewrites: log.rewrite,
            uninitialized: log.uninitialized_variable_warn,
            counting: None,
            tracing: None,
            traffic: traffic::location_zone(&self.environment.retained.traffic, settings),
            classes: None,
            after_sent: None,
        }
    }

    fn body(&self, client: &ClientSettings) -> BodyRules {
        let (in_memory, naming) = match client.body_in_file_only {
            BodyInFile::Off => (client.body_buffer_size, Naming::Nameless),
            BodyInFile::Clean => (0, Naming::WhileUsed),
            BodyInFile::On => (0, Naming::Stays),
        };
        let path = &client.body_temp_path.path;
        let folder =
            TempFolder { path: self.absolute_path(path), levels: client.body_temp_path.levels.clone() };
        let most_in_files = client.body_temp_max_size;
        BodyRules {
            in_memory,
            naming,
            most_in_files,
            folder,
            folder_is_written: path.span != Span::default(),
        }
    }

    fn rates(&mut self, rate: &Text, after: &Text) -> Option<Rates> {
        let plain = |text: &Text| text.bytes() == b"0";
        let off = plain(rate) && plain(after);
        (!off).then(|| Rates { rate: self.template(rate), after: self.template(after) })
    }

    fn files(&mut self, settings: &Settings) -> FilePlace {
        let content = &settings.content;
        let root = self.root(content);
        FilePlace {
            symlinks: files::symlinks(settings, &root, self),
            root,
            rooting: match (content.alias, content.alias_prefix_len) {
                (false, _) => Rooting::Root,
                (true, Some(prefix)) => Rooting::Alias(prefix),
                (true, None) => Rooting::Whole,
            },
            index: content.index.iter().map(|name| self.template(name)).collect(),
            try_files: content
                .try_files
                .as_ref()
                .map(|try_files| Box::new(self.try_files(try_files, settings))),
            types: self.media_types(&content.types),
            default_type: content.default_type.bytes().into(),
            etag: content.etag,
            if_modified_since: content.if_modified_since,
            max_ranges: content.max_ranges.map_or(usize::MAX, |most| most as usize),
            validity: files::validity(settings),
            precompressed: files::precompressed(settings).collect(),
        }
    }

    /// Returns the media types of a level. Levels with the same table share them.
    fn media_types(&mut self, types: &Arc<settings::Types>) -> Arc<MediaTypes> {
        let made = || types.iter().map(|(k, v)| (k.as_slice().into(), v.as_slice().into())).collect();
        let known = self.types.entry(Arc::as_ptr(types)).or_insert_with(|| Arc::new(made()));
        Arc::clone(known)
    }

    /// Compiles `root` or `alias`. As in nginx, one trailing slash of a root is removed, so that `root /;` is empty,
    /// and a path that does not start with a variable becomes absolute.
    fn root(&mut self, content: &settings::ContentSettings) -> Template {
        let written = content.root.bytes();
        let path = if content.alias { written } else { written.strip_suffix(b"/").unwrap_or(written) };
        let path = Text::new(path, content.root.span);
        if written.starts_with(b"/") || written.starts_with(b"$") {
            return self.template(&path);
        }
        let absolute = self.absolute_path(&path);
        self.template(&Text::new(absolute.as_os_str().as_encoded_bytes(), content.root.span))
    }

    fn try_files(&mut self, try_files: &settings::TryFiles, settings: &Settings) -> TryFiles {
        let candidate = |text: &Text| match text.bytes() {
            name @ [b'@', ..] => Candidate::Location(name.into()),
            // A trailing slash requires a directory and is not part of its name; `/` alone is the root.
            name => match name.strip_suffix(b"/") {
                Some(folder) => {
                    let name = self.template(&Text::new(folder.to_vec(), text.span));
                    Candidate::Path { name, directory: true }
                }
                None => Candidate::Path { name: self.template(text), directory: false },
            },
        };
        let candidates: Box<[Candidate]> = try_files.candidates.iter().map(candidate).collect();
        let root = self.root(&settings.content);
        let from = files::trusted_part(settings);
        let names = self.scripts.catalogue();
        let is_uri = |id| names.variable(id).reads_only(&[Reads::Uri, Reads::UriPart]);
        let follows_uri = |candidate: &Candidate| match candidate {
            Candidate::Path { name, .. } => name.reads_only(is_uri),
            Candidate::Location(_) => false,
        };
        let by_uri = root.as_static().is_some()
            && from.is_none_or(|from| !from.has_variables())
            && candidates.iter().all(follows_uri);
        TryFiles { candidates, by_uri, end: try_files.end.map(|uri| self.template(uri)) }
    }

    fn error_page(&mut self, page: &settings::ErrorPage) -> ErrorPage {
        ErrorPage {
            codes: page.codes.clone(),
            answer: page.answer,
            target: if page.target.bytes().starts_with(b"@") {
                ErrorTarget::Named(page.target.bytes().into())
            } else {
                ErrorTarget::Uri(self.template(&page.target))
            },
        }
    }
}

#[cfg(test)]
mod tests;

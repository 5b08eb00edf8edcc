//! A level's settings made into a place.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::model::LimitExcept as LimitExceptConf;
use myriad_conf::settings::{
    self, BodyInFile, ClientSettings, ContentSettings, EncodingSettings, ErrorPageCode, GzipDisable,
    Handler as HandlerConf, IfModifiedSince as IfModifiedSinceConf, OpenFileSettings, Settings, StaticMode,
    TryFilesEnd,
};
use myriad_conf::{Span, Text};
use myriad_encode::Coding;
use myriad_files::{LinkRule, Naming, TempFolder, Validity};
use myriad_policy::IfModifiedSince;
use myriad_script::{Program, Template};

use super::Compile;
use super::timeouts::timeouts;
use crate::exchange::variables::Source;
use crate::runtime::{
    ApiPlace, BodyRules, Candidate, ErrorPage, ErrorTarget, FilePlace, Handler, KeepAliveRules, LimitExcept,
    Offer, OfferRules, Place, PlaceId, Rates, RedirectRules, Rooting, Symlinks, TryEnd, TryFiles,
};

/// How long file tests are believed where no `open_file_cache` is written.
const FILE_TESTS_VALID_MS: u64 = 1000;
/// How long after its last change a file is asked about each time, where no `open_file_cache` is written.
const SETTLING_MS: u64 = 2000;

/// What a place has from where it stands.
#[derive(Default)]
pub(super) struct PlaceContext<'a> {
    pub(super) limit_except: Option<&'a LimitExceptConf>,
}

impl Compile<'_> {
    /// Compiles a level and adds it to the places.
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
        let handler = match &settings.handler {
            None => Handler::Files,
            Some(HandlerConf::StubStatus) => Handler::StubStatus,
            Some(HandlerConf::Api { write, prefix }) => {
                Handler::Api(ApiPlace { write: *write, prefix: prefix.bytes().into() })
            }
            // A zone that nothing defines has been reported.
            Some(HandlerConf::Purge { zone, text, by_url }) => match self.zone(&zone.lossy()) {
                Some(zone) => Handler::Purge(Box::new(self.purge_place(zone, text, *by_url))),
                None => Handler::Files,
            },
            Some(HandlerConf::Origin { protocol, target, prefix }) => {
                Handler::Origin(Box::new(self.origin(settings, *protocol, (target, prefix))))
            }
        };
        let place = Place {
            shortcut: false,
            purge_style: settings.cache_rules.purge_style,
            internal: content.internal,
            rewrite,
            ifs,
            handler,
            limit_except,
            referers: self.referers(&settings.referers),
            real_ip: self.real_ip(&settings.real_ip),
            gate: self.gate(&settings.access, &settings.limits),
            max_body: client.max_body_size,
            body: self.body(client),
            body_timeout_ms: client.body_timeout,
            timeouts: timeouts(client),
            frame: settings.http2.chunk,
            keepalive_header_s: client.keepalive_header_s.map_or(0, |seconds| seconds as u32),
            keepalive: KeepAliveRules {
                time_ms: client.keepalive_time,
                not_msie6: client.keepalive_disable_msie6,
                not_safari: client.keepalive_disable_safari,
            },
            chunked: client.chunked_transfer_encoding,
            rates: self.rates(&content.limit_rate, &content.limit_rate_after),
            files: self.in_rules(|compile| compile.files(settings)),
            error_pages: content.error_pages.iter().map(|page| self.error_page(page)).collect(),
            recursive_error_pages: content.recursive_error_pages,
            headers: self.headers(settings),
            charset: self.charset(settings),
            filters: self.filters(settings),
            offer: self.offer(&settings.encoding),
            access_logs: settings
                .log
                .access
                .iter()
                .filter_map(|log| self.access_log(log, settings.log.open_files))
                .collect(),
            error_log: self.error_log(&settings.log.error),
            log_not_found: settings.log.not_found,
            subrequest_memory: content.subrequest_output_buffer_size,
            slice: content.slice,
            log_subrequest: settings.log.subrequest,
            rewrite_log: settings.log.rewrite,
            uninitialized_warn: settings.log.uninitialized_variable_warn,
            redirects: RedirectRules {
                absolute: content.absolute_redirect,
                port: content.port_in_redirect,
                server_name: content.server_name_in_redirect,
                msie_refresh: content.msie_refresh,
                msie_padding: content.msie_padding,
            },
        };
        self.places.push(place);
        let label = self.label(settings);
        self.atlas.places.push(label);
        self.places.len() as PlaceId - 1
    }

    fn body(&self, client: &ClientSettings) -> BodyRules {
        let (in_memory, naming) = match client.body_in_file_only {
            BodyInFile::Off => (client.body_buffer_size, Naming::Nameless),
            BodyInFile::Clean => (0, Naming::WhileUsed),
            BodyInFile::On => (0, Naming::Stays),
        };
        let path = &client.body_temp_path.path;
        let folder = TempFolder { path: self.absolute(path), levels: client.body_temp_path.levels.clone() };
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
        let encoding = &settings.encoding;
        let precompressed = [
            (Coding::Brotli, encoding.brotli.static_files),
            (Coding::Zstd, encoding.zstd.static_files),
            (Coding::Gzip, encoding.gzip.static_files),
        ];
        FilePlace {
            root: self.root(&content.root),
            rooting: match (content.alias, content.alias_prefix_len) {
                (false, _) => Rooting::Root,
                (true, Some(prefix)) => Rooting::Alias(prefix),
                (true, None) => Rooting::Whole,
            },
            index: content.index.iter().map(|name| self.template(name)).collect(),
            autoindex: settings.autoindex.on.then_some(crate::runtime::Autoindex {
                format: settings.autoindex.format,
                exact_size: settings.autoindex.exact_size,
                local_time: settings.autoindex.local_time,
            }),
            try_files: content.try_files.as_ref().map(|try_files| self.try_files(try_files, content)),
            types: Arc::new(
                content
                    .types
                    .iter()
                    .map(|(k, v)| (k.as_slice().into(), v.as_slice().into()))
                    .collect::<HashMap<_, _>>(),
            ),
            default_type: content.default_type.bytes().into(),
            etag: content.etag,
            if_modified_since: match content.if_modified_since {
                IfModifiedSinceConf::Off => IfModifiedSince::Off,
                IfModifiedSinceConf::Exact => IfModifiedSince::Exact,
                IfModifiedSinceConf::Before => IfModifiedSince::Before,
            },
            max_ranges: content.max_ranges.map_or(usize::MAX, |most| most as usize),
            symlinks: content.disable_symlinks.as_ref().map(|symlinks| {
                let rule = if symlinks.foreign_only { LinkRule::ForeignOwner } else { LinkRule::Any };
                Box::new(Symlinks { rule, from: self.template(&symlinks.from) })
            }),
            validity: validity(&settings.open_files),
            precompressed: precompressed
                .into_iter()
                .filter(|(_, mode)| *mode != StaticMode::Off)
                .map(|(coding, mode)| (coding, mode == StaticMode::Always))
                .collect(),
        }
    }

    /// A root without variables is made absolute once; one that starts with a variable is taken as it comes.
    fn root(&mut self, root: &Text) -> Template {
        if root.bytes().starts_with(b"$") {
            return self.template(root);
        }
        let absolute = self.absolute(root);
        let text = Text::new(absolute.as_os_str().as_encoded_bytes().to_vec(), root.span);
        self.template(&text)
    }

    fn try_files(&mut self, try_files: &settings::TryFiles, content: &ContentSettings) -> TryFiles {
        let candidate = |text: &Text| match text.bytes() {
            name @ [b'@', ..] => Candidate::Location(name.into()),
            // A slash at the end asks for a directory.
            name => {
                let directory = name.len() > 1 && name.ends_with(b"/");
                Candidate::Path { name: self.template(text), directory }
            }
        };
        let candidates: Vec<Candidate> = try_files.candidates.iter().map(candidate).collect();
        let root = self.root(&content.root);
        let from = content.disable_symlinks.as_ref().map(|symlinks| &symlinks.from);
        let names = self.scripts.catalogue();
        let is_uri = |id| {
            matches!(names.source(id), Source::Uri | Source::FastCgiScriptName | Source::FastCgiPathInfo)
        };
        let follows_uri = |candidate: &Candidate| match candidate {
            Candidate::Path { name, .. } => name.reads_only(is_uri),
            Candidate::Location(_) => false,
        };
        let by_uri = root.as_static().is_some()
            && from.is_none_or(|from| !from.has_variables())
            && candidates.iter().all(follows_uri);
        TryFiles {
            candidates,
            by_uri,
            end: match &try_files.end {
                TryFilesEnd::Code(code) => TryEnd::Code(*code),
                TryFilesEnd::Named(name) => TryEnd::Named(name.bytes().into()),
                TryFilesEnd::Uri(uri) => TryEnd::Uri(self.template(uri)),
            },
        }
    }

    fn error_page(&mut self, page: &settings::ErrorPage) -> ErrorPage {
        ErrorPage {
            codes: page.codes.clone(),
            answer: match page.answer {
                ErrorPageCode::Keep => None,
                ErrorPageCode::FromPage => Some(0),
                ErrorPageCode::Fixed(code) => Some(code),
            },
            target: if page.target.bytes().starts_with(b"@") {
                ErrorTarget::Named(page.target.bytes().into())
            } else {
                ErrorTarget::Uri(self.template(&page.target))
            },
        }
    }

    /// `gzip` decides for all codings unless brotli or zstd are written: a site that lets its pages be compressed
    /// wants them small.
    fn offer(&mut self, encoding: &EncodingSettings) -> Offer {
        let gzip = &encoding.gzip;
        let by = |on: Option<bool>, own: Option<&Vec<String>>, min_length: u64, level: u8| {
            on.unwrap_or(gzip.on).then(|| OfferRules {
                types: media_types(own.unwrap_or(&gzip.types)),
                min_length: if on.is_some() { min_length } else { gzip.min_length },
                level,
            })
        };
        let (brotli, zstd) = (&encoding.brotli, &encoding.zstd);
        Offer {
            gzip: by(Some(gzip.on), None, gzip.min_length, gzip.comp_level),
            brotli: by(brotli.on, brotli.types.as_ref(), brotli.min_length, brotli.comp_level),
            zstd: by(zstd.on, zstd.types.as_ref(), zstd.min_length, zstd.comp_level),
            vary: gzip.vary,
            http_1_0: gzip.http_1_0,
            proxied: gzip.proxied,
            disable: gzip.disable.iter().filter_map(|disable| self.gzip_disable(disable)).collect(),
            disable_msie6: gzip.disable.contains(&GzipDisable::Msie6),
        }
    }

    fn gzip_disable(&mut self, disable: &GzipDisable) -> Option<myriad_script::Regex> {
        let GzipDisable::Regex(pattern) = disable else { return None };
        let source = self.utf8(pattern);
        match self.scripts.regex(source, true) {
            Ok(regex) => Some(regex),
            Err(error) => {
                self.fail(pattern.span, error);
                None
            }
        }
    }
}

/// Media types by name; none where `*` stands for all of them.
pub(super) fn media_types(types: &[String]) -> Option<Vec<Box<[u8]>>> {
    let any = types.iter().any(|known| known == "*");
    (!any).then(|| types.iter().map(|known| known.as_bytes().into()).collect())
}

fn validity(open: &OpenFileSettings) -> Validity {
    let both = |ms| Validity { found_ms: ms, missing_ms: ms, settling_ms: 0 };
    match open.cache {
        None => Validity { settling_ms: SETTLING_MS, ..both(FILE_TESTS_VALID_MS) },
        Some(None) => both(0),
        Some(Some(_)) if open.errors => both(open.valid),
        Some(Some(_)) => {
            let missing_ms = open.valid.min(FILE_TESTS_VALID_MS);
            Validity { found_ms: open.valid, missing_ms, settling_ms: 0 }
        }
    }
}
